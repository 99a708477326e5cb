"""Gates of scans are those of the same tables in memory."""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.gates.apply import apply_gates
from rageval_report.analysis.gates.gates_file import Gates
from rageval_report.analysis.gates.grammar import RuleError, parse_rule
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
from tests.evaluation.scanning.conftest import scores_frame, write_parquet

RULES = (
    "mean(recall@5) >= 0.45",
    "ci_low(exact_match) >= 0.3",
    "share_below(recall@5, 0.4) <= 50%",
    "share_above(similarity, 0.9) <= 5%",
    "ci_high(share_below(similarity, 0.3)) <= 5%",
    "p95(latency_ms) <= 3000",
    "ci_high(p90(similarity)) <= 0.9",
    "median(groundedness) == 3",
    "min(similarity) >= 0",
    "max(groundedness) <= 5",
    "std(recall@5) <= 0.4",
    "n(similarity) >= 600",
    "unscored(exact_match) <= 4%",
    "correct >= 45%",
)
PAIR_RULES = (
    "no_regression(recall@5, margin=0.05)",
    "no_regression(exact_match, margin=0.05)",
    "ci_low(difference(groundedness)) >= -0.3",
    "pvalue_adjusted(exact_match) <= 0.05",
    "losses(recall@5) <= 200",
    "wins(similarity) >= 5",
    "mean(recall@5) >= 0.45",
    "p95(latency_ms) <= 3000",
)
LATTICES = {"exact_match", "recall@5", "groundedness"}


def assert_same_gates(scanned, expected, *, rtol=1e-9):
    assert scanned.title == expected.title
    assert scanned.settings == {**expected.settings, "engine": "stream"}
    assert scanned.frame["state"].tolist() == expected.frame["state"].tolist()
    pd.testing.assert_frame_equal(
        scanned.frame.drop(columns="why"), expected.frame.drop(columns="why"), rtol=rtol
    )
    exact = expected.frame["metric"].isin(LATTICES)
    assert scanned.frame.loc[exact, "value"].tolist() == expected.frame.loc[exact, "value"].tolist()
    assert len(scanned.notes) == len(expected.notes)


@pytest.mark.parametrize("missing", ["drop", "worst"])
@pytest.mark.usefixtures("kept_or_summed")
def test_gates_are_those_of_memory(frame, tmp_path, missing):
    metrics = {"similarity": {"bounds": (-1, 1)}}
    expected = RAGPipelineEvaluation("a", frame, metrics=metrics).gate(*RULES, missing=missing)
    path = write_parquet(frame, tmp_path / "a.parquet")
    scan = RAGPipelineEvaluation.scan(path, metrics=metrics)
    # The limits of a mean of sums come from a histogram.
    assert_same_gates(scan.gate(*RULES, missing=missing), expected, rtol=1e-6)


def test_sentences_of_kept_scores_are_those_of_memory(tmp_path):
    frame = scores_frame()
    expected = RAGPipelineEvaluation("a", frame).gate(*RULES)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    gated = scan.gate(*RULES)
    assert gated.sentences == expected.sentences
    assert gated.notes == expected.notes
    assert gated.passed is expected.passed


@pytest.mark.parametrize("correct", [None, ("recall@5", 0.8), "answered"])
def test_correct_answers_are_those_of_memory(tmp_path, correct):
    frame = scores_frame().assign(answered=["yes", "no"] * 350)
    expected = RAGPipelineEvaluation("a", frame).gate("correct >= 45%", correct=correct)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    gated = scan.gate("correct >= 45%", correct=correct)
    assert gated.sentences == expected.sentences
    assert gated.notes == expected.notes
    worst = RAGPipelineEvaluation("a", frame).gate("correct > 0", correct=correct, missing="worst")
    again = scan.gate("correct > 0", correct=correct, missing="worst")
    pd.testing.assert_frame_equal(again.frame, worst.frame, rtol=1e-12)


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_metrics_that_do_not_apply_to_a_query(tmp_path, missing):
    frame = scores_frame()
    is_outside = np.arange(700) % 9 == 0
    frame = frame.assign(
        **{
            "recall@5": frame["recall@5"].mask(is_outside).mask(frame.index == 5),
            "recall@5_state": np.where(is_outside, "not applicable", "scored"),
        }
    )
    rules = ("unscored(recall@5) <= 1%", "mean(recall@5) >= 0.4", "n(recall@5) >= 600")
    expected = RAGPipelineEvaluation("a", frame).gate(*rules, missing=missing)
    scan = RAGPipelineEvaluation.scan(write_parquet(frame, tmp_path / "a.parquet"))
    gated = scan.gate(*rules, missing=missing)
    assert gated.notes == expected.notes
    assert gated.sentences == expected.sentences


