"""Chats over a real socket, by each provider's protocol, from a server as strict as theirs."""

import hashlib
import hmac
import json
import pickle
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from rageval_report.errors import DataError, JudgeError, UnknownNameError
from rageval_report.http import RequestError
from rageval_report.judges import (
    CHATS,
    FunctionChat,
    Message,
    anthropic_chat,
    bedrock_chat,
    chat_from_environment,
    gemini_chat,
    ollama_chat,
    openai_chat,
)
from rageval_report.judges.chats import as_chat, family_of

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
        ("gemini", {"candidates": []}),
        ("bedrock", {"output": {"message": {"content": "text"}}}),
        ("bedrock", [1]),
        ("openai", b"<html>Welcome</html>"),
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


# -- amazon Bedrock: keys in a header or a signature, regions, and its errors


MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalr/XUtn+FEMI", "FwoGZXIvYXdzE/token+=="
SCHEMA_BEDROCK = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


class Recorder(BaseHTTPRequestHandler):
    """Answers as told, and keeps the line and the headers of each request."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append((self.path, dict(self.headers.items()), body))
        status, headers, document = self.server.script.pop(0)
        content = json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"content-length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


def reply(text="fine", reason="end_turn"):
    usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
    message = {"role": "assistant", "content": [{"text": text}]}
    return 200, {}, {"output": {"message": message}, "stopReason": reason, "usage": usage}


def failure(status, kind, message):
    return status, {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/"}, {"message": message}


@pytest.fixture
def server(monkeypatch):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests, server.script = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def signed(monkeypatch):
    for name, value in (
        *(("AWS_ACCESS_KEY_ID", ID), ("AWS_SECRET_ACCESS_KEY", SECRET)),
        *(("AWS_SESSION_TOKEN", TOKEN), ("AWS_REGION", "us-east-1")),
    ):
        monkeypatch.setenv(name, value)


def ask_of_bedrock(chat):
    with chat.open() as asking:
        return asking(Message("How good?", "You judge.", SCHEMA_BEDROCK))


# -- keys and regions


def signature_by_hand(path, headers, body):
    """Signature Version 4 as Amazon's documentation has it, with hashlib and hmac alone."""
    moment = headers["x-amz-date"]
    scope = f"{moment[:8]}/us-east-1/bedrock/aws4_request"
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    sent = {name.lower(): text for name, text in headers.items()}
    lines = "".join(f"{name}:{sent[name]}\n" for name in names.split(";"))
    digest = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n{quote(path, safe='/~')}\n\n{lines}\n{names}\n{digest}"
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential={ID}/{scope}, SignedHeaders={names}, Signature={signature}"


def test_each_attempt_is_signed_anew_for_what_is_sent(server, signed):
    pytest.importorskip("boto3")
    server.script = [failure(429, "ThrottlingException", "Too many requests"), reply()]
    waits = []
    assert ask_of_bedrock(bedrock_chat(MODEL, sleep=waits.append)).text == "fine"
    assert len(waits) == 1
    for path, headers, body in server.requests:
        assert headers["authorization"] == signature_by_hand(path, headers, body)
        assert headers["x-amz-security-token"] == TOKEN


def test_no_key_is_in_an_error_a_repr_or_a_pickle(server, signed):
    pytest.importorskip("boto3")
    chat = bedrock_chat(MODEL, max_attempts=1)
    seen = f"The canonical request has x-amz-security-token:{TOKEN} and {ID} and {SECRET}"
    server.script = [failure(403, "InvalidSignatureException", seen)]
    with pytest.raises(RequestError, match=r"answered 403: InvalidSignatureException") as caught:
        ask_of_bedrock(chat)
    told = "".join(traceback.format_exception(caught.value)) + repr(chat) + str(chat.settings)
    for key in (ID, SECRET, TOKEN):
        assert key not in told
        assert key.encode() not in pickle.dumps(caught.value)


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "bedrock-runtime.eu-central-1.amazonaws.com"),
        ("cn-north-1", "bedrock-runtime.cn-north-1.amazonaws.com.cn"),
        ("eusc-de-east-1", "bedrock-runtime.eusc-de-east-1.amazonaws.eu"),
        ("us-gov-west-1", "bedrock-runtime.us-gov-west-1.amazonaws.com"),
    ],
)
def test_the_server_is_that_of_the_region(monkeypatch, region, host):
    monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    assert bedrock_chat("m").url == f"https://{host}/model/m/converse"


def test_missing_keys_are_told_with_both_ways(monkeypatch):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DataError, match=r"AWS_BEARER_TOKEN_BEDROCK.*AWS_ACCESS_KEY_ID"):
        bedrock_chat(MODEL)


# -- chats: callables, scripts, what the environment names, and the families of models


def test_a_callable_gets_system_and_question_as_one_text():
    asked = []
    with FunctionChat(lambda text: asked.append(text) or "yes", "m").open() as ask:
        assert ask(Message("Is it?", "You judge.")).text == "yes"
    assert asked == ["You judge.\n\nIs it?"]


def test_a_callable_that_gives_no_text_is_told():
    with FunctionChat(lambda text: 7, "m").open() as ask, pytest.raises(JudgeError, match="int"):
        ask(Message("Is it?"))


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(DataError, match="chat must be a chat client"):
        as_chat("gpt-5")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-4o-mini", "OpenAI"),
        ("us.anthropic.claude-sonnet-4-5-v1:0", "Anthropic"),
        ("Qwen/Qwen2.5-7B-Instruct", "Alibaba"),
        ("my-photo3-model", None),
    ],
)
def test_the_family_is_read_off_the_name(model, family):
    assert family_of(model) == family


# -- the environment


def test_the_environment_names_provider_and_model(monkeypatch):
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_ANTHROPIC_MODEL", "claude-haiku-4-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    chat = chat_from_environment()
    assert (chat.settings["provider"], chat.model) == ("anthropic", "claude-haiku-4-5")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("gpu:11434", "http://gpu:11434/v1/chat/completions"),
        ("https://gpu", "https://gpu/v1/chat/completions"),
        ("https://gpu/ollama/v1/", "https://gpu/ollama/v1/chat/completions"),
    ],
)
def test_the_host_of_ollama_may_be_bare(monkeypatch, host, url):
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_chat("llama3.1").url == url


def test_an_unknown_provider_is_told_with_the_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'anthropic'"):
        chat_from_environment("antropic", "m")
