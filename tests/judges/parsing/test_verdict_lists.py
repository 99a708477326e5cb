import json

import pytest

from rageval_report.judges.parsing import UnreadableError, read_claims, read_verdicts


@pytest.mark.parametrize(
    "answer",
    [
        '{"claims": ["a is b", "c is d"]}',
        'Sure: ```json\n{"claims": ["a is b", " c is d ", ""]}\n```',
        '{"afirmaciones": ["a is b", "c is d"]}',
        "- a is b\n- c is d",
        "Claims:\n1. a is b\n2) c is d\n",
    ],
)
def test_claims_are_read(answer):
    assert read_claims(answer) == ["a is b", "c is d"]


def test_no_claim_is_an_answer():
    assert read_claims('{"claims": []}') == []


@pytest.mark.parametrize("answer", ["", "There are claims.", '{"claims": [1]}', '{"claims": ["a'])
def test_what_is_no_list_is_not_guessed(answer):
    with pytest.raises(UnreadableError):
        read_claims(answer)


def verdicts(*items):
    return json.dumps({"verdicts": items})


def test_verdicts_are_put_in_order_by_their_numbers():
    answer = verdicts(
        {"number": 2, "reasoning": "second", "verdict": False},
        {"number": 1, "reasoning": "first", "verdict": True},
    )
    assert read_verdicts(answer, 2) == [(True, "first"), (False, "second")]


@pytest.mark.parametrize(
    "answer",
    [
        verdicts({"verdict": True}, {"verdict": False}),
        verdicts({"number": 1, "supported": True}, {"number": 2, "supported": False}),
        verdicts(True, "no"),
        "1. TRUE\n2. FALSE: nobody says so",
        "[1] Ja\n[2] Nein",
    ],
)
def test_verdicts_of_other_forms_are_read(answer):
    assert [one for one, _ in read_verdicts(answer, 2)] == [True, False]


@pytest.mark.parametrize(
    "answer",
    [
        verdicts({"number": 1, "verdict": True}),
        verdicts({"number": 1, "verdict": True}, {"number": 1, "verdict": False}),
        verdicts({"number": 1, "verdict": True}, {"number": 3, "verdict": False}),
        verdicts({"number": 1, "verdict": True}, {"number": 2, "verdict": "perhaps"}),
        verdicts({"verdict": True}, {"verdict": True}, {"verdict": True}),
        "TRUE",
        "",
    ],
)
def test_a_verdict_too_few_or_too_many_is_not_guessed(answer):
    with pytest.raises(UnreadableError, match="a verdict for each of 2"):
        read_verdicts(answer, 2)
