"""Stopping rules: no more is asked once a rule holds, and the run says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, evaluate
from rageval_report.analysis.rules import RuleError
from rageval_report.errors import DataError
from rageval_report.judges import FunctionChat
from rageval_report.records.draws import draw_keys
from rageval_report.runner.query_source import asking_order

IDS = [f"q{n}" for n in range(300)]


QUERIES = [{"query_id": name, "question": f"Is {name} right?", "reference": "yes"} for name in IDS]


OLD = RAGPipelineEvaluation(
    "old", {"query_id": IDS, "exact_match": [float(n % 3 == 0) for n in range(300)]}
)


RULES = ["better(exact_match)", "ci_high(exact_match) <= 0.2"]


class Pipeline:
    """Answers every third question but one right, and counts the questions."""

    def __init__(self, interrupt_at=None):
        self.n = 0
        self.interrupt_at = interrupt_at

    def __call__(self, question):
        if self.n == self.interrupt_at:
            raise KeyboardInterrupt
        self.n += 1
        number = int(question.split()[1][1:])
        return "yes" if number % 3 < 2 else "no"


def run_of(pipeline, **options):
    settings = {"metrics": ["exact_match"], "baseline": OLD, "stop_when": RULES, "name": "new"}
    return evaluate(queries=QUERIES, target=pipeline, progress=False, **{**settings, **options})


def test_no_more_is_asked_once_a_rule_holds():
    pipeline = Pipeline()
    run = run_of(pipeline)
    frame = run.stopping.frame
    assert frame["holds"].tolist() == [True, False]
    assert pipeline.n == run.evaluation.n_queries < 300
    # It held at a query between the look before the last and the last.
    assert pipeline.n - 10 < frame["decided_at"].iloc[0] <= pipeline.n
    assert run.stopping.notes[0] == f"asked {pipeline.n} of 300 queries in a random order (seed 0)"
    assert run.stopping.notes[1].startswith(f"saved {300 - pipeline.n} queries (")
    assert run.tables["stopping"] is run.stopping


def test_the_evaluation_says_that_the_order_was_random_and_keeps_it(tmp_path):
    run = run_of(Pipeline(), folder=tmp_path / "run", seed=5)
    n = run.evaluation.n_queries
    order = [IDS[row] for row in asking_order(draw_keys(IDS), np.ones(300, dtype=bool), seed=5)[:n]]
    kept = RAGPipelineEvaluation.load(None, tmp_path / "run" / "scores.json")
    assert kept.scores.index.tolist() == order
    assert kept.config["stopping"] == {
        "rules": RULES,
        "baseline": "old",
        "order": "random",
        "seed": 5,
        "n_planned": 300,
    }
    assert any("do not allow for this" in note for note in kept.notes)


def test_a_run_resumes_to_the_same_end(tmp_path):
    whole = run_of(Pipeline(), folder=tmp_path / "whole")

    with pytest.raises(KeyboardInterrupt, match="resume=True"):
        run_of(Pipeline(interrupt_at=13), folder=tmp_path / "run", concurrency=1)
    pipeline = Pipeline()
    run = run_of(pipeline, folder=tmp_path / "run", concurrency=1, resume=True)
    pd.testing.assert_frame_equal(run.stopping.frame, whole.stopping.frame)
    pd.testing.assert_frame_equal(run.evaluation.scores, whole.evaluation.scores)
    assert pipeline.n == whole.evaluation.n_queries - 13


def test_only_new_answers_are_judged_and_the_costs_are_known():
    prompts = []

    def judge(prompt):
        prompts.append(prompt)
        return '{"reasoning": "fine", "score": 5}'

    run = run_of(
        Pipeline(),
        metrics=["answer_relevancy"],
        judge=FunctionChat(judge, "scripted"),
        baseline=None,
        stop_when="ci_low(answer_relevancy) >= 0.75",
    )
    assert 10 < run.evaluation.n_queries < 100
    assert len(prompts) == run.evaluation.n_queries
    assert run.judged.usage["n_calls"].tolist() == [run.evaluation.n_queries]
    assert run.evaluation.scores["answer_relevancy"].tolist() == [1.0] * run.evaluation.n_queries


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"stop_when": "better(exact_macth)"}, RuleError, "exact_match"),
        ({"stop_when": "better(recall@5)"}, RuleError, "recall@5"),
        ({"baseline": None}, RuleError, "better needs a baseline"),
        ({"baseline": 7}, DataError, "baseline must be a run file, its folder, or an evaluation"),
        (
            {"baseline": RAGPipelineEvaluation("x", {"query_id": ["z"], "exact_match": [1.0]})},
            DataError,
            "x has none of these queries",
        ),
    ],
)
def test_mistakes_are_found_before_anything_is_asked(options, error, message):
    pipeline = Pipeline()
    with pytest.raises(error, match=message):
        run_of(pipeline, **options)
    assert pipeline.n == 0
