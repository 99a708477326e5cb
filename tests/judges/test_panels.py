"""Several judges at once: votes, ties, failures, budgets, caches."""

import json
import math
import threading

import numpy as np
import pytest

from rageval_report.errors import DataError, JudgeError
from rageval_report.judges import Reply, Rubric, ScriptedChat, judge, judge_blocks
from rageval_report.judges.results import majority, mean_vote
from rageval_report.records import record_table

POLITE = Rubric("is_polite", "Is it polite?", "Is this polite?\n{answer}", kind="yes_no")
TONE = Rubric("tone", "How polite?", "How polite is this?\n{answer}")
PRICES = {"a": (10.0, 100.0), "b": (20.0, 200.0), "c": (0.0, 0.0)}


def grader(name, *scores, tokens=(100, 20)):
    """A judge that gives the record of the answer "It is number I." its I-th score."""

    def answer(message):
        [row] = [i for i in range(len(scores)) if f"number {i}." in message.user]
        score = scores[row]
        if score is None:
            return Reply("Let me think about it.", *tokens)
        key = "verdict" if isinstance(score, bool) else "score"
        return Reply(json.dumps({"reasoning": f"{name} on {row}", key: score}), *tokens)

    return ScriptedChat(answer, model=name, max_tokens=50)


def test_yes_and_no_become_the_majority(rows):
    chats = [
        grader("a", True, True, False),
        grader("b", True, False, False),
        grader("c", False, True, True),
    ]
    judged = judge(rows, POLITE, chats)
    assert judged.scores["is_polite"].tolist() == [1.0, 1.0, 0.0]  # 2 of 3, 2 of 3, 1 of 3
    assert judged.votes("is_polite").to_numpy().tolist() == [[1, 1, 0], [1, 0, 1], [0, 0, 1]]
    assert judged.settings["combined_by"] == {"is_polite": "majority"}
    assert "is_polite: the majority of 3 judges (a, b, c)" in judged.notes


def test_grades_become_the_mean(rows):
    judged = judge(rows, TONE, [grader("a", 5, 1, 2), grader("b", 3, 1, 4)])
    # Grades from 1 to 5 are scores from 0 to 1: (grade - 1) / 4.
    assert judged.scores["tone"].tolist() == [(1.0 + 0.5) / 2, 0.0, (0.25 + 0.75) / 2]
    assert judged.states["tone_judges"].tolist()[0] == {"a": 1.0, "b": 0.5}
    assert judged.states["tone_reason"].iloc[0] == "a (1): a on 0 / b (0.5): b on 0"


def test_a_tie_of_the_majority_is_unscored_and_counted(rows):
    judged = judge(rows, POLITE, [grader("a", True, True, False), grader("b", True, False, True)])
    assert judged.scores["is_polite"].fillna(-1).tolist() == [1.0, -1, -1]
    assert (
        judged.states["is_polite_reason"].iloc[1].startswith("the judges are evenly split: a (1)")
    )
    assert any("evenly split on 2 of 3 queries" in note for note in judged.notes)


def test_an_unscored_judge_is_missing_and_the_others_decide(rows):
    judged = judge(rows, TONE, [grader("a", 5, None, None), grader("b", 3, 1, None)])
    votes = judged.votes("tone")
    assert np.isnan(votes["a"]).tolist() == [False, True, True]
    assert judged.scores["tone"].fillna(-1).tolist() == [0.75, 0.0, -1]
    assert judged.states["tone_state"].tolist() == ["scored", "scored", "failed"]
    assert (
        "tone: 1 of 3 queries have scores of some judges only, which decide alone; "
        "unscored by a 2, b 1"
    ) in judged.notes


@pytest.mark.parametrize("seed", range(5))
def test_votes_are_combined_as_numpy_does_by_hand(seed):
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 2, (40, 4)).astype(float)
    votes[rng.random(votes.shape) < 0.2] = np.nan
    votes[0] = [1, np.nan, np.nan, np.nan]
    for row, most, mean in zip(votes, majority(votes, math.nan), mean_vote(votes), strict=True):
        known = row[~np.isnan(row)].tolist()
        ones, zeros = known.count(1.0), known.count(0.0)
        expected = math.nan if ones == zeros else float(ones > zeros)
        np.testing.assert_equal(most, expected)
        np.testing.assert_allclose(mean, sum(known) / len(known) if known else math.nan)
    shuffled = votes[:, rng.permutation(4)]
    np.testing.assert_equal(majority(shuffled, 0.5), majority(votes, 0.5))


