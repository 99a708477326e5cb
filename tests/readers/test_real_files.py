"""Files that nobody on the project wrote, checked against the numbers that came with them."""

from __future__ import annotations

import csv
import json
from statistics import fmean

import pandas as pd
import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table

ARAGOG = [(k, size) for k in (1, 2, 3) for size in (64, 128, 256)]


def checked(found):
    """The table of scores: of all columns, or of those that the reader calls metrics."""
    frame = found.frame
    if found.metric_columns is not None:
        keys = [name for name in ("query_id", "query") if name in frame]
        frame = frame[[*keys, *found.metric_columns]]
    return score_table(frame, metrics=found.metrics or None)


# -- Haystack: nine pipelines with the report that Haystack itself made of each


@pytest.mark.parametrize(("k", "size"), ARAGOG)
def test_means_are_those_of_haystack_s_own_report(real_data, k, size):
    folder = real_data("haystack_aragog")
    name = f"all-mpnet-base-v2__top_k={k}__chunk_size={size}.csv"
    [found] = read(folder / f"detailed_{name}")
    means = checked(found).scores.mean()
    with (folder / f"score_report_{name}").open(newline="") as file:
        report = {row["metrics"]: row["score"] for row in csv.DictReader(file)}
    for metric, score in report.items():
        if score:  # where one score is missing Haystack gives no mean at all
            assert means[metric] == pytest.approx(float(score), rel=1e-12)


def test_refusals_written_none_are_answers_and_the_blank_score_is_unscored(real_data):
    [found] = read(
        real_data("haystack_aragog/detailed_all-mpnet-base-v2__top_k=3__chunk_size=128.csv")
    )
    assert len(found.frame) == 107
    assert (found.frame["predicted_answers"] == "None").sum() == 7
    assert found.frame["predicted_answers"].notna().all()
    assert checked(found).scores.isna().sum().to_dict() == {
        "context_relevance": 0,
        "faithfulness": 1,
        "sas": 0,
    }


def test_contexts_are_the_lists_that_were_written(real_data):
    [found] = read(
        real_data("haystack_aragog/detailed_all-mpnet-base-v2__top_k=2__chunk_size=64.csv")
    )
    assert found.frame["contexts"].map(len).tolist() == [2] * 107


# -- Ragas


@pytest.mark.parametrize(
    ("name", "means"),
    [  # as given with the files, to four digits
        (
            "v1_ragas_evaluation_results.csv",
            {"context_precision": 0.2083, "faithfulness": 0.5, "answer_relevancy": 0.8067},
        ),
        (
            "v5_ragas_evaluation.csv",
            {"context_precision": 0.375, "faithfulness": 0.8333, "context_recall": 0.5},
        ),
    ],
)
def test_tables_of_ragas_are_read(real_data, name, means):
    [found] = read(real_data("ragas_elasticsearch_books") / name)
    table = checked(found)
    assert table.scores.mean().round(4).to_dict() == means
    assert list(table.details)[:3] == ["user_input", "retrieved_contexts", "response"]


def test_a_score_just_below_one_is_kept_as_it_is(real_data):
    [found] = read(real_data("ragas_elasticsearch_books/v4_ragas_evaluation.csv"))
    assert found.frame["context_precision"].max() == 0.9999999999


# -- nested JSON: each metric with score and reason


@pytest.mark.parametrize("system", ["mem0", "graphiti"])
def test_nested_scores_have_the_means_of_the_aggregate_file(real_data, system):
    folder = real_data(f"cognee_memory_hotpotqa/{system}")
    [found] = read(folder / f"metrics_output_{system}.json")
    means = checked(found).scores.mean()
    aggregate = json.loads((folder / f"aggregate_metrics_{system}.json").read_text())
    assert set(aggregate) == {"correctness", "EM", "f1"}
    for metric, told in aggregate.items():
        assert means[metric.lower()] == pytest.approx(told["mean"], rel=1e-12)
    assert found.frame["correctness_reason"].notna().all()


def test_aggregates_alone_are_not_taken_for_queries(real_data):
    path = real_data("cognee_memory_hotpotqa/mem0/aggregate_metrics_mem0.json")
    with pytest.raises(ReaderError, match="may be queries, pipelines or statistics"):
        read(path)


def test_two_systems_share_their_queries_by_question(real_data):
    folder = real_data("cognee_memory_hotpotqa")
    tables = [
        checked(read(folder / name / f"metrics_output_{name}.json")[0])
        for name in ("mem0", "graphiti")
    ]
    assert set(tables[0].scores.index) == set(tables[1].scores.index)


# -- promptfoo


@pytest.fixture(scope="module")
def promptfoo_file(real_data):
    return real_data("promptfoo_retrieval/retrieval_results.json")


