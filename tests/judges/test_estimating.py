import pytest

from rageval_report.judges import Reply, ScriptedChat, estimate, estimate_preference, judge, prefer


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


# -- two pipelines beside each other


@pytest.fixture
def better(rows):
    return [{**row, "answer": f"{row['answer']} Indeed."} for row in rows]


def test_a_preference_is_estimated_in_both_orders_as_it_is_asked(rows, better):
    chat = ScriptedChat(
        lambda message: Reply('{"better": "2"}', message.size // 4 + 20, 40), model="m"
    )
    prices = {"m": (1.0, 10.0)}
    table = estimate_preference(rows, better, chat, prices=prices).iloc[0]
    assert chat.asked == []
    usage = prefer(rows, better, chat, prices=prices).usage.iloc[0]
    assert table["n_calls"] == usage["n_calls"] == 6
    assert table["prompt_tokens"] == pytest.approx(usage["prompt_tokens"], rel=0.01)
    assert table["cost_usd"] == pytest.approx(usage["cost_usd"], rel=0.01)


def test_a_preference_out_of_the_cache_is_free(rows, better, tmp_path):
    chat = ScriptedChat(lambda message: '{"better": "2"}', model="m")
    prefer(rows[:2], better[:2], chat, cache=tmp_path / "c")
    table = estimate_preference(
        rows, better, chat, cache=tmp_path / "c", prices={"m": (1.0, 10.0)}
    ).iloc[0]
    alone = estimate_preference(rows[2:], better[2:], chat, prices={"m": (1.0, 10.0)}).iloc[0]
    assert table[["n_calls", "n_cached"]].tolist() == [2, 4]
    assert table["cost_usd"] == alone["cost_usd"]
