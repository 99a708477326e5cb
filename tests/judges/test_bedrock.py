"""Amazon Bedrock: keys in a header or a signature, regions, and its errors."""

import hashlib
import hmac
import json
import pickle
import re
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from rageval_report.errors import DataError
from rageval_report.http import RequestError
from rageval_report.judges import Message, bedrock_chat, judge

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0"
ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalr/XUtn+FEMI", "FwoGZXIvYXdzE/token+=="
SCHEMA = {
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


def ask(chat):
    with chat.open() as asking:
        return asking(Message("How good?", "You judge.", SCHEMA))


def test_what_is_sent(provider, chat_of):
    provider.will("fine")
    ask(chat_of("bedrock", max_tokens=7, temperature=0))
    [sent] = provider.asked
    structure = sent["outputConfig"]["textFormat"].pop("structure")
    assert json.loads(structure["jsonSchema"].pop("schema")) == SCHEMA
    assert structure == {"jsonSchema": {"name": "verdict"}}
    assert sent == {
        "messages": [{"role": "user", "content": [{"text": "How good?"}]}],
        "system": [{"text": "You judge."}],
        "inferenceConfig": {"maxTokens": 7, "temperature": 0},
        "outputConfig": {"textFormat": {"type": "json_schema"}},
    }


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (MODEL, "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"),
        (
            ARN,
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2F"
            "us.amazon.nova-lite-v1%3A0/converse",
        ),
    ],
)
def test_the_model_is_escaped_in_the_path(server, monkeypatch, model, path):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    server.script = [reply()]
    ask(bedrock_chat(model))
    [(sent_path, headers, _)] = server.requests
    assert sent_path == path
    assert headers["authorization"] == "Bearer bedrock-api-key-1"


# All values of StopReason in the service model of botocore 1.44.5.
@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        *((name, "end") for name in ("end_turn", "stop_sequence", "tool_use")),
        *((name, "length") for name in ("max_tokens", "model_context_window_exceeded")),
        *((name, "refusal") for name in ("guardrail_intervened", "content_filtered")),
        # What was said is read; where it is not complete, the parser finds no verdict.
        *((name, "end") for name in ("malformed_model_output", "malformed_tool_use")),
    ],
)
def test_each_reason_to_stop_has_its_ending(server, monkeypatch, reason, ending):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    server.script = [reply(reason=reason)]
    assert ask(bedrock_chat(MODEL)).ending == ending


# -- keys and regions


def test_an_api_key_goes_before_the_keys_that_sign(server, signed, monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    server.script = [reply()]
    ask(bedrock_chat(MODEL))
    assert server.requests[0][1]["authorization"] == "Bearer bedrock-api-key-1"
    assert "x-amz-date" not in server.requests[0][1]


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
    assert ask(bedrock_chat(MODEL, sleep=waits.append)).text == "fine"
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
        ask(chat)
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


def test_a_missing_region_is_told(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    with pytest.raises(DataError, match="no region: set the environment variable AWS_REGION"):
        bedrock_chat(MODEL)


def test_missing_keys_are_told_with_both_ways(monkeypatch):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DataError, match=r"AWS_BEARER_TOKEN_BEDROCK.*AWS_ACCESS_KEY_ID"):
        bedrock_chat(MODEL)


# -- errors


def test_denied_access_is_said_plainly_and_stops_the_judging(server, monkeypatch, rows):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    denied = failure(
        403, "AccessDeniedException", "You don't have access to the model with the specified ID."
    )
    server.script = [denied] * 9
    with pytest.raises(
        RequestError,
        match=re.escape(
            "answered 403: AccessDeniedException: You don't have access to the model with the "
            "specified ID. (the key is wrong, or it or its account may not use this)"
        ),
    ):
        ask(bedrock_chat(MODEL))
    server.requests.clear()
    with pytest.raises(Exception, match="AccessDeniedException"):
        judge(rows, "coherence", bedrock_chat(MODEL), concurrency=1)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, "ThrottlingException"),
        (429, "ModelNotReadyException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
def test_errors_that_may_pass_are_retried(server, monkeypatch, status, kind):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    server.script = [failure(status, kind, "later")] * 2 + [reply()]
    waits = []
    assert ask(bedrock_chat(MODEL, max_attempts=3, sleep=waits.append)).text == "fine"
    assert len(waits) == 2


def test_an_error_that_does_not_pass_is_not_retried(server, monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key-1")
    server.script = [failure(400, "ValidationException", "The model is not supported")]
    with pytest.raises(RequestError, match="400: ValidationException: The model is not supported"):
        ask(bedrock_chat(MODEL, sleep=lambda _: pytest.fail("it waited")))
    assert len(server.requests) == 1
