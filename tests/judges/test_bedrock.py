"""Amazon Bedrock: keys in a header or a signature, regions, and its errors."""

import hashlib
import hmac
import json
import pickle
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from rageval_report.errors import DataError
from rageval_report.http import RequestError
from rageval_report.judges import Message, bedrock_chat

MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
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


def test_missing_keys_are_told_with_both_ways(monkeypatch):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DataError, match=r"AWS_BEARER_TOKEN_BEDROCK.*AWS_ACCESS_KEY_ID"):
        bedrock_chat(MODEL)
