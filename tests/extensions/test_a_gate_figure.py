"""A figure of gates added from outside: one function and one line, in Python and in the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.gate_figures import (
    FIGURES,
    PAIR_FIGURES,
    ComparedPair,
    GateColumn,
    GateFigure,
    Measurement,
)
from rageval_report.analysis.rules import RuleError
from rageval_report.cli import rageval_report

SCORES = {"query_id": ["a", "b", "c", "d"], "recall@5": [0.25, 1.0, None, 0.75]}


def measure_spread(column: GateColumn) -> Measurement:
    return column.measurement(column.scores.maximum - column.scores.minimum)


def measure_share_near(column: GateColumn, target: float) -> Measurement:
    is_near = np.abs(column.scores.values - target) <= 0.25
    n_near = float(column.scores.counts[is_near].sum())
    return column.measurement(n_near / column.scores.n)


def measure_loss_rate(pair: ComparedPair) -> Measurement:
    return pair.measurement(float(pair.row["losses"] / pair.row["n"]))


@pytest.fixture(autouse=True)
def _figures():
    FIGURES.add("spread", GateFigure("the largest score minus the smallest", measure_spread))
    FIGURES.add(
        "share_near",
        GateFigure(
            "the share of scores near a target",
            measure_share_near,
            parameters=("metric", "target"),
            value_range=lambda _metric: (0.0, 1.0),
        ),
    )
    PAIR_FIGURES.add(
        "loss_rate",
        GateFigure(
            "the share of queries on which the candidate is worse",
            measure_loss_rate,
            of="pair",
            value_range=lambda _metric: (0.0, 1.0),
            queries="regressions",
        ),
    )
    yield
    for table, names in ((FIGURES, ("spread", "share_near")), (PAIR_FIGURES, ("loss_rate",))):
        for name in names:
            del table._entries[name]


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("v1", SCORES)


def test_a_rule_asks_for_it_by_its_name(evaluation):
    result = evaluation.gate("spread(recall@5) >= 0.5", "spread(recall@5) <= 0.5")
    assert result.frame["value"].tolist() == [0.75, 0.75]
    assert result.frame["passed"].tolist() == [True, False]
    assert result.frame["why"][1] == (
        "spread(recall@5) is 0.75, not at most 0.5 (3 scored, 1 unscored)"
    )


def test_its_settings_are_those_of_every_figure(evaluation):
    assert evaluation.gate("spread(recall@5) >= 1", missing="worst")  # the missing score is 0


def test_its_arguments_and_its_range_are_checked(evaluation):
    assert evaluation.gate("share_near(recall@5, target=0.75) >= 0.6")
    with pytest.raises(RuleError, match=r"share_near needs a target: share_near\(metric, target\)"):
        evaluation.gate("share_near(recall@5) >= 0.5")
    with pytest.raises(RuleError, match="is from 0 to 1, so 60 cannot be right"):
        evaluation.gate("share_near(recall@5, 0.75) >= 60")


def test_a_misspelt_name_is_answered_with_it(evaluation):
    with pytest.raises(RuleError, match="Did you mean 'spread'"):
        evaluation.gate("spred(recall@5) >= 0.5")


def test_no_query_is_blamed_unless_the_figure_says_which(evaluation):
    assert evaluation.gate("spread(recall@5) <= 0.5").failing_queries() == ()


def test_a_figure_of_a_comparison_shows_the_queries_it_names():
    before = RAGPipelineEvaluation("before", {"query_id": list("abcd"), "mrr": [1, 1, 0, 0.5]})
    after = RAGPipelineEvaluation("after", {"query_id": list("abcd"), "mrr": [1, 0.5, 0, 0.5]})
    result = compare(before, after).gate("loss_rate(mrr) <= 10%")
    assert result.frame["value"].tolist() == [0.25]
    [queries] = result.failing_queries()
    assert queries.frame.index.tolist() == ["b"]


@pytest.mark.parametrize(("limit", "exit_code"), [("0.5", 0), ("0.9", 1)])
def test_the_command_line_knows_it(tmp_path, limit, exit_code):
    path = tmp_path / "v1.csv"
    path.write_text("query_id,recall@5\na,0.25\nb,1\nc,\nd,0.75\n")
    rule = f"spread(recall@5) >= {limit}"
    result = CliRunner().invoke(
        rageval_report, ["gate", str(path), "--rule", rule, "--format", "json"]
    )
    assert result.exit_code == exit_code, result.output
    [row] = json.loads(result.stdout)["rows"]
    assert (row["figure"], row["metric"], row["value"]) == ("spread", "recall@5", 0.75)


def test_a_file_of_gates_may_ask_for_it(tmp_path):
    path, gates = tmp_path / "v1.csv", tmp_path / "gates.toml"
    path.write_text("query_id,recall@5\na,0.25\nb,1\n")
    gates.write_text('rules = ["spread(recall@5) >= 0.5"]\n')
    result = CliRunner().invoke(rageval_report, ["gate", str(path), "--gates", str(gates)])
    assert result.exit_code == 0, result.output
