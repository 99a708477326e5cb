import pytest

from rageval_report.judges import Reply, ScriptedChat, estimate, judge


def test_nobody_is_asked(rows):
    chat = ScriptedChat([])
    table = estimate(rows, ["faithfulness", "coherence"], chat)
    assert chat.asked == []
    assert table["n_calls"].tolist() == [6, 3]  # two steps a query, and one
    assert table[["cost_usd", "max_cost_usd"]].isna().all(axis=None)


def test_calls_and_tokens_are_those_that_judging_takes(rows):
    chat = ScriptedChat(
        lambda message: Reply('{"score": 5}', message.size // 4 + 20, 40), model="m"
    )
    table = estimate(rows, "coherence", chat, prices={"m": (1.0, 10.0)}).iloc[0]
    usage = judge(rows, "coherence", chat, prices={"m": (1.0, 10.0)}).usage.iloc[0]
    assert table["n_calls"] == usage["n_calls"]
    assert table["prompt_tokens"] == pytest.approx(usage["prompt_tokens"], rel=0.01)
    assert table["cost_usd"] == pytest.approx(usage["cost_usd"], rel=0.01)
    assert table["max_cost_usd"] > table["cost_usd"]


def test_what_is_in_the_cache_is_not_asked_again(rows, tmp_path):
    chat = ScriptedChat(lambda message: '{"score": 5}')
    judge(rows[:2], "coherence", chat, cache=tmp_path / "c")
    table = estimate(rows, "coherence", chat, cache=tmp_path / "c").iloc[0]
    assert (table["n_calls"], table["n_cached"]) == (1, 2)


def test_an_estimate_makes_no_cache(rows, tmp_path):
    estimate(rows, "coherence", ScriptedChat([]), cache=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_who_is_not_judged_is_counted(rows):
    rows[0]["answer"] = None
    table = estimate(rows, "coherence", ScriptedChat([]), n_repeats=2).iloc[0]
    assert (table["n_queries"], table["n_not_judged"], table["n_calls"]) == (3, 1, 4)
