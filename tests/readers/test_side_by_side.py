"""Comparative reports of this library, saved as a table, come back as the two pipelines."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, read_scores
from rageval_report.errors import DataError

IDS = [f"q{n}" for n in range(8)]


def evaluation(name, seed, *, metrics=("recall@5", "mrr", "faithfulness"), ids=IDS):
    values = np.random.default_rng(seed).integers(0, 9, (len(metrics), len(ids))) / 8
    details = {"question": [f"Why {n}?" for n in ids], "answer": [f"{name} {n}" for n in ids]}
    scores = dict(zip(metrics, values.tolist(), strict=True))
    return RAGPipelineEvaluation(name, {"query_id": list(ids), **details, **scores})


def save(frame, kind, folder):
    path = folder / f"report.{kind}"
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "json": lambda: path.write_text(json.dumps(frame.to_dict(orient="list"))),
        "parquet": lambda: frame.to_parquet(path),
        "xlsx": lambda: frame.to_excel(path, index=False),
    }
    writers[kind]()
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    "names", [("bm25", "bm25_rerank"), ("my pipeline", "the-other"), ("hybrid_v1", "dense")]
)
@pytest.mark.parametrize("kept", [None, ["answer"]])
def test_a_report_comes_back_as_its_pipelines(names, kind, kept, tmp_path):
    first, second = (evaluation(name, seed) for seed, name in enumerate(names))
    frame = first.comparative_detailed_report(second, keep_columns=kept, output_format="df")
    runs = read_scores(save(frame, kind, tmp_path))
    assert list(runs) == list(names)
    for run, original in zip(runs.values(), (first, second), strict=True):
        pd.testing.assert_frame_equal(run.scores, original.scores)
        assert run.details["question"].tolist() == original.details["question"].tolist()
    assert runs[names[0]].details["answer"].tolist() == first.details["answer"].tolist()
    # Without keep_columns the report has the answers of the first pipeline only.
    assert ("answer" in runs[names[1]].details) == (kept is not None)
    if kept:
        assert runs[names[1]].details["answer"].tolist() == second.details["answer"].tolist()
    pvalues = [compare(*pair).frame["pvalue"] for pair in (runs.values(), (first, second))]
    pd.testing.assert_series_equal(*pvalues)


def test_each_pipeline_keeps_metrics_that_the_other_lacks():
    first = evaluation("bm25", 1, metrics=("recall@5", "mrr"))
    second = evaluation("hyde", 2, metrics=("recall@5", "mrr", "bleu"))
    runs = read_scores(first.comparative_detailed_report(second, output_format="df"))
    assert [list(run.scores) for run in runs.values()] == [
        ["recall@5", "mrr"],
        ["recall@5", "mrr", "bleu"],
    ]


def test_queries_of_only_one_pipeline_are_unscored_in_the_other_with_a_note():
    first, second = evaluation("bm25", 1, ids=IDS[:6]), evaluation("hyde", 2, ids=IDS[1:])
    runs = read_scores(first.comparative_detailed_report(second, output_format="df"))
    assert runs["bm25"].scores["mrr"].isna().sum() == 2
    assert runs["hyde"].scores["mrr"].isna().tolist() == [True] + [False] * 7
    assert any("1 query has nothing of 'hyde'" in note for note in runs["hyde"].notes)
    assert any("2 queries have nothing of 'bm25'" in note for note in runs["bm25"].notes)
    ours, theirs = (run.get_aggregated_scores("mrr") for run in (runs["bm25"], first))
    assert ours == theirs


def test_shuffled_rows_move_nothing():
    first, second = evaluation("bm25", 1), evaluation("hyde", 2)
    frame = first.comparative_detailed_report(second, output_format="df")
    runs = read_scores(frame.sample(frac=1, random_state=3))
    pd.testing.assert_frame_equal(runs["hyde"].scores.loc[IDS], second.scores)


@pytest.mark.parametrize("names", [("strict", "lenient"), ("doc", "chunk")])
def test_names_that_may_be_parts_of_metrics_are_one_pipeline_with_a_note(names):
    first, second = (evaluation(name, seed) for seed, name in enumerate(names))
    frame = first.comparative_detailed_report(second, output_format="df")
    [one] = read_scores(frame).values()
    assert len(one.scores.columns) == 6
    [note] = [note for note in one.notes if "reader='side_by_side'" in note]
    assert f"runs='{names[0]},{names[1]}'" in note
    runs = read_scores(frame, reader="side_by_side", runs=",".join(names))
    for run, original in zip(runs.values(), (first, second), strict=True):
        pd.testing.assert_frame_equal(run.scores, original.scores)


@pytest.mark.parametrize(
    "columns",
    [
        ["doc_recall_single_hit", "doc_recall_multi_hit"],
        ["recall@5", "precision@5", "recall@10", "precision@10"],
        ["context_precision", "context_recall", "answer_relevancy", "answer_correctness"],
        ["retrieval_time", "generation_time"],
    ],
)
def test_metrics_of_one_pipeline_stay_one(columns):
    rows = {"query_id": IDS, **{name: np.arange(8) / 16 for name in columns}}
    [one] = read_scores(pd.DataFrame(rows)).values()
    assert len(one.scores.columns) == len(columns)


@pytest.mark.parametrize("runs", ["bm25", "bm25,bm25", ["a", "b", "c"], "bm25,"])
def test_two_different_names_are_needed(runs):
    frame = evaluation("bm25", 1).comparative_detailed_report(
        evaluation("hyde", 2), output_format="df"
    )
    with pytest.raises(DataError, match="runs must be the names of two pipelines"):
        read_scores(frame, reader="side_by_side", runs=runs)


def test_a_table_without_two_blocks_is_refused_with_the_option():
    with pytest.raises(DataError, match=r"expected the columns of two pipelines.*runs="):
        read_scores(pd.DataFrame({"query_id": ["a"], "mrr": [0.5]}), reader="side_by_side")
