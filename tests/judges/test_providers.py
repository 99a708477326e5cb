"""Chats over a real socket, by each provider's protocol, from a server as strict as theirs.

The providers' own libraries are a second witness: anthropic 2.12.0, openai 3.54.0, google-genai
3.4.0; their test skips where a library is absent.
"""

import hashlib
import hmac
import json
import pickle
import tomllib
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest

from rageval_report.errors import DataError, JudgeError, UnknownNameError
from rageval_report.http import RequestError
from rageval_report.judges import (
    CHATS,
    FunctionChat,
    Message,
    bedrock_chat,
    chat_from_environment,
    ollama_chat,
)
from rageval_report.judges.chats import as_chat, family_of

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [1, 2]}},
    "required": ["score"],
    "additionalProperties": False,
}
PROTOCOLS = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8"))
SECRET = "sk-very-secret-0123456789"
PROMPT, SYSTEM, LIMIT = "How good?", "You judge.", 7
MESSAGE = Message(PROMPT, SYSTEM, SCHEMA)
NAMES = list(PROTOCOLS)


def ask(chat, message=MESSAGE):
    with chat.open() as asking:
        return asking(message)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_comes_with_its_ending_and_tokens_and_without_thoughts(
    provider, chat_of, say, name
):
    provider.will('{"score": 2}', say("I", "length"), say("I", "refusal"), say("fine", tokens=None))
    reply, cut, refused, uncounted = (ask(chat_of(name)) for _ in range(4))
    assert (reply.text, reply.ending) == ('{"score": 2}', "end")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 20)  # as the server counts them
    assert (cut.ending, refused.ending) == ("length", "refusal")
    assert (uncounted.prompt_tokens, uncounted.completion_tokens) == (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sent_is_what_the_protocol_says(provider, chat_of, fill, name):
    provider.will("fine")
    ask(chat_of(name, max_tokens=LIMIT, temperature=0))
    schema = {"SCHEMA": SCHEMA, "SCHEMA_TEXT": json.dumps(SCHEMA)}
    assert provider.asked == [fill(PROTOCOLS[name]["sent"], schema)]


def test_what_else_is_sent_may_add_and_take_away(provider, chat_of):
    provider.will("fine")
    ask(chat_of("openai", extra_body={"seed": 7, "max_tokens": None}))
    assert provider.asked[0]["seed"] == 7
    assert "max_tokens" not in provider.asked[0]


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


# -- the providers' own libraries send what we send, and read what the server says


def ask_anthropic(url):
    client = pytest.importorskip("anthropic").Anthropic(base_url=url, api_key="none", max_retries=0)
    with client:
        said = client.messages.create(
            model="toy",
            max_tokens=LIMIT,
            system=SYSTEM,
            messages=[{"role": "user", "content": PROMPT}],
            output_config={"format": {"type": "json_schema", "schema": SCHEMA}},
        )
    type(said).model_validate(said.model_dump(), strict=True)
    return said.content[-1].text, said.usage.output_tokens


def ask_openai(url):
    client = pytest.importorskip("openai").OpenAI(base_url=url, api_key="none", max_retries=0)
    form = {"name": "verdict", "strict": True, "schema": SCHEMA}
    with client:
        said = client.chat.completions.create(
            model="toy",
            max_tokens=LIMIT,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}],
            response_format={"type": "json_schema", "json_schema": form},
        )
    type(said).model_validate(said.model_dump(), strict=True)
    return said.choices[0].message.content, said.usage.completion_tokens


def ask_gemini(url):
    genai = pytest.importorskip("google.genai")
    base, version = url.rsplit("/", 1)
    where = genai.types.HttpOptions(base_url=base, api_version=version)
    with genai.Client(api_key="none", http_options=where) as client:
        said = client.models.generate_content(
            model="toy",
            contents=PROMPT,
            config=genai.types.GenerateContentConfig(
                system_instruction=SYSTEM,
                max_output_tokens=LIMIT,
                response_mime_type="application/json",
                response_json_schema=SCHEMA,
            ),
        )
    usage = said.usage_metadata
    return said.text, usage.candidates_token_count + usage.thoughts_token_count


def without_roles(body):
    """Gemini's library names the one role there is, which may be left out."""
    if "systemInstruction" not in body:
        return body
    instruction = {k: v for k, v in body["systemInstruction"].items() if k != "role"}
    contents = [{k: v for k, v in one.items() if k != "role"} for one in body["contents"]]
    return {**body, "systemInstruction": instruction, "contents": contents}


THEIRS = {"anthropic": ask_anthropic, "gemini": ask_gemini, "openai": ask_openai}


@pytest.mark.parametrize("name", THEIRS)
def test_their_library_sends_the_same_request_and_reads_the_same_answer(provider, chat_of, name):
    provider.will('{"score": 2}')
    theirs = THEIRS[name](provider.url(name))
    reply = ask(chat_of(name, max_tokens=LIMIT))
    assert (reply.text, reply.completion_tokens) == theirs
    by_them, by_us = map(without_roles, provider.asked)
    assert by_us == by_them


# -- keys, and options that make no sense


