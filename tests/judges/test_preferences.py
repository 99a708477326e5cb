import json

import numpy as np
import pytest

from rageval_report.errors import AlignmentError, DataError
from rageval_report.judges import ScriptedChat, prefer


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


def test_an_interruption_keeps_what_is_done(pipelines):
    script = ScriptedChat([better("2"), better("1"), KeyboardInterrupt()])
    found = prefer(*pipelines, script, concurrency=1)
    assert found.is_interrupted
    assert found.n == 1


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
    assert any("1 of 4 queries have scores of some judges only" in note for note in found.notes)


def test_a_judge_that_is_down_leaves_the_verdict_to_the_others(pipelines):
    def fail(message):
        raise ConnectionError("down")

    down = ScriptedChat(fail, model="down")
    found = prefer(*pipelines, [likes("new"), down], give_up_after=1)
    assert (found.wins, found.failure) == (4, None)
    assert any(note.startswith("down gave no score at all") for note in found.notes)