# -- failures


def failing(name, error=None):
    return ScriptedChat(lambda message: error or ValueError("no route"), model=name)


def test_a_judge_that_fails_entirely_leaves_the_scores_of_the_others(rows):
    judged = judge(rows, TONE, [grader("a", 5, 1, 2), failing("b")], give_up_after=1, concurrency=1)
    assert judged.scores["tone"].tolist() == [1.0, 0.0, 0.25]
    assert judged.votes("tone")["b"].isna().all()
    assert judged.failure is None
    assert judged.notes[0].startswith("b gave no score at all: nothing was judged")
    assert "no route" in judged.notes[0]
    assert judged.notes[1] == "tone: the mean of 2 judges (a, b)"


def test_if_all_judges_fail_each_reason_is_told(rows):
    with pytest.raises(JudgeError, match=r"a: 1 calls in a row.*; b: 1 calls in a row"):
        judge(rows, TONE, [failing("a"), failing("b")], give_up_after=1)


def test_an_interruption_stops_all_judges_and_keeps_what_they_said(rows):
    first = threading.Event()

    def answer(message):
        if first.is_set():
            return KeyboardInterrupt()
        first.set()
        return '{"reasoning": "fine", "score": 5}'

    chats = [ScriptedChat(answer, model="a"), grader("b", 5, 5, 5)]
    judged = judge(rows, TONE, chats, concurrency=1)
    assert judged.is_interrupted
    assert judged.scores["tone"].iloc[0] == 1.0
    assert judged.scores["tone"].isna().any()


# -- which judges


def test_the_same_judge_twice_is_refused(rows):
    with pytest.raises(DataError, match=r"'a' appears twice with the same settings.*n_repeats"):
        judge(rows, TONE, [grader("a", 5), grader("a", 1)])


def test_one_model_of_two_providers_has_two_names(provider, chat_of, rows):
    provider.will('{"reasoning": "fine", "score": 5}')
    judged = judge(rows, TONE, [chat_of("openai"), chat_of("bedrock")])
    assert list(judged.by_judge) == ["toy (openai)", "toy (bedrock)"]
    assert judged.settings["judges"]["toy (bedrock)"]["provider"] == "bedrock"


# -- money and the cache


@pytest.mark.parametrize("has_cache", [False, True])
def test_the_budget_is_that_of_all_judges_together(rows, tmp_path, has_cache):
    answer = "It is number 0. I said it {} times."
    many = [{**rows[0], "query_id": f"q{i}", "answer": answer.format(i)} for i in range(40)]
    chats = [grader("a", 5), grader("b", 5)]
    options = {"cache": tmp_path / "c"} if has_cache else {}
    budget = 0.25  # each alone costs 40 * 0.003 = 0.12 and 40 * 0.006 = 0.24
    judged = judge(many, TONE, chats, prices=PRICES, max_cost=budget, concurrency=3, **options)
    assert judged.usage["cost_usd"].sum() <= budget
    assert judged.scores["tone"].isna().any()
    assert all(judged.usage["n_calls"] > 0)
    told = [note for note in judged.notes if "of the budget of 0.25 USD is spent" in note]
    assert len(told) == 1


def test_each_judge_has_its_own_replies_in_the_cache(rows, tmp_path):
    a, b, c = grader("a", 5, 1, 2), grader("b", 3, 1, 4), grader("c", 1, 1, 1)
    before = judge(rows, TONE, [a, b], cache=tmp_path / "c")
    again = judge(rows, TONE, [a, b, c], cache=tmp_path / "c")
    assert [len(chat.asked) for chat in (a, b, c)] == [3, 3, 3]
    assert again.usage["n_cached"].tolist() == [3, 3, 0]
    assert again.votes("tone")[["a", "b"]].equals(before.votes("tone"))


# -- the same by other ways


def test_tables_one_at_a_time_give_the_same(rows):
    chats = [grader("a", 5, 1, 2), grader("b", 3, 1, None)]
    together = judge(rows, TONE, chats)
    blocks = [record_table([row]) for row in rows]
    apart = judge_blocks(lambda: blocks, TONE, chats, kept=lambda table: table[["answer"]])
    assert apart.scores.equals(together.scores)
    assert apart.notes == together.notes