@pytest.mark.parametrize("name", NAMES)
def test_the_named_variable_holds_the_key_and_no_other_key_is_sent(
    provider, chat_of, monkeypatch, name
):
    provider.wants = SECRET
    provider.will("fine")
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.setenv(f"{name.upper()}_API_KEY", SECRET)
    assert ask(chat_of(name, api_key_env="MY_KEY")).text == "fine"
    with pytest.raises(RequestError, match=r"401.*no key was sent"):
        ask(chat_of(name))


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_told_at_once_by_its_variable(name, variable):
    with pytest.raises(DataError, match=f"the environment variable {variable} is not set"):
        CHATS[name]("a-model")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"max_tokens": 0}, "max_tokens must be an integer >= 1; got 0"),
        ({"temperature": -1}, "temperature must be from 0 to 2; got -1"),
        ({"timeout": 0}, "timeout must be a finite number > 0"),
        ({"base_url": "localhost:8000"}, "expected an address"),
        ({"base_url": "http://me:pw@host/v1"}, "not put credentials in a URL: they end up in logs"),
        ({"base_url": "http://host/v1?key=x"}, "base_url must end before any"),
        *(
            ({"api_key_env": key}, "must be the name of the environment variable")
            for key in (SECRET, "AIzaSyA0123456789abcdefghijk", "", "MY KEY")
        ),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_makes_no_sense_is_refused_and_no_key_is_shown(name, options, told):
    with pytest.raises(DataError, match=told) as caught:
        CHATS[name]("toy", **{"base_url": "http://host/v1", **options})
    for secret in ("pw", "key=x", options.get("api_key_env") or "pw"):
        assert secret not in str(caught.value)


# -- Amazon Bedrock: signatures, regions and its errors

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
ID, AWS_SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalr/XUtn+FEMI", "FwoGZXIvYXdzE/token+=="


@pytest.fixture
def signed(monkeypatch, provider):
    pytest.importorskip("boto3")
    for name, value in {
        "ACCESS_KEY_ID": ID,
        "SECRET_ACCESS_KEY": AWS_SECRET,
        "SESSION_TOKEN": TOKEN,
        "REGION": "us-east-1",
        "ENDPOINT_URL_BEDROCK_RUNTIME": provider.url("bedrock"),
    }.items():
        monkeypatch.setenv(f"AWS_{name}", value)


def signature_by_hand(path, headers, body):
    """Signature Version 4 as Amazon's documentation has it, with hashlib and hmac alone."""
    moment = headers["x-amz-date"]
    scope = f"{moment[:8]}/us-east-1/bedrock/aws4_request"
    names = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0]
    sent = {name.lower(): text for name, text in headers.items()}
    lines = "".join(f"{name}:{sent[name]}\n" for name in names.split(";"))
    digest = hashlib.sha256(body).hexdigest()
    canonical = f"POST\n{quote(path, safe='/~')}\n\n{lines}\n{names}\n{digest}"
    key = f"AWS4{AWS_SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashed}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return f"AWS4-HMAC-SHA256 Credential={ID}/{scope}, SignedHeaders={names}, Signature={signature}"


def test_each_attempt_is_signed_anew_for_what_is_sent(provider, status, signed):
    provider.will(status(429, {"message": "Too many requests"}), "fine")
    waits = []
    assert ask(bedrock_chat("toy", sleep=waits.append)).text == "fine"
    assert len(waits) == 1
    assert len(provider.requests) == 2
    for path, headers, body in provider.requests:
        assert headers["authorization"] == signature_by_hand(path, headers, body)
        assert headers["x-amz-security-token"] == TOKEN


def test_no_key_is_in_an_error_a_repr_or_a_pickle(provider, status, signed):
    seen = f"The canonical request has x-amz-security-token:{TOKEN} and {ID} and {AWS_SECRET}"
    provider.will(status(403, {"message": seen}))
    chat = bedrock_chat("toy", max_attempts=1)
    with pytest.raises(RequestError, match="answered 403: The canonical request") as caught:
        ask(chat)
    told = "".join(traceback.format_exception(caught.value)) + repr(chat) + str(chat.settings)
    for key in (ID, AWS_SECRET, TOKEN):
        assert key not in told
        assert key.encode() not in pickle.dumps(caught.value)


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-central-1", "bedrock-runtime.eu-central-1.amazonaws.com"),
        ("us-gov-west-1", "bedrock-runtime.us-gov-west-1.amazonaws.com"),
    ],
)
def test_the_server_is_that_of_the_region(monkeypatch, region, host):
    monkeypatch.setenv("AWS_REGION", region)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    assert bedrock_chat("a:0").url == f"https://{host}/model/a%3A0/converse"


def test_missing_keys_are_told_with_both_ways(monkeypatch):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DataError, match=r"AWS_BEARER_TOKEN_BEDROCK.*AWS_ACCESS_KEY_ID"):
        bedrock_chat(MODEL)


# -- callables, what the environment names, and the families of models


def test_a_callable_gets_one_text_and_must_give_one():
    asked = []
    assert ask(FunctionChat(lambda text: asked.append(text) or "yes", "m")).text == "yes"
    assert asked == ["You judge.\n\nHow good?"]
    with pytest.raises(JudgeError, match="int"):
        ask(FunctionChat(lambda text: 7, "m"))
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


def test_the_environment_names_provider_and_model(monkeypatch):
    monkeypatch.setenv("RAG_EVAL_PROVIDER", "anthropic")
    monkeypatch.setenv("RAG_EVAL_ANTHROPIC_MODEL", "claude-haiku-4-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    chat = chat_from_environment()
    assert (chat.settings["provider"], chat.model) == ("anthropic", "claude-haiku-4-5")
    with pytest.raises(UnknownNameError, match="Did you mean 'anthropic'"):
        chat_from_environment("antropic", "m")


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
