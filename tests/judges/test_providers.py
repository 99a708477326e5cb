"""Chats over a real socket, by each provider's protocol, from a server as strict as theirs."""

import pytest

from rageval_report.errors import DataError, JudgeError
from rageval_report.http import RequestError
from rageval_report.judges import CHATS, Message, anthropic_chat, gemini_chat, openai_chat

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [1, 2]}},
    "required": ["score"],
    "additionalProperties": False,
}
MESSAGE = Message("How good?", "You judge.", SCHEMA)
NAMES = ["anthropic", "bedrock", "gemini", "openai"]


def ask(chat, message=MESSAGE):
    with chat.open() as asking:
        return asking(message)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_comes_with_its_tokens_and_without_thoughts(provider, chat_of, name):
    provider.will('{"score": 2}')
    reply = ask(chat_of(name))
    assert (reply.text, reply.ending) == ('{"score": 2}', "end")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 20)  # as the server counts them


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["length", "refusal"])
def test_how_an_answer_ended_is_known(provider, chat_of, say, name, ending):
    provider.will(say("I cannot", ending))
    assert ask(chat_of(name)).ending == ending


@pytest.mark.parametrize("name", NAMES)
def test_tokens_that_are_not_counted_are_unknown(provider, chat_of, say, name):
    provider.will(say("fine", tokens=None))
    reply = ask(chat_of(name))
    assert reply.prompt_tokens is None
    assert reply.completion_tokens is None


def sent(provider, chat, message=MESSAGE):
    provider.will("fine")
    ask(chat, message)
    return provider.asked[-1]


SECRET = "sk-very-secret-0123456789"


def test_what_is_sent_to_anthropic(provider, chat_of):
    assert sent(provider, chat_of("anthropic", max_tokens=7, temperature=0)) == {
        "model": "toy",
        "max_tokens": 7,
        "system": "You judge.",
        "temperature": 0,
        "messages": [{"role": "user", "content": "How good?"}],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


def test_what_is_sent_by_the_protocol_of_openai(provider, chat_of):
    assert sent(provider, chat_of("openai", max_tokens=7, temperature=0)) == {
        "model": "toy",
        "max_tokens": 7,
        "temperature": 0,
        "messages": [
            {"role": "system", "content": "You judge."},
            {"role": "user", "content": "How good?"},
        ],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
        },
    }


def test_what_is_sent_to_gemini(provider, chat_of):
    assert sent(provider, chat_of("gemini", max_tokens=7, temperature=0)) == {
        "contents": [{"role": "user", "parts": [{"text": "How good?"}]}],
        "systemInstruction": {"parts": [{"text": "You judge."}]},
        "generationConfig": {
            "maxOutputTokens": 7,
            "temperature": 0,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
    }


def test_what_else_is_sent_may_add_and_take_away(provider, chat_of):
    body = sent(provider, chat_of("openai", extra_body={"seed": 7, "max_tokens": None}))
    assert body["seed"] == 7
    assert "max_tokens" not in body


def test_a_chat_is_a_callable_of_texts(provider, chat_of):
    provider.will("It is Oslo.")
    assert chat_of("anthropic")("What is the capital?") == "It is Oslo."


@pytest.mark.parametrize(
    ("ending", "told"), [("refusal", "refused"), ("length", "cut off at 1024")]
)
def test_a_callable_gives_no_half_answer(provider, chat_of, say, ending, told):
    provider.will(say("I", ending))
    with pytest.raises(JudgeError, match=told):
        chat_of("openai")("?")


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", {"content": "text"}),
        ("openai", {"choices": []}),
        ("openai", {"error": {"message": "overloaded"}}),
        ("gemini", {"candidates": []}),
        ("bedrock", {"output": {"message": {"content": "text"}}}),
        ("bedrock", [1]),
        ("openai", b"<html>Welcome</html>"),
        ("openai", b""),
        ("anthropic", [1]),
    ],
)
def test_an_answer_of_another_shape_is_told(provider, chat_of, status, name, body):
    provider.will(status(200, body))
    with pytest.raises(RequestError, match="expected"):
        ask(chat_of(name))


# -- keys


def test_the_named_variable_holds_the_key(provider, chat_of, monkeypatch, secret):
    provider.wants = secret
    monkeypatch.setenv("MY_KEY", secret)
    for name in NAMES:
        provider.will("fine")
        assert ask(chat_of(name, api_key_env="MY_KEY")).text == "fine"


@pytest.mark.parametrize("name", NAMES)
def test_a_server_of_ones_own_gets_no_key_unless_one_is_named(
    provider, chat_of, monkeypatch, secret, name
):
    provider.wants = secret
    monkeypatch.setenv(f"{name.upper()}_API_KEY", secret)
    with pytest.raises(RequestError, match=r"401.*no key was sent"):
        ask(chat_of(name))


@pytest.mark.parametrize(
    ("make", "variable"),
    [
        (anthropic_chat, "ANTHROPIC_API_KEY"),
        (openai_chat, "OPENAI_API_KEY"),
        (gemini_chat, "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_told_at_once_by_its_variable(make, variable):
    with pytest.raises(DataError, match=f"the environment variable {variable} is not set"):
        make("a-model")


# -- what makes no sense


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_tokens": 0}, "max_tokens must be an integer >= 1; got 0"),
        ({"temperature": -1}, "temperature must be from 0 to 2; got -1"),
        ({"timeout": 0}, "timeout must be a finite number > 0"),
        ({"base_url": "localhost:8000"}, "expected an address"),
        ({"base_url": "http://me:pw@host/v1"}, "not put credentials in a URL: they end up in logs"),
        ({"base_url": "http://host/v1?key=x"}, "base_url must end before any"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_makes_no_sense_is_refused(name, options, told):
    with pytest.raises(DataError, match=told) as caught:
        CHATS[name]("toy", **{"base_url": "http://host/v1", **options})
    assert "pw" not in str(caught.value)
    assert "key=x" not in str(caught.value)


@pytest.mark.parametrize("key", [SECRET, "AIzaSyA0123456789abcdefghijk", "", "MY KEY"])
def test_a_key_where_its_variable_should_stand_is_not_shown(chat_of, key):
    with pytest.raises(DataError, match="must be the name of the environment variable") as caught:
        chat_of("openai", api_key_env=key)
    assert not key or key not in str(caught.value)
