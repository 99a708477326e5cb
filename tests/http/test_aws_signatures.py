"""Signatures against Amazon's published examples, botocore's, and their definition by hand."""

import hashlib
import hmac
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

pytest.importorskip("awscrt")

from rageval_report.errors import DataError, MissingDependencyError
from rageval_report.http.aws_signatures import AwsSigner, region_from_environment
from rageval_report.http.keys import Key

ID, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "tok+/="
JSON = {"content-type": "application/json"}
HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"


def key(text):
    return Key(text, scheme="")


def signer(service="service", moment=(2015, 8, 30, 12, 36), token=None):
    return AwsSigner(
        *(service, "us-east-1", key(ID), key(SECRET), None if token is None else key(token)),
        clock=lambda: datetime(*moment, tzinfo=UTC),
    )


def signature(headers):
    return headers["authorization"].rpartition("Signature=")[2]


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "expected"),
    [
        # The test suite of Signature Version 4 that Amazon publishes, by the names of its cases:
        # get-vanilla, post-vanilla and post-x-www-form-urlencoded. Its cases with an escaped path
        # are signed as S3 does it, without escaping twice.
        (
            *("GET", "/", {}, b""),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            *("POST", "/", {}, b""),
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            *("POST", "/", {"content-type": "application/x-www-form-urlencoded"}, b"Param1=value1"),
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ],
)
def test_signatures_are_those_that_amazon_publishes(method, path, headers, content, expected):
    signed = signer()(method, f"https://example.amazonaws.com{path}", headers, content)
    assert signature(signed) == expected


# SigV4Auth.add_auth of botocore 1.44.5 for POST, the body {"a": 1}, 2026-11-22 12:00 UTC.
BY_BOTOCORE = [
    (
        *("anthropic.claude-haiku%3A0", None),
        "0fbe6601f53782028330eb231fcb2c8102e577439a6ec6297c64b3b2242ccd39",
    ),
    (
        *("arn%3Aaws%3Abedrock%2Fx", None),
        "322b3f0c58e425bd57965c814c0be18b16ab2a9bf944c826e66a47d1d1994d6b",
    ),
    (
        *("anthropic.claude-haiku%3A0", TOKEN),
        "513d8b8db906bf4c2c1e67f8b2e21538c27c95212eb61b921cf302e78fe8261f",
    ),
    (
        *("arn%3Aaws%3Abedrock%2Fx", TOKEN),
        "a9e9c8bc7e664bfef27ba495e2ff1859b71d103ef52d6657c8c2fc516e01e006",
    ),
]


def hmac_sha256(secret, text):
    return hmac.new(secret, text.encode(), hashlib.sha256).digest()


def by_hand(path, content, token, stamp="20261122T120000Z"):
    """The steps of the user guide "Create a signed AWS API request"."""
    headers = {"content-type": "application/json", "host": HOST.partition("//")[2]}
    headers |= {"x-amz-date": stamp} | ({} if token is None else {"x-amz-security-token": token})
    names = ";".join(sorted(headers))
    lines = [f"{name}:{headers[name]}" for name in sorted(headers)]
    # The path is escaped a second time: "%3A" becomes "%253A".
    request = ["POST", quote(path), "", *lines, "", names, hashlib.sha256(content).hexdigest()]
    scope = f"{stamp[:8]}/us-east-1/bedrock/aws4_request"
    digest = hashlib.sha256("\n".join(request).encode()).hexdigest()
    derived = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        derived = hmac_sha256(derived, part)
    return hmac_sha256(derived, f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}").hex()


@pytest.mark.parametrize(("model", "token", "expected"), BY_BOTOCORE)
def test_signatures_are_those_of_botocore_and_of_their_definition(model, token, expected):
    path, content = f"/model/{model}/converse", b'{"a": 1}'
    sign = signer("bedrock", (2026, 11, 22, 12), token)
    signed = sign("POST", HOST + path, JSON, content)
    assert signature(signed) == expected == by_hand(path, content, token)
    assert signed.get("x-amz-security-token") == token


def test_only_the_headers_of_the_signature_are_added():
    signed = signer("bedrock")("POST", HOST + "/model/m/converse", JSON, b"{}")
    assert sorted(signed) == ["authorization", "x-amz-date"]


def test_a_port_that_is_not_the_usual_one_is_part_of_the_host():
    urls = [f"http://localhost{port}/" for port in (":81", ":80", "")]
    one, other, usual = (signature(signer()("POST", url, JSON, b"")) for url in urls)
    assert one != usual == other


def test_no_key_is_shown():
    shown = repr(signer(token=TOKEN))
    assert not any(text in shown for text in (ID, SECRET, TOKEN))
    assert [one.text() for one in signer(token=TOKEN).keys] == [ID, SECRET, TOKEN]


@pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_a_missing_key_is_named(monkeypatch, missing):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "abcd")
    monkeypatch.delenv(missing)
    with pytest.raises(DataError, match=f"environment variable {missing} is not set"):
        AwsSigner.from_environment("bedrock", "us-east-1")


def test_the_region_is_read_from_either_variable(monkeypatch):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    assert region_from_environment() == "eu-west-1"
    monkeypatch.setenv("AWS_REGION", "us-east-2")
    assert region_from_environment() == "us-east-2"


@pytest.mark.parametrize("region", [None, "evil.example/", "us east", "ü-1"])
def test_a_region_that_is_missing_or_no_name_is_refused(monkeypatch, region):
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    if region is not None:
        monkeypatch.setenv("AWS_REGION", region)
    with pytest.raises(DataError, match=r"AWS_REGION.*us-east-1"):
        region_from_environment()


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "awscrt.auth", None)
    monkeypatch.setitem(__import__("sys").modules, "awscrt", None)
    with pytest.raises(MissingDependencyError, match=r"rageval-report\[bedrock\]"):
        signer()
