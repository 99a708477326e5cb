from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
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


def test_the_file_is_recognised_before_plain_json_lines():
    assert recognise(Source(SUMS)) == recognise(Source(PLAIN)) == "lm_eval"


def test_means_are_those_of_the_results_file_for_each_filter():
    [found] = read(SUMS)
    expected = results_of(SUMS)["results"]["sums"]
    means = score_table(found.frame, known=found.metrics, only=found.metric_columns).scores.mean()
    assert means.to_dict() == {
        "exact_match(strict)": expected["exact_match,strict"],
        "exact_match(flexible)": expected["exact_match,flexible"],
    }


def test_scores_are_those_of_the_lines_cell_by_cell():
    rows = [json.loads(text) for text in SUMS.read_text(encoding="utf-8").splitlines()]
    frame = read(SUMS)[0].frame.set_index("query_id")
    for row in rows:
        assert frame.loc[row["doc"]["id"], f"exact_match({row['filter']})"] == row["exact_match"]
        told = frame.loc[row["doc"]["id"], f"filtered_resps({row['filter']})"]
        assert told == row["filtered_resps"][0]


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


def test_a_frame_of_the_lines_saved_as_csv_reads_alike(write):
    rows = [json.loads(text) for text in SUMS.read_text(encoding="utf-8").splitlines()]
    [saved] = read(write(pd.DataFrame(rows).to_csv(index=False)))
    [found] = read(SUMS)
    columns = ["query_id", "question", "answer", *found.metric_columns]
    pd.testing.assert_frame_equal(saved.frame[columns], found.frame[columns])


# -- public samples


def test_means_of_public_samples_are_those_of_the_results_beside_them(real_data):
    folder = real_data("lm_eval_truthfulqa")
    [path] = folder.glob("samples_*.jsonl")
    [results] = folder.glob("truthfulqa_gen_*.json")
    assert recognise(Source(path)) == "lm_eval"
    [found] = read(path)
    expected = json.loads(results.read_text())["results"]["truthfulqa_gen"]
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    assert len(table.scores) == 20
    assert len(found.metric_columns) == 12
    for metric in found.metric_columns:
        mean = table.scores[table.scores.columns[found.metric_columns.index(metric)]].mean()
        assert mean == pytest.approx(expected[f"{metric},none"], rel=1e-12)
    assert found.pipeline == "truthfulqa_gen:EleutherAI/gpt-neo-125M"
    assert found.frame["hallucination"].tolist()[0] == "truthful"


# -- the results beside the samples


def test_without_results_the_file_s_name_is_the_pipeline(read_lines):
    found = read_lines(line(0, acc=1.0))
    assert (found.pipeline, found.metrics) == ("run", {})


def test_results_of_another_task_are_not_used(write):
    told = {"results": {}, "higher_is_better": {"other": {"f1": False}}}
    write(json.dumps(told), "results_1.json")
    [found] = read(write(lines(line(0, my_score=1.0)), "samples_toy.jsonl"))
    assert found.metrics == {}
    assert any("is for another task and is not used" in note for note in found.notes)


def test_samples_without_a_time_take_the_only_results_there_are(write):
    told = {"results": {}, "higher_is_better": {"toy": {"my_score": False}}, "model_name": "gpt"}
    write(json.dumps(told), "results_1.json")
    path = write(lines(line(0, my_score=1.0)), "samples_toy.jsonl")
    assert read(path)[0].metrics == {"my_score": {"greater_is_better": False}}
    write(json.dumps(told), "results_2.json")
    assert read(path)[0].metrics == {}


def test_results_that_cannot_be_read_are_passed_over(write):
    write("{", "results_1.json")
    assert read(write(lines(line(0, my_score=1.0)), "samples_toy.jsonl"))[0].metrics == {}


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


def test_equal_documents_are_told_apart_visibly(read_lines):
    found = read_lines(line(0, acc=1), line(1, acc=0) | {"doc_hash": "hash0"})
    assert found.frame["query_id"].tolist() == ["hash0", "hash0 #2"]


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


def test_a_gold_answer_in_the_document_is_not_the_answer(read_lines):
    found = read_lines(line(0, acc=1, doc={"question": "Q?", "answer": "gold"}))
    assert found.frame[["answer", "doc.answer"]].to_numpy().tolist() == [["no", "gold"]]


def test_a_document_without_a_question_shows_the_prompt(read_lines):
    found = read_lines(line(0, acc=1, doc={"text": "x"}))
    assert found.frame["question"].tolist() == ["Q: 0"]


def test_a_filter_that_scored_only_some_documents_leaves_the_others_missing(read_lines):
    rows = [line(0, filtered="a", m=1), line(0, filtered="b", m=0), line(1, filtered="a", m=1)]
    found = read_lines(*rows)
    assert found.frame["m(b)"].isna().tolist() == [False, True]
