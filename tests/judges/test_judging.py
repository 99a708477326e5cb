"""Judging with scripts, and over a socket where the network is the point."""

import json
import math

import numpy as np
import pytest
from scipy.stats import f_oneway

from rageval_report.errors import DataError
from rageval_report.judges import (
    JUDGES,
    Reply,
    Rubric,
    ScriptedChat,
    estimate,
    judge,
)
from rageval_report.judges.rubric import rubrics_of
from rageval_report.scores import Catalogue

TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))


def grade(score, why="so"):
    return json.dumps({"reasoning": why, "score": score})


def truth(verdict):
    return json.dumps({"reasoning": "so", "verdict": verdict})


def verdicts(*given):
    listed = [
        {"number": place, "reasoning": f"reason {place}", "verdict": verdict}
        for place, verdict in enumerate(given, 1)
    ]
    return json.dumps({"verdicts": listed})


def claims(*texts):
    return json.dumps({"claims": list(texts)})


def one(rows, name, *script):
    """What a judge makes of the first record."""
    judged = judge(rows[:1], name, ScriptedChat(script), concurrency=1)
    states = judged.states.iloc[0].to_dict()
    metric = name if isinstance(name, str) else name.name
    score = judged.scores[metric].iloc[0]
    return score, states.get(f"{metric}_state"), states.get(f"{metric}_reason")


# -- the rubrics


@pytest.mark.parametrize(
    "name", ["answer_correctness", "answer_relevancy", "completeness", "coherence", "harmlessness"]
)
def test_a_mark_becomes_its_share_of_the_scale(rows, name):
    assert one(rows, name, grade(4, "nearly")) == (0.75, None, "nearly")  # (4 - 1) / (5 - 1)


@pytest.mark.parametrize("name", ["faithfulness", "context_recall"])
def test_the_share_of_supported_claims_is_scored_and_the_others_are_kept(rows, name):
    score, state, reason = one(
        rows, name, claims("a", "b", "c", "d"), verdicts(True, False, True, True)
    )
    assert (score, state) == (0.75, None)
    assert reason == "1 of 4 claims not supported: 'b' (reason 2)"


def test_the_share_of_useful_contexts_is_scored(rows):
    score, _, reason = one(rows, "context_relevance", verdicts(True, False))
    assert (score, reason) == (0.5, "1 of 2 contexts of no use: [2] (reason 2)")


def test_precision_is_better_the_earlier_the_useful_contexts_stand(rows):
    assert one(rows, "context_precision", verdicts(True, False))[0] == 1.0
    assert one(rows, "context_precision", verdicts(False, True))[0] == 0.5
    assert one(rows, "context_precision", verdicts(False, False))[0] == 0.0


# -- who is not judged


def test_what_cannot_be_judged_has_its_own_state():
    rows = [
        {"query_id": "ok", "question": "?", "answer": "a", "reference": "r", "error": None},
        {"query_id": "no reference", "question": "?", "answer": "a", "reference": None},
        {"query_id": "failed", "question": "?", "answer": None, "reference": "r", "error": "500"},
        {"query_id": "no answer", "question": "?", "answer": None, "reference": "r"},
    ]
    chat = ScriptedChat([grade(5)])
    judged = judge(rows, "answer_correctness", chat, concurrency=1)
    assert judged.states["answer_correctness_state"].to_dict() == {
        "ok": "scored",
        "no reference": "not applicable",
        "failed": "failed",
        "no answer": "missing",
    }
    assert judged.states.loc["failed", "answer_correctness_reason"] == "500"
    assert judged.scores["answer_correctness"].notna().sum() == len(chat.asked) == 1


def test_a_field_without_a_value_in_any_record_is_told_before_anybody_is_asked(rows):
    chat = ScriptedChat([])
    for row in rows:
        row["reference"] = None
    told = r"answer_correctness cannot be judged: the records have no reference \(0 of 3\)"
    with pytest.raises(DataError, match=told):
        judge(rows, ["coherence", "answer_correctness"], chat)
    assert chat.asked == []


def test_a_pipeline_that_failed_throughout_is_no_want_of_answers(rows):
    failed = [{**row, "answer": None, "error": "timeout"} for row in rows]
    judged = judge(failed, "coherence", ScriptedChat([]))
    assert judged.states["coherence_state"].tolist() == ["failed"] * 3


def test_gaps_are_told_before_the_first_call_and_in_the_notes(rows):
    rows[0]["reference"], rows[1]["answer"], rows[1]["error"] = None, None, "500"
    chat, told = ScriptedChat([grade(5)]), []
    judged = judge(
        rows, "answer_correctness", chat, tell=lambda one: told.append((one, chat.asked[:]))
    )
    gap = (
        "answer_correctness is not judged on 2 of 3 records: there is no reference (1), the "
        "pipeline failed (1)"
    )
    assert told == [(gap, [])]
    assert gap in judged.notes
    assert len(chat.asked) == 1


