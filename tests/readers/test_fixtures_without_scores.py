"""Public fixtures of continuous-eval and open-rag-eval: one has labels, the others no scores."""

from __future__ import annotations

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError

FOLDER = "continuous_eval_fixtures"


def test_labels_of_people_are_scores_and_a_refusal_to_judge_is_a_failure(real_data):
    """Of ten answers seven are labelled correct, two incorrect, one refuse-to-answer."""
    path = real_data(FOLDER) / "correctness_sm.jsonl"
    # Two models answered five questions each: a mean over both describes neither.
    with pytest.raises(ReaderError, match=r"roles=\{'model': 'pipeline'\} .* or roles=.*'detail'"):
        read_scores(path)
    [evaluation] = read_scores(path, roles={"model": "detail"}).values()
    assert evaluation.n_queries == 10
    assert evaluation.scores["annotation"].sum() == 7
    assert evaluation.get_aggregated_scores("annotation") == pytest.approx(7 / 9)
    details = evaluation.details
    assert (details["annotation_state"] == "failed").sum() == 1
    assert details["annotation_reason"].dropna().tolist() == ["refuse-to-answer"]


def test_passages_of_one_query_are_no_repeated_runs_to_be_averaged_by_stealth(real_data):
    path = real_data(FOLDER) / "open_rag_eval_csv_results.csv"
    for duplicates in ("error", "mean"):  # its only numbers count the runs
        with pytest.raises(ReaderError, match="no column holds scores"):
            read_scores(path, duplicates=duplicates)