def test_providers_of_promptfoo_are_pipelines_with_promptfoo_s_own_totals(promptfoo_file):
    assert recognise(Source(promptfoo_file)) == "promptfoo"
    prompts = json.loads(promptfoo_file.read_text())["results"]["table"]["head"]["prompts"]
    found = read(promptfoo_file)
    assert [one.pipeline for one in found] == [prompt["provider"] for prompt in prompts]
    for one, prompt in zip(found, prompts, strict=True):
        table = checked(one)
        assert len(table.scores) == 100
        assert table.scores["score"].sum() == pytest.approx(prompt["metrics"]["score"])
        assert table.scores["passed"].sum() == prompt["metrics"]["testPassCount"]


def test_the_row_without_an_answer_is_unscored_with_its_reason(promptfoo_file):
    base = read(promptfoo_file)[0]
    table = checked(base)
    assert table.scores.isna().all(axis=1).sum() == 1
    errors = base.frame["error"].dropna().tolist()
    assert len(errors) == 1
    assert "UnpicklingError" in errors[0]
    assert table.scores["passed"].mean() == pytest.approx(83 / 99)


def test_precision_of_promptfoo_is_that_of_its_own_urls(promptfoo_file):
    for one in read(promptfoo_file):
        answered = one.frame[one.frame["score"].notna()]
        relevant = answered["correct_chunks"].map(json.loads).map(set)
        hits = [len(relevant[i] & set(answered["answer"][i])) for i in answered.index]
        expected = [
            n / len(answered["answer"][i]) for n, i in zip(hits, answered.index, strict=True)
        ]
        assert answered["Precision"].tolist() == pytest.approx(expected)


# -- InspectorRAGet


@pytest.fixture(scope="module")
def mtrag_file(real_data):
    return real_data("mtrag_human_eval/reference_subset_with_human_evaluations.json")


def test_models_of_inspector_raget_are_pipelines_on_the_same_tasks(mtrag_file):
    found = read(mtrag_file)
    assert [one.pipeline for one in found] == ["reference", "llama-3.1-405b-instruct", "gpt-4o"]
    tables = [checked(one) for one in found]
    assert all(table.scores.shape == (159, 12) for table in tables)
    assert all(table.scores.index.equals(tables[0].scores.index) for table in tables)
    assert not any(table.scores.isna().any(axis=None) for table in tables)


def test_human_scores_are_the_means_of_the_annotators(mtrag_file):
    evaluations = json.loads(mtrag_file.read_text())["evaluations"]
    for one in read(mtrag_file):
        by_task = {
            evaluation["task_id"]: evaluation["annotations"]["faithfulness"]
            for evaluation in evaluations
            if evaluation["model_id"] == one.pipeline
        }
        said = [[int(who["value"]) for who in by_task[i].values()] for i in one.frame["query_id"]]
        assert one.frame["faithfulness"].tolist() == pytest.approx([fmean(each) for each in said])


def test_scales_of_inspector_raget_are_those_declared(mtrag_file):
    metrics = checked(read(mtrag_file)[0]).metrics
    assert metrics["faithfulness"].bounds == (1, 4)
    assert metrics["faithfulness"].kind == "ordinal"
    assert metrics["win_rate"].bounds == (0, 100)
    assert metrics["bert_rec"].bounds == (-1, 1)


def test_answerability_is_there_to_group_by(mtrag_file):
    counts = read(mtrag_file)[0].frame["Answerability"].value_counts().to_dict()
    assert counts == {"ANSWERABLE": 135, "PARTIAL": 15, "UNANSWERABLE": 7, "CONVERSATIONAL": 2}


# -- what is no table of scores


@pytest.mark.parametrize(
    "name",
    [
        "trec_dl19/run.BM25.dl19.txt",
        "beir_nfcorpus_qrels/qrels.beir-v1.0.0-nfcorpus.test.trec.txt",
        "trec_eval_official_test/results.test",
        "squad_v2_sample/predictions.BERT.json",
        "lm_eval_truthfulqa/truthfulqa_gen_neo125_2025-05-31T14-30-51.983293.json",
    ],
)
def test_files_of_other_kinds_are_refused_not_misread(real_data, name):
    with pytest.raises(ReaderError):
        read(real_data(name))


def test_a_headerless_table_does_not_lose_its_first_row(real_data):
    folder = real_data("trulens_judges/judges")
    for path in sorted(folder.glob("*.csv")):
        with pytest.raises(ReaderError, match="line 1: expected names of columns; found numbers"):
            read(path)


def test_parquet_of_autorag_is_read(real_data):
    pytest.importorskip("pyarrow")
    path = real_data("autorag_result_project/0/retrieve_node_line/lexical_retrieval/best_0.parquet")
    [found] = read(path)
    expected = pd.read_parquet(path)["retrieval_f1"].mean()
    assert checked(found).scores["retrieval_f1"].mean() == expected
