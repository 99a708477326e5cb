"""Production in batches against a reference: which metric, since when."""

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.run_history import monitor
from rageval_report.stats import mean_interval
from rageval_report.stats.sequential import ChangeBets, combine_growth


def batch(day, share, n=80, *, rng=None, columns=None, **options):
    rng = rng or np.random.default_rng(day)
    rows = {
        "query_id": [f"{day}-{i}" for i in range(n)],
        "exact_match": (rng.random(n) < share).astype(float),
        "topic": ["law", "tax"] * (n // 2),
        **(columns or {}),
    }
    return RAGPipelineEvaluation(
        f"day {day}",
        rows,
        metrics=["exact_match", *(columns or {})],
        created=f"2026-08-{day:02}",
        **options,
    )


@pytest.fixture
def falling():
    """A reference, ten good days, and five bad ones."""
    good = [batch(day, 0.9) for day in range(2, 12)]
    return [batch(1, 0.9, n=400), *good, *[batch(day, 0.55) for day in range(12, 17)]]


def test_a_fall_is_found_and_dated(falling):
    result = monitor(falling)
    row = result.frame.iloc[0]
    assert result.has_alarm
    assert (row["metric"], row["since"]) == ("exact_match", "day 12")
    assert row["alarm_at"] in ("day 12", "day 13")
    since = np.concatenate([run.scores["exact_match"] for run in falling[11:]])
    assert (row["n"], row["mean"]) == (400, pytest.approx(since.mean()))
    assert row["verdict"].startswith("exact_match is worse since day 12: mean ")


def test_the_evidence_is_that_of_the_statistics(falling):
    result = monitor(falling, alpha=0.1)
    reference, *batches = [run.scores["exact_match"].to_numpy() for run in falling]
    limit = mean_interval(reference, bounds=(0, 1), confidence_level=0.9).low
    bets = ChangeBets(limit, (0, 1), variance=float(reference.var()), alpha=0.05)
    evidence = combine_growth([bets.growth(batch) for batch in batches])
    path = result.batches
    np.testing.assert_allclose(path["evidence"], evidence.evalues)
    assert result.frame["limit"].tolist() == [pytest.approx(limit)]
    assert result.frame["needed"].tolist() == [pytest.approx(20.0)]
    assert path["alarm"].tolist() == (np.maximum.accumulate(evidence.evalues) >= 20).tolist()


def test_a_steady_pipeline_raises_no_alarm():
    result = monitor([batch(day, 0.9) for day in range(1, 25)])
    assert not result.has_alarm
    assert result.frame[["since", "alarm_at", "verdict"]].isna().all(axis=None)
    assert result.sentences == ()


def test_where_lower_is_better_a_rise_is_worse():
    def of(day, share):
        return batch(day, 0.9, columns={"hallucination": (np.arange(80) < 80 * share) * 1.0})

    result = monitor([*[of(day, 0.1) for day in range(1, 5)], of(5, 0.6), of(6, 0.6)])
    row = result.frame.set_index("metric").loc["hallucination"]
    assert row["alarm"]
    assert row["limit"] > row["reference_mean"]
    assert ", above 0." in row["verdict"]


def test_metrics_without_bounds_are_not_watched_and_said():
    runs = [batch(day, 0.9, columns={"latency_ms": np.full(80, 100.0 + day)}) for day in (1, 2)]
    result = monitor(runs)
    assert result.frame["metric"].tolist() == ["exact_match"]
    assert result.notes == ("not watched, because they have no bounds: latency_ms",)
    with pytest.raises(DataError, match="'latency_ms' has no bounds"):
        monitor(runs, metrics="latency_ms")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"reference": "day 99"}, UnknownNameError, "day 99"),
        ({"metrics": "exact_macth"}, UnknownNameError, "exact_match"),
        ({"tolerance": -1.0}, DataError, "tolerance must be a number >= 0"),
        ({"alpha": 5}, DataError, "alpha must lie between 0 and 1"),
        ({"reference": "day 16"}, DataError, "at least one batch after it"),
    ],
)
def test_what_makes_no_sense_is_refused(falling, options, error, message):
    with pytest.raises(error, match=message):
        monitor(falling, **options)


def chats(number, level, *, size=10, shift=0, name="conversation"):
    """A batch of 25 conversations whose turns are alike."""
    rng = np.random.default_rng([number, 7])
    of_chat = rng.binomial(1, level, 25)
    turns = np.repeat(of_chat, size).astype(float)
    chat = np.repeat([f"{number + shift}-{i}" for i in range(25)], size)
    data = {
        "query_id": [f"{number}-{i}" for i in range(len(turns))],
        name: chat,
        "faithfulness": turns,
    }
    return RAGPipelineEvaluation(f"batch {number}", data)


def test_clusters_count_once_by_their_means():
    batches = [chats(i, 0.9) for i in range(4)]
    by_chat = monitor(batches, clusters="conversation")
    # One turn of each conversation says all of it, as the turns are equal.
    one_turn = [
        RAGPipelineEvaluation(
            batch.name, batch.scores.iloc[::10].reset_index(), metrics={"faithfulness": {}}
        )
        for batch in batches
    ]
    single = monitor(one_turn)
    numbers = ["n", "mean", "reference_n", "reference_mean", "limit", "evidence"]
    assert by_chat.frame[numbers].equals(single.frame[numbers])
    assert by_chat.frame["reference_n"][0] == 25
    assert by_chat.settings["clusters"] == "conversation"


def test_false_alarms_are_rare_by_cluster_and_many_by_query():
    alarms = {"conversation": 0, None: 0}
    for life in range(12):
        batches = [chats(100 * life + i, 0.8) for i in range(6)]
        for clusters in alarms:
            alarms[clusters] += monitor(batches, clusters=clusters).has_alarm
    assert alarms["conversation"] <= 2  # 5 % of 12 are 0.6
    assert alarms[None] >= 3
