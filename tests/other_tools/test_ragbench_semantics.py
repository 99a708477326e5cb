"""The evaluation service ragbench: its formulas by hand, row by row, and what is mended here."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import binomtest

from rageval_report import RAGPipelineEvaluation, compare, rank, score
from rageval_report.errors import UnknownNameError
from rageval_report.judges.parsing import GradeScale, UnreadableError, read_grade
from rageval_report.runner.eval_config import eval_config_of
from rageval_report.stats import paired_interval, paired_test

RAGBENCH = {"dialect": "ragbench"}
ROWS = [
    # gold c1 at rank 1 and c3 at rank 3; c9 is never retrieved
    {
        "query_id": "a",
        "relevant": {"c1": 1.0, "c3": 1.0, "c9": 1.0},
        "retrieved": ["c1", "x", "c3", "y"],
        "citations": ["c1", "x", "c1"],
        "answerable": True,
        "answer": "Oslo.",
        "latency_ms": 100.0,
    },
    {
        "query_id": "b",
        "relevant": {"c2": 1.0},
        "retrieved": ["x", "c2"],
        "citations": [],
        "answerable": True,
        "answer": "I don't know.",
        "latency_ms": 300.0,
    },
    {
        "query_id": "u",
        "relevant": {},
        "retrieved": ["x"],
        "citations": [],
        "answerable": False,
        "answer": "Bergen.",
        "latency_ms": 200.0,
    },
]


def scored(*names):
    return score(ROWS, list(names), dialect="ragbench").scores


# -- the metrics


def test_recall_divides_by_all_gold_and_is_null_without_gold():
    scores = scored("recall_at_1", "recall_at_3", "recall_at_5", "recall_at_10")
    assert scores.loc["a"].tolist() == [1 / 3, 2 / 3, 2 / 3, 2 / 3]
    assert scores.loc["b"].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert scores.loc["u"].isna().all()


def test_precision_divides_by_what_was_retrieved_if_that_is_less_than_k():
    scores = scored("precision_at_1", "precision_at_3", "precision_at_5")
    assert scores.loc["a"].tolist() == [1.0, 2 / 3, 2 / 4]
    assert scores.loc["b"].tolist() == [0.0, 1 / 2, 1 / 2]


def test_reciprocal_rank_and_ndcg_are_of_the_whole_list_and_of_ten():
    scores = scored("mrr", "ndcg_at_10")
    assert scores["mrr"].tolist()[:2] == [1.0, 0.5]
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scores.loc["a"].iloc[1] == pytest.approx((1 + 1 / math.log2(4)) / ideal)
    assert scores.loc["b"].iloc[1] == pytest.approx(1 / math.log2(3))


def test_citations_are_compared_by_chunk_and_section_accuracy_counts_each():
    scores = scored("citation_precision", "citation_recall", "section_accuracy")
    # c1 and x cited, of which c1 is gold; one of three gold chunks; 2 of 3 citations
    assert scores.loc["a"].tolist() == [1 / 2, 1 / 3, 2 / 3]
    assert scores.loc["b"].tolist() == [0.0, 0.0, 0.0]
    assert scores.loc["u"].isna().all()


def test_rates_of_abstention_are_of_the_questions_that_they_are_about():
    names = ("unanswerable_accuracy", "abstention_false_positive_rate")
    scores = scored(*names, "abstention_false_negative_rate")
    # a answered, b refused although it has an answer, u answered although it has none
    assert scores[names[0]].tolist() == [1.0, 0.0, 0.0]
    assert scores[names[1]].tolist()[:2] == [0.0, 1.0]
    assert math.isnan(scores.loc["u", names[1]])
    assert scores["abstention_false_negative_rate"].tolist()[2] == 1.0
    means = scores.mean()
    assert means[names[1]] == 1 / 2  # not 1 of 3
    assert means["abstention_false_negative_rate"] == 1.0


@pytest.mark.parametrize(
    ("answer", "abstains"),
    [
        ("", True),
        ("I cannot answer this question.", True),
        ("There is not enough information.", True),
        ("I DON'T KNOW", True),
        ("I don\u2019t know", True),  # a typographic apostrophe
        ("   ", True),
        ("This cannot be determined from the documents.", True),
        ("The capital is Oslo.", False),
    ],
)
def test_an_abstention_is_empty_or_has_a_known_phrase(answer, abstains):
    rows = [{"query_id": "q", "answer": answer, "answerable": False}]
    assert score(rows, "hallucinated_answer").scores.iloc[0, 0] == float(not abstains)


def test_latency_percentiles_are_order_statistics():
    table = score(ROWS, "latency_ms", dialect="ragbench").find_thresholds(percentiles=(50, 95))
    # sorted 100, 200, 300: places int(3 / 2) and min(int(0.95 * 3), 2)
    assert table.frame.iloc[0][["p50", "p95"]].tolist() == [200.0, 300.0]


def test_cost_is_that_of_both_kinds_of_tokens_and_unknown_without_a_price():
    rows = [
        {"query_id": n, "model": model, "prompt_tokens": 1000, "completion_tokens": 200}
        for n, model in enumerate(["small", "unknown"])
    ]
    scores = score(rows, "cost_usd", prices={"small": (0.5, 1.5)}).scores["cost_usd"]
    assert scores.iloc[0] == pytest.approx(1000 / 1e6 * 0.5 + 200 / 1e6 * 1.5)
    assert math.isnan(scores.iloc[1])


# -- replies of judges


@pytest.mark.parametrize(
    ("reply", "share"),
    [
        ("SCORE: 0.7\nREASONING: fine", 0.7),
        ("score: 0.2\nScore: 0.7", 0.7),
        ("SCORE: 70%", 0.7),
        ("SCORE: 0.8/1", 0.8),
        ("SCORE: 8/10", 0.8),
        ("SCORE: 4/5", 0.8),
        ("SCORE: [0.7]", 0.7),
        ("**SCORE:** 0.7", 0.7),
    ],
)
def test_scores_of_judges_are_read(reply, share):
    assert read_grade(reply, GradeScale())[0] == share


def test_a_reply_without_a_score_is_missing_and_reasons_keep_all_lines():
    with pytest.raises(UnreadableError):
        read_grade("I cannot say.", GradeScale())
    reason = read_grade("SCORE: 0.5\nREASONING: first\nsecond", GradeScale())[1]
    assert "first" in reason
    assert "second" in reason


# -- the weighted score

PERFECT = {
    "answer_correctness": 1.0,
    "answer_relevancy": 1.0,
    "unanswerable_accuracy": 1.0,
    "abstention_false_positive_rate": 0.0,
    "abstention_false_negative_rate": 0.0,
    "faithfulness": 1.0,
    "citation_precision": 1.0,
    "citation_recall": 1.0,
    "section_accuracy": 1.0,
    "recall@5": 1.0,
    "precision@5": 1.0,
    "reciprocal_rank": 1.0,
    "ndcg@10": 1.0,
    "cost_usd": 0.0,
    "latency_ms": 0.0,
}


def weighted(**changes):
    columns = {name: [value] * 8 for name, value in {**PERFECT, **changes}.items()}
    columns = {name: values for name, values in columns.items() if values[0] is not None}
    data = {"query_id": list("abcdefgh"), **columns}
    run = RAGPipelineEvaluation("mine", data, config=RAGBENCH)
    return run.weighted()


def value(result, objective="weighted score"):
    return result.frame.set_index("objective")["value"][objective]


def test_a_perfect_system_has_1():
    assert value(weighted()) == pytest.approx(1.0)


def test_error_rates_count_the_other_way_round():
    """Accuracy is the mean of 1, 1, 0, 1 - 1 and 1 - 1: 0.4, so the score loses 0.3 * 0.6."""
    worst = weighted(
        unanswerable_accuracy=0.0,
        abstention_false_positive_rate=1.0,
        abstention_false_negative_rate=1.0,
    )
    assert value(worst, "accuracy") == pytest.approx(0.4)
    assert value(worst) == pytest.approx(0.82)


def test_latency_and_cost_count_down_to_their_worst_values():
    result = weighted(latency_ms=7_500.0, cost_usd=0.025)
    assert value(result, "latency") == pytest.approx(1 - 7_500 / 30_000)
    assert value(result, "cost") == pytest.approx(1 - 0.025 / 0.10)
    assert value(weighted(latency_ms=90_000.0), "latency") == 0.0


def test_an_objective_without_data_is_left_out_and_its_weight_shared():
    result = weighted(faithfulness=None, citation_recall=0.0, cost_usd=None)
    frame = result.frame.set_index("objective")
    assert frame.loc["faithfulness", "effective_weight"] == 0.0
    assert math.isnan(frame.loc["cost", "value"])  # unknown, and not free
    # accuracy .30, citation .20, retrieval .15 and latency .05 remain
    assert frame.loc["citation", "effective_weight"] == pytest.approx(0.20 / 0.70)
    assert frame.loc["citation", "value"] == pytest.approx(2 / 3)
    assert value(result) == pytest.approx((0.30 + 0.20 * 2 / 3 + 0.15 + 0.05) / 0.70)
    assert frame["contribution"].drop("weighted score").sum() == pytest.approx(value(result))
    assert any("objectives without data, left out" in note for note in result.notes)


# -- the front


def runs_of(**pipelines):
    ids = [f"q{number:02}" for number in range(20)]
    return [
        RAGPipelineEvaluation(name, {"query_id": ids, **{m: [v] * 20 for m, v in columns.items()}})
        for name, columns in pipelines.items()
    ]


def test_better_somewhere_and_worse_nowhere_dominates_and_equal_points_do_not():
    front = rank(
        *runs_of(
            good={"faithfulness": 0.9, "latency_ms": 100.0},
            same={"faithfulness": 0.9, "latency_ms": 100.0},
            slow={"faithfulness": 0.9, "latency_ms": 900.0},
            cheap={"faithfulness": 0.5, "latency_ms": 50.0},
        )
    ).pareto(["faithfulness", "latency_ms"])
    frame = front.frame.set_index("pipeline")
    assert set(front.front) == {"good", "same", "cheap"}
    assert frame.loc["slow", "standing"] == "dominated"
    assert set(frame.loc["slow", "dominated_by"].split(", ")) == {"good", "same"}
    assert frame.loc["good", "dominates"] == "slow"


# -- significance


def pairs(wins, losses, ties=0):
    before = np.array([0.0] * wins + [1.0] * losses + [1.0] * ties)
    after = np.array([1.0] * wins + [0.0] * losses + [1.0] * ties)
    return before, after


@pytest.mark.parametrize(
    ("wins", "losses", "pvalue"),
    [
        (38, 18, 0.010454818321892184),
        (3, 0, 0.25),
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (12, 1, 0.00341796875),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_is_the_exact_binomial_test_of_the_flips(wins, losses, pvalue):
    """SciPy 1.17: binomtest."""
    test = paired_test(*pairs(wins, losses, 4), test="mcnemar")
    assert test.pvalue == pytest.approx(pvalue, abs=1e-15)
    assert (test.wins, test.losses) == (wins, losses)
    if wins:
        assert test.pvalue == pytest.approx(binomtest(wins, wins + losses).pvalue)


def test_the_percentile_interval_of_flips_is_the_printed_one():
    """38 wins, 18 losses and 64 ties; resamples of 10,000 end within one step of 1/120."""
    interval = paired_interval(*pairs(38, 18, 64), method="percentile")
    assert (interval.low, interval.high) == pytest.approx((0.05, 0.2833333333333333), abs=1 / 120)
    assert interval.estimate == pytest.approx(20 / 120)


def two_runs():
    ids = [f"q{number:02}" for number in range(24)]
    rng = np.random.default_rng(0)
    base = rng.random(24) * 0.5
    old = {"query_id": ids, "faithfulness": base, "latency_ms": 100 + 10 * base}
    new = {"query_id": ids[::-1], "faithfulness": base[::-1] + 0.2, "latency_ms": 150 + base[::-1]}
    new["faithfulness"] = [None, *new["faithfulness"][1:]]
    return RAGPipelineEvaluation("old", old), RAGPipelineEvaluation("new", new)


def test_runs_are_paired_by_question_and_the_second_minus_the_first_is_the_difference():
    frame = compare(*two_runs()).frame.set_index("metric")
    row = frame.loc["faithfulness"]
    assert (row["n"], row["n_dropped"]) == (23, 1)
    assert row["difference"] == pytest.approx(0.2)
    assert (row["wins"], row["losses"]) == (23, 0)


def test_a_higher_latency_is_no_improvement():
    frame = compare(*two_runs()).frame.set_index("metric")
    row = frame.loc["latency_ms"]
    assert row["difference"] > 0
    assert (row["wins"], row["losses"]) == (0, 24)
    assert row["verdict"] == "worse"


# -- the command line and the configuration


# -- questions


# -- its run files


def run_file(tmp_path, **metrics):
    """A run file in its shape: the details of each metric by its name."""
    document = {
        "id": "0a1b2c3d",
        "name": "eval-0a1b2c3d",
        "created_at": "2026-01-27T10:00:00",
        "completed_at": "2026-01-27T10:05:00",
        "config": {"llm_model": "gemma3:4b", "llm_provider": "ollama", "retrieval_top_k": 10},
        "datasets": ["ragbench"],
        "scorecard": {
            "metrics": [
                {
                    "name": name,
                    "value": 0.5,
                    "group": "retrieval",
                    "sample_size": 2,
                    "details": details,
                }
                for name, details in metrics.items()
            ]
        },
        "weighted_score": None,
        "question_count": 3,
        "error_count": 1,
        "metadata": {"seed": 42, "tier": "end_to_end"},
    }
    path = tmp_path / "0a1b2c3d_20260127_100000.json"
    path.write_text(json.dumps(document))
    return path


def test_a_run_with_scores_by_question_is_read_and_null_is_not_applicable(tmp_path):
    path = run_file(
        tmp_path,
        recall_at_5={"per_question": {"q1": 1.0, "q2": 0.0, "q3": None}},
        abstention_false_positive_rate={"per_question": {"q1": 0.0, "q2": 1.0, "q3": None}},
    )
    run = RAGPipelineEvaluation.load(None, path)
    assert run.name == "eval-0a1b2c3d"
    assert run.get_aggregated_scores("recall@5") == 0.5
    assert run.states.loc["q3"].tolist() == ["not applicable"] * 2
    assert not run.metrics["abstention_false_positive_rate"].greater_is_better
    assert run.config == {
        "llm_model": "gemma3:4b",
        "llm_provider": "ollama",
        "retrieval_top_k": 10,
        "datasets": ["ragbench"],
        "metadata": {"seed": 42, "tier": "end_to_end"},
    }
    assert run.created.isoformat() == "2026-01-27T10:00:00+00:00"


def test_its_configuration_is_read():
    config = eval_config_of(
        {
            "datasets": ["ragbench", "squad_v2"],
            "samples_per_dataset": 50,
            "metrics": {
                "retrieval": True,
                "generation": True,
                "citation": True,
                "abstention": False,
                "performance": True,
                "recall_k_values": [1, 5],
                "precision_k_values": [3],
            },
            "judge": {"enabled": True, "provider": "anthropic", "model": "m", "temperature": 0.0},
            "weights": {"accuracy": 0.3, "faithfulness": 0.2},
            "rag_server_url": "http://localhost:8001",
            "runs_dir": "data/eval_runs",
            "seed": 42,
        }
    )
    assert config.datasets == ("ragbench", "squad_v2")
    assert (config.samples, config.seed) == (50, 42)
    names = [name for _, names in config.groups.by_fields() for name in names]
    assert {"recall@1", "recall@5", "precision@3", "section_accuracy", "latency_ms"} <= set(names)
    assert not {"false_refusal", "recall@10"} & set(names)
    with pytest.raises(UnknownNameError, match="Did you mean 'samples'"):
        eval_config_of({"sampels": 5, "rag_server_url": "http://localhost:8001"})
