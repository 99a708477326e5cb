"""Several judges at once: votes, ties, failures, budgets, caches."""

import json
import math
import threading

import numpy as np
import pytest

from rageval_report.errors import AlignmentError, DataError, JudgeError
from rageval_report.judges import Reply, Rubric, ScriptedChat, judge, prefer
from rageval_report.judges.results import majority, mean_vote

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
    votes = {name: one.scores["is_polite"].tolist() for name, one in judged.by_judge.items()}
    assert votes == {"a": [1, 1, 0], "b": [1, 0, 0], "c": [0, 1, 1]}
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
    assert judged.by_judge["b"].scores["tone"].isna().all()
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
    for name in ("a", "b"):
        assert again.by_judge[name].scores.equals(before.by_judge[name].scores)


# -- preferences


def better(choice):
    return json.dumps({"reasoning": "so", "better": choice})


@pytest.fixture
def pipelines():
    def records(answer):
        return [
            {"query_id": f"q{i}", "question": f"What is {i}?", "answer": f"{answer} {i}"}
            for i in range(4)
        ]

    return records("old"), records("new")


def first_in(message):
    return message.user.partition("<first>\n")[2].partition("\n")[0]


def likes(word):
    """A judge that prefers the answer with this word, wherever it stands."""
    return ScriptedChat(lambda message: better("1" if word in first_in(message) else "2"))


def test_a_judge_that_looks_at_answers_decides(pipelines):
    found = prefer(*pipelines, likes("new"))
    assert (found.wins, found.ties, found.losses, found.n) == (4, 0, 0, 4)
    assert found.position == {"n_decided": 8, "first": 0.5, "n_flipped": 0, "first_flips": 0}


def test_swapped_pipelines_swap_wins_and_losses(pipelines):
    old, new = pipelines
    assert prefer(new, old, likes("new")).losses == 4


def test_a_judge_that_looks_at_places_decides_nothing(pipelines):
    found = prefer(*pipelines, ScriptedChat(lambda message: better("1")))
    assert (found.wins, found.ties, found.losses) == (0, 4, 0)
    assert found.position["first"] == 1.0
    assert (found.position["n_flipped"], found.position["first_flips"]) == (4, 4)
    assert "the order alone decided 4 of 4 queries (4 for the first place)" in found.notes[0]


def test_answers_that_are_the_same_are_a_tie_and_nobody_is_asked(pipelines):
    old, _ = pipelines
    chat = ScriptedChat([])
    found = prefer(old, [{**one, "answer": f" {one['answer']}\n"} for one in old], chat)
    assert (found.ties, found.position["n_decided"], len(chat.asked)) == (4, 0, 0)


def test_a_query_without_both_verdicts_is_unscored(pipelines):
    def answer(message):
        return "I cannot say" if first_in(message) == "new 2" else better("2")

    found = prefer(*pipelines, ScriptedChat(answer))
    assert np.isnan(found.frame.loc["q2", "preference"])
    assert found.frame.loc["q2", "state"] == "failed"
    assert (found.n, found.n_unscored) == (3, 1)


def test_pipelines_without_a_common_query_are_refused(pipelines):
    old, new = pipelines
    with pytest.raises(AlignmentError, match="no query id in common"):
        prefer(old[:2], new[2:], likes("new"))


def test_a_rubric_of_one_answer_is_refused(pipelines):
    with pytest.raises(DataError, match="must be of the kind 'preference'; 'coherence' judges one"):
        prefer(*pipelines, likes("new"), rubric="coherence")


def test_a_judge_of_the_family_of_one_side_is_noted(pipelines):
    old, new = pipelines
    for row in new:
        row["model"] = "gpt-4o"
    chat = ScriptedChat(lambda message: better("tie"), model="gpt-5")
    noted = [note for note in prefer(old, new, chat).notes if "family" in note]
    assert [note.partition(":")[0] for note in noted] == ["candidate"]


def test_queries_that_cannot_be_compared_are_told_before_the_first_call(pipelines):
    old, new = pipelines
    new[0]["answer"] = None
    told, chat = [], likes("new")
    found = prefer(old, new, chat, tell=lambda one: told.append((one, chat.asked[:])))
    gap = "preference is not judged on 1 of 4 queries: one side has no answer, or lacks a"
    assert [(one.startswith(gap), asked) for one, asked in told] == [(True, [])]
    assert any(note.startswith(gap) for note in found.notes)


# -- several judges


def test_the_majority_of_judges_decides_and_an_even_split_is_a_tie(pipelines):
    """By hand: of the votes on q0 to q3, 1 1 0, 0 1 -, - - -, and 0 0.5 0."""
    answers = {
        "a": {"0": "new", "1": "old", "2": None, "3": "old"},
        "b": {"0": "new", "1": "new", "2": None, "3": "tie"},
        "c": {"0": "old", "1": None, "2": None, "3": "old"},
    }

    def script(name):
        def answer(message):
            word, _, number = first_in(message).partition(" ")
            liked = answers[name][number]
            if liked is None:
                return "I cannot say"
            return better(liked if liked == "tie" else "1" if liked == word else "2")

        return ScriptedChat(answer, model=name)

    found = prefer(*pipelines, [script(name) for name in "abc"])
    assert found.frame["preference"].tolist()[:2] == [1.0, 0.5]
    assert np.isnan(found.frame.loc["q2", "preference"])
    assert found.frame.loc["q3", "preference"] == 0.0
    assert (found.wins, found.ties, found.losses, found.n, found.n_unscored) == (1, 1, 1, 3, 1)
    assert found.frame["state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert found.frame.loc["q0", "preference_judges"] == {"a": 1.0, "b": 1.0, "c": 0.0}
    assert found.frame.loc["q0", "reason"] == "a (1): so / b (1): so / c (0): so"
    assert {name: result.wins for name, result in found.by_judge.items()} == {
        "a": 1,
        "b": 2,
        "c": 0,
    }
    # Two choices for each decided pair: a has 3 of them, b 2, c 2; each place wins once per pair.
    assert found.position["n_decided"] == 14
    assert found.position["first"] == 0.5
    assert found.usage["judge_model"].tolist() == ["a", "b", "c"]
    assert found.settings["combined_by"] == "majority"
    assert "preference: the majority of 3 judges (a, b, c)" in found.notes
