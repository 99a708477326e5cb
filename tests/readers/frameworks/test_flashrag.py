"""Items that FlashRAG 0.1.2 saved, and items by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "flashrag"
DATA = FILES / "nq_naive" / "intermediate_data.json"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def item(key="a", pred="so", **scores):
    output = {"pred": pred, "metric_score": scores} if scores else {"pred": pred}
    return {"id": key, "question": f"{key}?", "golden_answers": ["so"], "output": output}


def test_means_are_those_that_flashrag_gives():
    assert recognise(Source(DATA)) == "flashrag"
    [evaluation] = read_scores(DATA.parent).values()
    assert evaluation.name == "nq_naive"
    means = dict(EXPECTED["means"])
    # The name of the mean has the cutoff, the name of the score has not.
    means["retrieval_recall"] = means.pop("retrieval_recall_top2")
    assert evaluation.scores.mean().to_dict() == pytest.approx(means, abs=1e-15)


def test_counts_of_tokens_are_details(write):
    [file] = read(
        write(json.dumps([item(em=1.0, input_tokens=80), item("b", em=0, input_tokens=9)]))
    )
    assert file.metric_columns == ("em",)
    assert file.frame["input_tokens"].tolist() == [80, 9]
    assert "kept as details, because they are counts: 'input_tokens'" in file.notes


def test_a_score_that_is_null_has_failed_and_an_absent_one_is_missing(write):
    [file] = read(write(json.dumps([item(em=1, f1=1), item("b", em=None), item("c", em=0, f1=0)])))
    assert file.frame["em_state"].tolist() == ["scored", "failed", "scored"]
    assert file.frame["f1"].isna().tolist() == [False, True, False]


def test_scores_over_1_have_no_bounds_of_ours(write):
    [file] = read(write(json.dumps([item(em=1, f1=55.5), item("b", em=0, f1=10)])))
    assert set(file.metrics) == {"em"}


def test_a_run_that_was_not_evaluated_is_refused(write):
    with pytest.raises(ReaderError, match=r"no item has the field output\.metric_score"):
        read(write(json.dumps([item(), item("b")])))


def test_an_item_of_another_shape_is_named(write):
    items = [item(em=1), {"id": "b", "question": "?", "output": {}}]
    with pytest.raises(ReaderError, match="item 2 is not an item of FlashRAG: it lacks 'golden"):
        read(write(json.dumps(items)))
