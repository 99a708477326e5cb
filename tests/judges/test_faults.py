"""Each fault of a judge over a real socket: it is unscored with its reason, never 0."""

import threading

import pytest

from rageval_report.errors import JudgeError
from rageval_report.judges import Cache, Rubric, ScriptedChat, judge

TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
FIVE = '{"reasoning": "Polite.", "score": 5}'


def told(judged):
    states = judged.states
    assert judged.scores["tone"].isna().all()
    assert states["tone_state"].tolist() == ["failed"] * len(states)
    return states["tone_reason"].iloc[0]


@pytest.mark.parametrize("name", ["anthropic", "bedrock", "gemini", "openai"])
def test_a_judge_that_refuses_gives_no_score(provider, chat_of, say, rows, name):
    provider.will(say("I will not judge that.", "refusal"))
    assert told(judge(rows[:1], TONE, chat_of(name))).startswith("the judge refused")


@pytest.mark.parametrize("name", ["anthropic", "bedrock", "gemini", "openai"])
def test_an_answer_that_was_cut_gives_no_score(provider, chat_of, say, rows, name):
    provider.will(say('{"reasoning": "It is 5/5', "length"))
    reason = told(judge(rows[:1], TONE, chat_of(name, max_tokens=9)))
    assert reason == "the judge's answer was cut off at max_tokens=9; increase max_tokens"


def test_rambling_gives_no_score_and_is_asked_for_once_more(provider, chat_of, rows):
    provider.will("Well, of 5 sentences 3 are polite, though 1 is not, which makes one think.")
    assert told(judge(rows[:1], TONE, chat_of())).endswith("(asked twice)")
    assert len(provider.asked) == 2
    assert "could not be read: no grade in" in provider.prompts[1]


def test_a_wrong_key_ends_the_run_and_is_never_shown(
    provider, chat_of, monkeypatch, secret, rows, tmp_path
):
    provider.wants = "another"
    monkeypatch.setenv("MY_KEY", secret)
    with Cache(tmp_path / "c.sqlite") as cache:
        chat = chat_of("openai", api_key_env="MY_KEY")
        with pytest.raises(JudgeError, match="the key was refused") as caught:
            judge(rows * 1, TONE, chat, cache=cache, concurrency=1)
    assert len(provider.asked) == 1  # the others would be refused as well
    assert secret not in str(caught.value)
    for path in tmp_path.iterdir():
        assert secret.encode() not in path.read_bytes()


def test_the_key_is_in_no_cache_and_no_result(
    provider, chat_of, monkeypatch, secret, rows, tmp_path
):
    provider.wants = secret
    monkeypatch.setenv("MY_KEY", secret)
    provider.will(FIVE)
    chat = chat_of("openai", api_key_env="MY_KEY")
    judged = judge(rows, TONE, chat, cache=tmp_path / "c.sqlite")
    assert judged.scores["tone"].notna().all()
    assert secret not in f"{judged.settings}{judged.notes}{judged.states.to_dict()}"
    assert all(secret.encode() not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_server_that_is_down_ends_the_run_at_once(chat_of, rows):
    waits = []
    chat = chat_of(base_url="http://127.0.0.1:9/v1", max_attempts=5, sleep=waits.append)
    with pytest.raises(JudgeError, match=r"cannot be reached.*is the server running\?"):
        judge(rows, TONE, chat)
    assert waits == []


def test_a_certificate_that_nobody_signed_ends_the_run_at_once(chat_of, tls_url, rows):
    chat = chat_of("openai", base_url=tls_url)
    with pytest.raises(JudgeError, match="certificate"):
        judge(rows, TONE, chat, concurrency=1, give_up_after=9)


@pytest.mark.parametrize("name", ["anthropic", "bedrock", "gemini", "openai"])
def test_a_server_that_refuses_a_schema_is_asked_in_words_and_it_is_noted_once(
    provider, chat_of, rows, name
):
    provider.keeps_schemas = False
    provider.will("REASONING: as it is\nSCORE: 5")
    judged = judge(rows, TONE, chat_of(name), concurrency=1)
    assert judged.scores["tone"].tolist() == [1.0] * 3
    assert len(provider.asked) == 4  # the first of them was refused
    assert judged.settings["structured"] is False
    noted = [note for note in judged.notes if "structured=False" in note]
    assert noted == [
        "structured=False: the server of toy refused a JSON schema; the strict parser "
        "read its answers"
    ]
    assert not judged.states["tone_reason"].astype(str).str.contains("structured").any()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html><body>Bad gateway</body></html>", "expected JSON"),
        (b'{"choices": [{"mess', "JSON"),
        (b"", "JSON"),
        (b'{"choices": []}', "expected"),
        (b'{"x": "' + b"y" * (10 << 20) + b'"}', "expected"),
    ],
)
def test_what_is_no_answer_of_a_chat_fails_with_its_reason(
    provider, chat_of, status, rows, body, why
):
    provider.will(status(200, body))
    reason = told(judge(rows[:1], TONE, chat_of()))
    assert why in reason
    assert len(reason) < 500


def test_no_more_calls_than_asked_for_are_under_way(provider, chat_of, rows):
    both = threading.Barrier(2, timeout=10)  # each call waits for another: two are needed

    def answer(prompt):
        both.wait()
        return FIVE

    many = [{**row, "query_id": f"{row['query_id']}-{n}"} for row in rows for n in range(2)]
    provider.will(answer)
    judged = judge(many, TONE, chat_of(), concurrency=2)
    assert judged.scores["tone"].notna().all()
    assert provider.most_under_way == 2


# -- Ctrl-C


def test_an_interruption_keeps_what_is_done(rows):
    chat = ScriptedChat([FIVE, KeyboardInterrupt()])
    judged = judge(rows[:2], TONE, chat, concurrency=1)
    assert judged.is_interrupted
    assert judged.scores["tone"].notna().tolist() == [True, False]
    assert judged.states["tone_reason"].iloc[-1] == "not asked: interrupted"
    assert "stopped before the end: interrupted" in judged.notes[0]
