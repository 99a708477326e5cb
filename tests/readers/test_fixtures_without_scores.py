"""Public fixtures of continuous-eval and open-rag-eval: one has labels, the others no scores."""

from __future__ import annotations

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, recognise

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


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("retrieval_sm.jsonl", "jsonl"),
        ("invalid.jsonl", "jsonl"),
        ("open_rag_eval_csv_results.csv", "csv"),
    ],
)
def test_files_without_scores_are_known_and_refused_with_their_name(real_data, name, reader):
    path = real_data(FOLDER) / name
    assert recognise(Source(path)) == reader
    with pytest.raises(ReaderError, match=name):
        read_scores(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("retrieval_sm.jsonl", "no column holds scores"),
        ("invalid.jsonl", "a list of questions, without scores"),
    ],
)
def test_the_refusal_says_that_there_are_no_scores(real_data, name, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(real_data(FOLDER) / name)


def test_passages_of_one_query_are_no_repeated_runs_to_be_averaged_by_stealth(real_data):
    path = real_data(FOLDER) / "open_rag_eval_csv_results.csv"
    for duplicates in ("error", "mean"):  # its only numbers count the runs
        with pytest.raises(ReaderError, match="no column holds scores"):
            read_scores(path, duplicates=duplicates)
