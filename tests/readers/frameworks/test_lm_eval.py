from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import read
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "lm_eval"
[SUMS] = GOLDEN.glob("samples_sums_*.jsonl")
[PLAIN] = GOLDEN.glob("samples_plain_*.jsonl")


def results_of(path):
    time = path.stem.rpartition("_")[2]
    return json.loads((path.parent / f"results_{time}.json").read_text(encoding="utf-8"))


def line(doc_id, *, doc=None, filtered="none", metrics=None, **scores):
    return {
        "doc_id": doc_id,
        "doc": {"question": f"Question {doc_id}?"} if doc is None else doc,
        "target": "yes",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {doc_id}"}},
        "resps": [["no"]],
        "filtered_resps": ["no"],
        "filter": filtered,
        "metrics": list(scores) if metrics is None else metrics,
        "doc_hash": f"hash{doc_id}",
        **scores,
    }


def lines(*rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


@pytest.fixture
def read_lines(read_text):
    return lambda *rows: read_text(lines(*rows))


# -- what lm-eval 0.4.13 wrote


def test_means_are_those_of_the_results_file_for_each_filter():
    [found] = read(SUMS)
    expected = results_of(SUMS)["results"]["sums"]
    means = score_table(found.frame, known=found.metrics, only=found.metric_columns).scores.mean()
    assert means.to_dict() == {
        "exact_match(strict)": expected["exact_match,strict"],
        "exact_match(flexible)": expected["exact_match,flexible"],
    }


def test_the_direction_and_the_names_stand_in_the_results_file():
    [found] = read(PLAIN)
    assert found.pipeline == "plain:rote"
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    told = results_of(PLAIN)["higher_is_better"]["plain"]
    assert told == {"exact_match": True, "n_words": False}
    assert {name: one.greater_is_better for name, one in table.metrics.items()} == told
    assert table.scores.mean().to_dict() == {
        name: results_of(PLAIN)["results"]["plain"][f"{name},none"] for name in told
    }


def test_an_id_in_the_documents_goes_before_their_hashes():
    assert read(SUMS)[0].frame["query_id"].tolist() == ["q1", "q2", "q3", "q4"]
    assert "query ids are taken from doc.id" in read(SUMS)[0].notes
    hashes = [json.loads(text)["doc_hash"] for text in PLAIN.read_text().splitlines()]
    assert read(PLAIN)[0].frame["query_id"].tolist() == hashes


# -- public samples


# -- the results beside the samples


def test_results_of_another_task_are_not_used(write):
    told = {"results": {}, "higher_is_better": {"other": {"f1": False}}}
    write(json.dumps(told), "results_1.json")
    [found] = read(write(lines(line(0, my_score=1.0)), "samples_toy.jsonl"))
    assert found.metrics == {}
    assert any("is for another task and is not used" in note for note in found.notes)


def test_fewer_samples_than_were_evaluated_are_told(write):
    told = {"higher_is_better": {"toy": {"acc": True}}, "results": {}}
    told["n-samples"] = {"toy": {"effective": 5}}
    write(json.dumps(told), "results_1.json")
    [found] = read(write(lines(line(0, acc=1.0)), "samples_toy.jsonl"))
    assert any(
        "contains 1 documents; the results in the same folder say that 5" in one
        for one in found.notes
    )


# -- shapes


def test_lines_of_an_older_version_name_neither_hashes_nor_metrics(read_lines):
    old = [line(n, acc=1.0) for n in (0, 1)]
    for row in old:
        del row["doc_hash"], row["metrics"], row["filter"]
    found = read_lines(*old)
    assert found.metric_columns == ("acc",)
    assert found.frame["query_id"].tolist() == ["0", "1"]
    assert any("older lm-eval" in note for note in found.notes)


def test_a_metric_over_all_documents_is_left_out_and_told(read_lines):
    found = read_lines(line(0, acc=1.0, mcc=[1, 0]))
    assert found.metric_columns == ("acc",)
    assert "left out, because they have no scores of documents: 'mcc'" in found.notes


def test_predictions_without_scores_are_refused(read_lines):
    with pytest.raises(ReaderError, match=r"'bypass' have no scores of documents.*--predict_only"):
        read_lines(line(0, bypass=999))


def test_a_document_twice_is_two_runs_in_one_file(read_lines):
    with pytest.raises(ReaderError, match="doc_id 0 appears twice with the filter 'none'"):
        read_lines(line(0, acc=1), line(0, acc=0))


def test_a_filter_that_scored_only_some_documents_leaves_the_others_missing(read_lines):
    rows = [line(0, filtered="a", m=1), line(0, filtered="b", m=0), line(1, filtered="a", m=1)]
    found = read_lines(*rows)
    assert found.frame["m(b)"].isna().tolist() == [False, True]
