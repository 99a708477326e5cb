import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.judges.parsing import UnreadableError, read_preference, read_truth


@pytest.mark.parametrize(
    "answer",
    [
        *("TRUE", "True.", "**TRUE**", "true - it says the same", "Yes, it does.", "`TRUE`\n"),
        *('{"verdict": true}', '{"verdict": "TRUE"}', 'Here: {"verdict": true} done'),
        *("Wahr", "Ja, das stimmt.", "Sí", "Oui.", "正确", "はい", "Да"),
        *("It says the same.\n\nVERDICT: TRUE", "Fazit: wahr", "结论：正确"),
        *('{"razón": "dice lo mismo que eso", "veredicto": true}', "<think>FALSE?</think>TRUE"),
        *("TRUE. There is no contradiction.",),
    ],
)
def test_a_yes_is_read(answer):
    assert read_truth(answer)[0] is True


@pytest.mark.parametrize(
    "answer",
    ["FALSE", "No.", '{"verdict": false}', "Falsch", "VERDICT: FALSE", "否", "False, it is not."],
)
def test_a_no_is_read(answer):
    assert read_truth(answer)[0] is False


@pytest.mark.parametrize(
    "answer",
    [
        *("", "untrue", "not true", "It is true that it is false.", "No errors: TRUE"),
        *("The answer is correct", "{}", '{"verdict": null}', '{"verdict": "maybe"}'),
        *('{"a": true, "b": false}', "TRUE or FALSE?", "VERDICT: unsure"),
    ],
)
def test_what_says_neither_is_not_guessed(answer):
    with pytest.raises(UnreadableError):
        read_truth(answer)


@given(st.text(max_size=60))
def test_any_text_is_a_truth_or_unreadable(text):
    with contextlib.suppress(UnreadableError):
        assert read_truth(text)[0] in (True, False)


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ('{"reasoning": "r", "better": "1"}', "first"),
        ('{"better": 2}', "second"),
        ('{"better": "tie"}', "tie"),
        ("Answer 2 is better.", "second"),
        ("B", "second"),
        ("Verdict: A", "first"),
        ("Unentschieden", "tie"),
    ],
)
def test_a_choice_is_read(answer, choice):
    assert read_preference(answer)[0] == choice


@pytest.mark.parametrize("answer", ["", "Hard to say: 1 or 2.", '{"better": "3"}', "{}"])
def test_no_choice_is_not_guessed(answer):
    with pytest.raises(UnreadableError):
        read_preference(answer)
