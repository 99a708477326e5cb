"""The cost of the pipeline's own tokens, from its statement or from prices by model."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import evaluate, score
from rageval_report.errors import DataError, ReaderError
from rageval_report.metrics.performance import notes_on_costs
from rageval_report.runner.targets import FunctionTarget

QUERIES = [{"query_id": name, "question": name, "reference": "Oslo"} for name in "abc"]
USAGE = {"prompt_tokens": 2000, "completion_tokens": 500}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_model(question):
    return {"answer": "Oslo", "usage": USAGE, "model": "small"}


def without_model(question):
    return {"answer": "Oslo", "usage": USAGE}


def run_of(target, **keywords):
    return evaluate(queries=QUERIES, target=target, metrics=["exact_match"], **keywords)


def test_tokens_times_prices_are_the_cost_of_each_query():
    run = run_of(with_model, prices={"small": (0.5, 2.0), "large": (5, 20)})
    cost = (2000 * 0.5 + 500 * 2.0) / 1_000_000
    assert run.evaluation.scores["cost_usd"].tolist() == pytest.approx([cost] * 3)
    [row] = run.costs.frame.to_dict("records")
    assert (row["n"], row["n_known"], row["prompt_tokens"]) == (3, 3, 6000)
    assert row["cost_usd"] == pytest.approx(3 * cost)
    assert "cost_usd: 3 of 3 are computed from tokens and prices" in run.evaluation.notes
    assert "0.006 USD" in repr(run)


def test_a_cost_that_the_pipeline_states_counts_first_and_a_note_says_which():
    def mixed(question):
        return with_model(question) | ({"cost_usd": 7.0} if question == "b" else {})

    run = run_of(mixed, prices={"small": (0, 0)})
    assert run.evaluation.scores["cost_usd"].tolist() == [0, 7, 0]
    [note] = [note for note in run.evaluation.notes if note.startswith("cost_usd")]
    assert "1 of 3 are stated by the pipeline, which counts first" in note
    assert "2 of 3 are computed from tokens and prices" in note


def test_a_model_without_a_price_has_an_unknown_cost_not_0():
    run = run_of(with_model, prices={"large": (1, 1), "huge": (2, 2)})
    assert run.evaluation.scores["cost_usd"].isna().all()
    [note] = [note for note in run.evaluation.notes if note.startswith("cost_usd")]
    assert "3 unknown: no price for the model 'small'" in note


def test_the_only_price_is_that_of_a_pipeline_whose_model_nothing_names():
    run = run_of(without_model, prices={"small": (1, 0)})
    assert run.evaluation.scores["cost_usd"].tolist() == pytest.approx([0.002] * 3)
    assert any("the only price, of 'small'" in note for note in run.evaluation.notes)
    two = run_of(without_model, prices={"small": (1, 0), "large": (2, 0)})
    assert two.evaluation.scores["cost_usd"].isna().all()
    assert any("nothing names the model" in note for note in two.evaluation.notes)


def test_the_only_price_is_not_that_of_another_model_that_is_named():
    run = run_of(with_model, prices={"large": (1, 0)})
    assert run.evaluation.scores["cost_usd"].isna().all()
    assert not any("the only price" in note for note in run.evaluation.notes)


def test_the_configuration_that_the_pipeline_reports_names_the_model(monkeypatch):
    monkeypatch.setattr(FunctionTarget, "snapshot", lambda _: {"llm_model": "large"})
    run = run_of(without_model, prices={"small": (1, 0), "large": (2, 0)})
    assert run.evaluation.scores["cost_usd"].tolist() == pytest.approx([0.004] * 3)


def test_the_cost_counts_in_the_weighted_score():
    objectives = {"cost": {"metrics": "cost_usd", "best": 0, "worst": 0.01}}
    weights = {"cost": 1, "accuracy": 1}
    run = run_of(with_model, prices={"small": (1, 0)}, weights=weights, objectives=objectives)
    values = run.weighted.frame.set_index("objective")["value"]
    assert values["cost"] == pytest.approx(1 - 0.002 / 0.01)
    assert values["weighted score"] == pytest.approx((1 + 0.8) / 2)


def test_a_stated_cost_counts_in_the_weighted_score_without_being_named():
    run = run_of(lambda question: {"answer": "Oslo", "cost_usd": 0.05}, weights={"cost": 1})
    assert run.weighted.frame["value"].iloc[0] == pytest.approx(0.5)  # 0.10 is worth 0


def test_that_the_cost_is_missing_in_the_weighted_score_is_said():
    run = run_of(with_model, weights={"cost": 1, "accuracy": 1})
    [note] = [note for note in run.notes if "without the cost" in note]
    assert "no price for the model 'small', such as prices={'small': (sent, received)}" in note
    assert not any("without the cost" in note for note in run_of(with_model).notes)


def test_failed_queries_have_no_cost_and_are_not_counted():
    def fails(question):
        if question == "b":
            raise ValueError(question)
        return with_model(question)

    run = run_of(fails, prices={"small": (1, 0)})
    assert run.costs.frame["n_known"].tolist() == [2]
    assert "cost_usd: 2 of 2 are computed from tokens and prices" in run.evaluation.notes


def test_the_reasons_are_counted():
    columns = {
        "prompt_tokens": [1.0, None, 1.0, 1.0, None],
        "completion_tokens": [1.0, 1.0, 1.0, 1.0, None],
        "model": ["a", "a", None, "b", None],
        "cost_usd": [None, None, None, None, 3.0],
    }
    [note] = notes_on_costs(pd.DataFrame(columns), {"a": (1, 1)})
    assert note == (
        "cost_usd: 1 of 5 are stated by the pipeline, which counts first; 1 of 5 are computed from "
        "tokens and prices; 1 unknown: no count of tokens sent and received; 1 unknown: nothing "
        "names the model; 1 unknown: no price for the model 'b', such as prices={'b': (sent, "
        "received)}"
    )


def test_score_says_it_too():
    rows = [{"query_id": "q", "prompt_tokens": 1, "completion_tokens": 1, "model": "m"}]
    assert any("'m'" in note for note in score(rows, "cost_usd", prices={"n": (1, 1)}).notes)


@pytest.mark.parametrize("prices", [{"small": 3}, {"small": (-1, 2)}, {"small": ("a", "b")}])
def test_a_wrong_price_is_refused_before_anything_is_asked(prices):
    with pytest.raises(DataError, match="prices: the price of 'small' must be two numbers"):
        evaluate(queries=QUERIES, target=refuse, prices=prices)


def refuse(question):
    raise AssertionError(question)


def test_a_wrong_price_in_a_file_has_its_line(here):
    (here / "eval.yaml").write_text("name: x\nprices: {small: much}\n")
    with pytest.raises(ReaderError, match=r"eval\.yaml, line 2: prices"):
        evaluate("eval.yaml", queries=QUERIES, target=refuse)