# -- names of other frameworks


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("groundedness", "faithfulness"),  # TruLens
        ("nv_response_groundedness", "faithfulness"),  # Ragas
        ("contextual_relevancy", "context_relevance"),  # DeepEval
        ("Answer Relevance", "answer_relevancy"),
        ("llm_context_recall", "context_recall"),
        ("context_utilisation", "context_utilization"),
        ("correctness", "answer_correctness"),
        ("coherence_score", "coherence"),
    ],
)
def test_a_name_of_another_framework_means_the_rubric_of_the_same_thing(asked, name):
    [rubric] = rubrics_of(asked)
    assert rubric is JUDGES[name]
    assert Catalogue().find(asked).known_as == name


def test_one_rubric_under_two_names_is_asked_for_twice(rows):
    with pytest.raises(DataError, match="without repeats; got faithfulness, faithfulness"):
        judge(rows, ["faithfulness", "groundedness"], ScriptedChat([]))


# -- several judges, in any order of answers


def by_question(message):
    number = message.user.partition("What is ")[2][0]
    return grade(1 + int(number))


def test_scores_stand_with_their_queries_whatever_the_order_of_answers(rows):
    judged = judge(rows, [TONE, "coherence"], ScriptedChat(by_question), concurrency=3)
    assert judged.scores.to_dict("list") == {
        "tone": [0.0, 0.25, 0.5],
        "coherence": [0.0, 0.25, 0.5],
    }
    assert list(judged.scores.index) == ["q0", "q1", "q2"]


@pytest.mark.parametrize(
    "how",
    [
        *({"concurrency": value} for value in (0, -1, 2.5, True, None)),
        *({"n_repeats": 0}, {"max_cost": 0}),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(rows, how):
    with pytest.raises(DataError):
        judge(rows, TONE, ScriptedChat([]), **how)


# -- noise


def test_repeats_are_averaged_and_their_spread_is_told(rows):
    marks = iter([5, 3, 4, 4, 1, 1])
    chat = ScriptedChat(lambda message: grade(next(marks)))
    judged = judge(rows, TONE, chat, n_repeats=2, concurrency=1)
    assert judged.scores["tone"].tolist() == [0.75, 0.75, 0.0]
    assert judged.states["tone_repeats"].tolist() == [[1.0, 0.5], [0.75, 0.75], [0.0, 0.0]]
    # Variances within: 0.125, 0, 0 on one degree of freedom each.
    assert judged.noise["within_query_sd"].item() == pytest.approx(np.sqrt(0.125 / 3))


def test_a_repeat_that_failed_is_left_out_of_the_mean(rows):
    chat = ScriptedChat([grade(5), "I cannot say", "I cannot say"])
    judged = judge(rows[:1], TONE, chat, n_repeats=2, concurrency=1)
    assert judged.scores["tone"].item() == 1.0


def test_the_spread_within_queries_is_that_of_an_analysis_of_variance(rows):
    """SciPy 1.17's one-way F is the mean square between groups over that within."""
    marks = [[5, 4, 5], [3, 3, 3], [2, 1, 3]]
    given = iter(np.ravel(marks).tolist())
    chat = ScriptedChat(lambda message: grade(next(given)))
    row = judge(rows, TONE, chat, n_repeats=3, concurrency=1).noise.iloc[0]
    scores = (np.array(marks) - 1) / 4
    between = 3 * scores.mean(axis=1).var(ddof=1)
    within = between / f_oneway(*scores).statistic
    assert row["within_query_sd"] == pytest.approx(math.sqrt(within), rel=1e-12)
    assert row["between_query_sd"] == pytest.approx(np.std(scores.mean(axis=1), ddof=1))
    assert (row["n"], row["n_repeats"], row["unstable"]) == (3, 3, pytest.approx(2 / 3))


# -- notes


def test_tokens_and_cost_are_counted(rows):
    chat = ScriptedChat(lambda message: Reply(grade(5), 1000, 100), model="m")
    usage = judge(rows, TONE, chat, prices={"m": (3.0, 15.0)}).usage.iloc[0]
    assert (usage["n_calls"], usage["prompt_tokens"], usage["completion_tokens"]) == (3, 3000, 300)
    assert usage["cost_usd"] == pytest.approx(3 * (1000 * 3 + 100 * 15) / 1e6)


# -- pace


def test_all_shipped_rubrics_run_together(rows):
    def answer(message):
        wanted = message.schema["properties"]
        if "claims" in wanted:
            return claims("a", "b")
        if "verdicts" in wanted:
            return verdicts(True, False)
        return grade(5) if "score" in wanted else truth(True)

    names = [name for name in JUDGES if name != "preference"]
    judged = judge(rows, names, ScriptedChat(answer))
    assert judged.scores.notna().all(axis=None)
    assert ((judged.scores >= 0) & (judged.scores <= 1)).all(axis=None)


# -- estimating


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
