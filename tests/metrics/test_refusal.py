"""Refusals: hand-made answers, seed 2's worked rate, and the real answers of CLAPnq."""

import re

import numpy as np
import pytest

from rageval_report import score
from rageval_report.errors import DataError
from rageval_report.metrics.refusal import (
    RefusalRule,
    abstention_accuracy,
    abstention_recall,
    false_refusal,
    hallucinated_answer,
    refusals_between,
)
from rageval_report.scores.states import states_of

ALL = [abstention_recall, hallucinated_answer, false_refusal, abstention_accuracy]


# -- what is a refusal


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n ",
        "I don't have enough information to say.",
        "There is insufficient information in the documents.",
        "No information available.",
        "I CANNOT ANSWER this question.",
        "I can\u2019t answer that.",  # a typographic apostrophe
        "I am unable\nto answer.",  # a line end between the words
        "We do not know.",
        "This cannot be determined from the context.",
        "The date is not mentioned.",
        "No relevant information was retrieved.",
    ],
)
def test_the_phrases_of_the_seed_refuse_however_they_are_written(answer):
    assert RefusalRule().refuses(answer)


def test_an_exact_token_refuses_and_with_a_full_stop_it_does_not():
    rule = RefusalRule(phrases=(), token="not in context")
    assert rule.refuses(" Not In Context ")
    assert not rule.refuses("not in context.")
    assert not rule.refuses("I don't know")


@pytest.mark.parametrize("pattern", ["^(sorry|pardon)", re.compile("^(sorry|pardon)", re.I)])
def test_a_pattern_of_ones_own_refuses(pattern):
    rule = RefusalRule(phrases=(), pattern=pattern)
    assert rule.refuses("Sorry, no.")
    assert not rule.refuses("So sorry.")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"phrases": "not found"}, r"phrases must be a list; got one text: write \['not found'\]"),
        ({"phrases": ["a", " "]}, r"must be texts that are not blank; got ' '"),
        ({"phrases": [3]}, r"must be texts that are not blank; got 3"),
        ({"pattern": "("}, r"must be a regular expression; got '\('"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(options, told):
    with pytest.raises(DataError, match=told):
        RefusalRule(**options)


# -- the metrics


FIVE = refusals_between(
    ["Paris", "I don't know", "Rome", "I don't know", "Oslo"], [True, True, True, False, False]
)


def test_each_rate_is_over_the_questions_that_it_is_about():
    # of three answerables one was refused: 1/3, where dividing by all five would say 0.2
    assert np.nanmean(false_refusal(FIVE)) == pytest.approx(1 / 3)
    assert np.nanmean(hallucinated_answer(FIVE)) == 1 / 2
    assert np.nanmean(abstention_recall(FIVE)) == 1 / 2
    assert np.nanmean(abstention_accuracy(FIVE)) == 3 / 5


def test_the_accuracy_of_ragbench_counts_right_refusals_and_right_answers():
    answers = ["Paris", "I don't know", "Rome", "I don't know", "Oslo"]
    flags = [True, True, True, False, False]
    rows = [
        {"query_id": n, "answer": answer, "answerable": flag}
        for n, (answer, flag) in enumerate(zip(answers, flags, strict=True))
    ]
    evaluation = score(rows, ["unanswerable_accuracy", "abstention_recall"])
    # ragbench: (1 right refusal + 2 right answers) / 5; ours: 1 of the 2 without an answer
    assert evaluation.get_aggregated_scores("unanswerable_accuracy") == 3 / 5
    assert evaluation.get_aggregated_scores("abstention_recall") == 1 / 2


def test_an_answer_that_failed_is_neither_a_refusal_nor_an_answer():
    view = refusals_between([None, None, "x"], [True, False, None])
    assert all(np.isnan(metric(view)).all() for metric in ALL)
    failed = [True, False, False]
    states = states_of(false_refusal(view), applies=view.applies("false_refusal"), failed=failed)
    assert states.tolist() == ["failed", "not applicable", "missing"]


# -- real answers