@pytest.mark.parametrize("engine", ["stream", "join", "duckdb"])
def test_gates_against_a_baseline_are_those_of_memory(tmp_path, engine):
    frames = scores_frame(), scores_frame(seed=1, shift=0.06)
    runs = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    scans = [
        RAGPipelineEvaluation.scan(write_parquet(f, tmp_path / f"{n}.parquet"), engine=engine)
        for n, f in zip("ab", frames, strict=True)
    ]
    expected = compare(*runs, margin=0.03).gate(*PAIR_RULES)
    gated = compare(*scans, margin=0.03).gate(*PAIR_RULES)
    assert gated.settings == {**expected.settings, "engine": engine}
    pd.testing.assert_frame_equal(gated.frame, expected.frame, rtol=1e-9)
    assert gated.notes == expected.notes
    rules = Gates(tuple(map(parse_rule, PAIR_RULES)), {"confidence_level": 0.9})
    again = apply_gates(rules, scans[1], scans[0])
    assert again.sentences == apply_gates(rules, runs[1], runs[0]).sentences


def test_failing_queries_are_those_of_memory(tmp_path):
    frames = [
        f.assign(answer=[f"answer {n}" for n in range(700)])
        for f in (scores_frame(), scores_frame(seed=1, shift=-0.1))
    ]
    runs = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    scans = [
        RAGPipelineEvaluation.scan(write_parquet(f, tmp_path / f"{n}.parquet"))
        for n, f in zip("ab", frames, strict=True)
    ]
    rules = (
        "mean(recall@5) >= 0.9",
        "share_above(similarity, 0.6) <= 1%",
        "unscored(exact_match) <= 1%",
        "correct >= 90%",
        "std(recall@5) <= 0.01",
    )
    pair_rules = (*rules, "no_regression(exact_match, margin=0.01)", "losses(similarity) <= 3")
    for scanned, expected in (
        (scans[0].gate(*rules), runs[0].gate(*rules)),
        (compare(*scans).gate(*pair_rules), compare(*runs).gate(*pair_rules)),
    ):
        tables = scanned.failing_queries()
        assert len(tables) == len(expected.failing_queries()) > 3
        for ours, theirs in zip(tables, expected.failing_queries(), strict=True):
            assert (ours.title, ours.settings, ours.notes) == (theirs.title, theirs.settings, ())
            pd.testing.assert_frame_equal(ours.frame, theirs.frame)


def test_wrong_rules_and_options_are_refused(tmp_path):
    scan = RAGPipelineEvaluation.scan(write_parquet(scores_frame(), tmp_path / "a.parquet"))
    with pytest.raises(RuleError, match="recal"):
        scan.gate("mean(recal@5) >= 0.5")
    with pytest.raises(DataError, match="rules must hold at least one rule"):
        scan.gate()
    with pytest.raises(RuleError, match="needs a baseline"):
        scan.gate("wins(recall@5) >= 5")
    with pytest.raises(UnknownNameError, match="no detail column is named 'topik'"):
        scan.gate("mean(recall@5) >= 0.5", clusters="topik")
    with pytest.raises(UnknownOptionError, match="has no option 'mising'"):
        scan.gate("mean(recall@5) >= 0.5", mising="worst")
    with pytest.raises(DataError, match="'similarity' has no bounds"):
        scan.gate("mean(similarity) >= 0.5", missing="worst")
