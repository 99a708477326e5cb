"""Cases from the field: confidently wrong answers of earlier versions, each with its right answer.

The inputs are small copies of what people reported about their evaluation results. Each kind has
inputs that differ from the report: other names, other sentinels, other columns.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, read_scores
from rageval_report.errors import DataError

IDS = [f"q{n}" for n in range(12)]


def run_of(name="run", **columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": IDS[:n], **columns})


# -- a direction is known or stated, else it is a guess


@pytest.mark.parametrize(
    "name", ["elapsed_sec", "rmse", "vibes", "retry_time", "响应时间", "my_score"]
)
def test_the_direction_of_a_metric_that_nobody_knows_is_a_guess(name):
    scores = np.linspace(0.5, 9.5, 12)
    assert not run_of(**{name: scores}).metrics[name].direction_is_known
    rows = {"query_id": IDS, name: scores}
    for direction in ("higher", "lower"):
        stated = RAGPipelineEvaluation("a", rows, metrics={name: direction}).metrics[name]
        assert stated.direction_is_known
        assert stated.greater_is_better == (direction == "higher")
    by_field = RAGPipelineEvaluation("a", rows, metrics={name: {"greater_is_better": False}})
    assert by_field.metrics[name].direction_is_known


@pytest.mark.parametrize("name", ["recall@5", "faithfulness", "latency_ms", "mrr", "toxicity"])
def test_the_catalogue_knows_directions(name):
    assert run_of(**{name: np.linspace(0, 1, 12)}).metrics[name].direction_is_known


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "json"])
def test_a_file_keeps_whether_a_direction_is_known(tmp_path, suffix):
    rows = {"query_id": IDS, "rmse": np.linspace(1, 2, 12), "vibes": np.linspace(3, 4, 12)}
    run = RAGPipelineEvaluation("a", rows, metrics={"rmse": "lower"})
    again = RAGPipelineEvaluation.load(None, run.save(tmp_path / f"run.{suffix}"))
    known = {name: metric.direction_is_known for name, metric in again.metrics.items()}
    assert known == {"rmse": True, "vibes": False}


# -- a pass and a defect carry their own direction


@pytest.mark.parametrize("name", ["hallucination", "toxicity", "bias", "my_error_check"])
@pytest.mark.parametrize(
    "words", [("Pass", "Fail"), ("PASSED", "FAILED"), ("correct", "incorrect")]
)
def test_a_pass_is_good_whatever_its_column_is_called(name, words):
    good, bad = (
        run_of(run, **{name: [words[0]] * n + [words[1]] * (12 - n)})
        for run, n in (("good", 11), ("bad", 3))
    )
    assert good.metrics[name].greater_is_better
    assert good.metrics[name].direction_is_known
    [verdict] = compare(bad, good).frame["verdict"]
    assert verdict == "better"


def test_numbers_under_the_name_of_a_defect_are_defects():
    assert not run_of(hallucination=[0.0, 1.0, 0.5]).metrics["hallucination"].greater_is_better


@pytest.mark.parametrize("name", ["xpia", "protected_material", "code_vulnerability", "violence"])
def test_a_label_of_a_defect_is_worse_if_true(name):
    clean, leaky = run_of("clean", **{name: [0] * 12}), run_of("leaky", **{name: [0] + [1] * 11})
    [verdict] = compare(clean, leaky).frame["verdict"]
    assert verdict == "worse"


# -- numbers that stand where a score is missing


@pytest.mark.parametrize(
    ("name", "scores", "sentinel"),
    [
        ("score", [9, 7, 10, 8, -1, 10, 8, -1, 7, 10, -1, 8], -1),
        ("rating", [1, 5, 3, 4, 2, -1, 5, 4, 4, 3, 2, 5], -1),
        ("judge_score", [80, 0, 35, 100, -999, 55, 60, 70, 20, 90, 45, 66], -999),
        (
            "latency_ms",
            [120.5, 80.0, 99.5, -1, 130.0, 75.5, 98.0, 110.0, 101.0, 99.0, 87.5, 93.0],
            -1,
        ),
        ("mark", [3.5, 4.0, 9.99, 2.5, 1.0, 5.0, 4.5, 3.0, 2.0, 4.0, 3.5, 1.5], 9.99),
        ("grade", [3, 4, 99, 2, 1, 5, 4, 3, 2, 99, 3, 1], 99),
        ("overlap", [0.3, 0.8, 0.5, -1, 0.9, 0.4, 0.6, 0.7, 0.2, 0.1, 0.35, 0.75], -1),
    ],
)
def test_a_number_for_a_missing_score_is_doubted_and_not_averaged(name, scores, sentinel):
    run = run_of(**{name: scores})
    others = [score for score in scores if score != sentinel]
    assert run.scores[name].mean() == pytest.approx(np.mean(others))
    assert int(run.scores[name].isna().sum()) == len(scores) - len(others)
    doubt = run.notes[0]
    assert doubt.startswith("Doubt: ")
    assert f"{sentinel:g}, while all others lie between" in doubt
    # The line that it says to type confirms the scores.
    bounds = (min(scores), max(scores))
    assert f"metrics={{{name!r}: {{'bounds': ({bounds[0]:g}, {bounds[1]:g})}}}}" in doubt
    rows = {"query_id": IDS, name: scores}
    confirmed = RAGPipelineEvaluation("a", rows, metrics={name: {"bounds": bounds}})
    assert confirmed.scores[name].tolist() == scores


@pytest.mark.parametrize(
    "scores",
    [
        [1, 0, -1, 1, 0, -1, 1, 1, 0, 1, -1, 1],  # wins, ties and losses
        [0.5, -0.25, -1, 0.75, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],  # a correlation
        [97, 99, 98, 95, 90, 99, 85, 88, 91, 92, 93, 94],  # percent
        [99, 99, 99, 99, 99, 99, 99, 1, 2, 3, 99, 99],  # most of them
    ],
)
def test_numbers_that_may_well_be_scores_are_scores(scores):
    run = run_of(my_score=scores)
    assert run.scores["my_score"].tolist() == scores
    assert not any(note.startswith("Doubt") for note in run.notes)


def test_a_mean_of_missing_parts_is_not_zero():
    parts = {
        name: [0.8, 0.6, np.nan] for name in ("faithfulness", "context_recall", "context_precision")
    }
    run = run_of(**parts, ragas_score=[0.8, 0.6, 0.0])
    assert run.scores["ragas_score"].tolist()[:2] == [0.8, 0.6]
    assert np.isnan(run.scores["ragas_score"].iloc[2])
    assert "[empty_composite]" in run.notes[0]
    # Another metric that is 0 where these are missing is not their mean.
    other = run_of(**parts, exact_match=[1.0, 0.0, 0.0])
    assert other.scores["exact_match"].tolist() == [1.0, 0.0, 0.0]


# -- rows of one query


def test_rows_of_one_question_are_repeats_of_one_query():
    rows = {"question": ["Q1?", "Q1?", "Q2?", "Q2?"], "faithfulness": [0.2, 0.4, 0.9, 0.7]}
    for options in ({}, {"duplicates": "mean"}):
        run = RAGPipelineEvaluation("a", rows, **options)
        assert run.scores["faithfulness"].tolist() == pytest.approx([0.3, 0.8])
        assert any("2 rows repeat a question" in note for note in run.notes)


@pytest.mark.parametrize("counter", ["epoch", "trial", "repeat", "iteration_no"])
def test_numbered_rows_of_one_id_are_repeats_of_one_query(counter):
    rows = {"query_id": list("aabb"), counter: [1, 2, 1, 2], "recall": [0.0, 1.0, 0.5, 0.5]}
    run = RAGPipelineEvaluation("a", rows)
    assert run.scores["recall"].to_dict() == {"a": 0.5, "b": 0.5}
    with pytest.raises(DataError, match="appear more than once"):
        RAGPipelineEvaluation("a", {key: rows[key] for key in ("query_id", "recall")})


@pytest.mark.parametrize("column", ["document", "source_doc", "paper_id"])
def test_a_question_about_several_documents_is_a_query_of_each(column):
    rows = pd.DataFrame(
        {
            "question": ["What does it say about fees?", "And about notice?"] * 6,
            column: [f"d{n}.pdf" for n in range(6) for _ in range(2)],
            "faithfulness": np.linspace(0.3, 0.8, 12),
        }
    )
    baseline = RAGPipelineEvaluation("a", rows)
    worse = rows.assign(faithfulness=rows["faithfulness"] - 0.05)
    same_order, other_order = (
        compare(baseline, RAGPipelineEvaluation("b", part)).frame for part in (worse, worse[::-1])
    )
    assert baseline.n_queries == 12
    assert same_order.loc[0, "pvalue"] == other_order.loc[0, "pvalue"] < 0.01
    assert other_order.loc[0, "losses"] == 12


def test_ids_that_differ_by_their_unicode_form_alone_are_one_query():
    composed, decomposed = ["café", "über", "東京"], ["cafe\u0301", "u\u0308ber", "東京"]
    ours, theirs = (
        RAGPipelineEvaluation(name, {"query_id": ids, "recall": [0.5, 1.0, 0.25]})
        for name, ids in (("ours", composed), ("theirs", decomposed))
    )
    assert compare(ours, theirs).frame.loc[0, "n"] == 3
    assert any("2 query ids are converted to Unicode normal form C" in n for n in theirs.notes)


# -- columns that are no metrics


@pytest.mark.parametrize(
    "name",
    [
        *("target_page_no", "retrieved_page1", "page_number", "expected_chunk", "chunk_3"),
        *("test_number", "llm_calls", "tool_calls", "retries", "zip_code", "year", "app_version"),
    ],
)
def test_numbers_of_parts_counts_and_codes_are_details_unless_they_are_named(name):
    rows = {"query_id": IDS, "recall": [0.5] * 12, name: [3, 5, 7, 3, 9, 2, 4, 6, 8, 1, 2, 5]}
    assert list(RAGPipelineEvaluation("a", rows).metrics) == ["recall"]
    asked = RAGPipelineEvaluation("a", rows, metrics=[name])
    assert len(asked.metrics) == 1


def test_a_test_set_without_scores_is_refused():
    rows = {
        "question": ["What?", "Why?"],
        "contexts": [["c"], ["c"]],
        "ground_truth": ["g", "g"],
        "evolution_type": ["simple", "reasoning"],
        "episode_done": [True, True],
    }
    with pytest.raises(DataError, match="no column holds scores"):
        RAGPipelineEvaluation("a", rows)


@pytest.mark.parametrize("counts", [[296, 297], ["296", "297"], [50.0, 60.0]])
def test_a_column_of_numbers_of_questions_holds_no_questions(counts):
    rows = {"Experiment": ["EXP01", "EXP02"], "Questions": counts, "MRR": [0.21, 0.25]}
    with pytest.raises(DataError, match="no column holds query ids"):
        RAGPipelineEvaluation("a", rows)


def test_columns_of_objects_with_unknown_names_may_be_pipelines():
    rows = [
        {
            "question": f"Q{n}?",
            "hybrid": {"score": 0.2 * n, "reasoning": "r"},
            "graph": {"score": 0.5, "reasoning": "r"},
        }
        for n in range(4)
    ]
    run = RAGPipelineEvaluation("a", rows)
    assert "columns 'hybrid', 'graph' hold objects" in run.notes[0]
    named = RAGPipelineEvaluation("a", rows, metrics=["hybrid", "graph"])
    judged = RAGPipelineEvaluation(
        "a",
        [
            {"query_id": str(n), "tone": row["graph"], "style": row["hybrid"]}
            for n, row in enumerate(rows)
        ],
    )
    assert not any(note.startswith("Doubt") for note in (*named.notes, *judged.notes))
    # What the doubt says to write is read as two pipelines.
    long = [
        {"question": row["question"], "pipeline": name, "score": row[name]["score"]}
        for row in rows
        for name in ("hybrid", "graph")
    ]
    means = {
        name: run.scores["score"].mean() for name, run in read_scores(pd.DataFrame(long)).items()
    }
    assert means == pytest.approx({"hybrid": 0.3, "graph": 0.5})


def test_a_frame_with_levels_of_columns_is_refused_with_lines_that_work():
    columns = pd.MultiIndex.from_product([["bm25", "dense"], ["faithfulness", "recall"]])
    index = pd.Index(["q1", "q2"], name="query_id")
    data = pd.DataFrame([[0.5, 0.1, 0.7, 0.3], [0.6, 0.2, 0.8, 0.4]], index=index, columns=columns)
    with pytest.raises(
        DataError, match=r"columns of 2 levels.*RAGPipelineEvaluation\('bm25', data"
    ):
        RAGPipelineEvaluation("a", data)
    assert list(RAGPipelineEvaluation("bm25", data["bm25"]).metrics) == ["faithfulness", "recall"]
    data.columns = data.columns.map("_".join)
    assert RAGPipelineEvaluation("a", data).scores.shape == (2, 4)


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("duration", ["0:00:03.500", "0:01:00"]),
        ("elapsed", ["PT3.5S", "PT1M"]),
        ("latency", ["PT3.5S", "pt60s"]),
        ("runtime", [pd.Timedelta("3.5s"), pd.Timedelta("1min")]),
        ("took_s", ["3500 ms", "1 min"]),
    ],
)
def test_a_duration_is_a_number_of_seconds(name, cells):
    run = run_of(**{name: cells, "faithfulness": [0.5, 0.7]})
    assert run.scores[name].tolist() == [3.5, 60.0]
    assert run.metrics[name].group == "performance"
