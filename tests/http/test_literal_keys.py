"""A literal key is recognised by its name and its form, and never printed."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.http import (
    check_body,
    check_header,
    check_url_template,
    hide_literal_keys,
    is_secret_name,
    looks_like_key,
)

# Of the documentation of each provider, with its characters replaced.
KEYS = [
    *(
        "sk-Ab12Cd34Ef56Gh78",
        "sk-ant-api03-Ab12Cd34_Ef56",
        "sk-proj-Ab12Cd34Ef56",
        "sk-or-v1-0a1b2c3d",
    ),
    *("AIzaSyA1234567890abcdefghijklmnopqrstuv", "ya29.a0AfH6SMBx1234567890abcdef"),
    *("ghp_" + "a1B2" * 9, "github_pat_" + "a1B2" * 10, "glpat-a1B2c3D4e5F6g7H8i9J0"),
    *(
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-1234567890-abcdefghij",
        "hf_" + "aB3d" * 9,
        "gsk_" + "aB3d" * 10,
    ),
    *("nvapi-" + "aB3d" * 10, "tvly-dev-aB3daB3daB3daB3d", "pplx-" + "aB3d" * 10),
    *(
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
        "rk_live_a1b2c3d4e5",
    ),
    *("Bearer 0123456789abcdef", "Basic dXNlcjpwYXNzd29yZA==", "-----BEGIN RSA PRIVATE KEY-----"),
    *("postgresql://me:hunter2@db/x", '{"api_key": "a1b2c3d4e5"}', "password=hunter2222"),
    "123456789:AAEhBP0av28abcdefghijklmnopqrstuvwx",
]
# What questions and settings contain, and no key.
TEXTS = [
    *("3fa85f64-5717-4562-b3fc-2c963f66afa6", "9e107d9d372bb6826bd81d3542a419d6" * 2),
    *("1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms", "asst_abc123DEF456ghi789JKL012"),
    *("urn:oasis:names:tc:SAML:2.0:nameid-format:transient", "s3://bucket/2024/05/report_v2.pdf"),
    *(
        "sk-learn",
        "sk-SK",
        "risk-averse2",
        "task-force-Alpha1 and desk-Research2",
        "hf_hub",
        "ghp_",
    ),
    *("Basic understanding of physics", "the bearer of bad news", "token limits of 128000 tokens"),
    *(
        "What is the secret: of Nimh?",
        "password: string",
        "api_key = {key}",
        "http://host:8080/a@b",
    ),
    *("eyJ", "AKIA", "https://example.org/wiki/Key_(cryptography)?id=7#History"),
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_recognised_by_its_form_within_any_text(key):
    assert looks_like_key(key)
    assert looks_like_key(f"Use {key}, please.")
    assert key.split()[-1] not in hide_literal_keys(f"got {key!r}")


@pytest.mark.parametrize("text", TEXTS)
def test_an_ordinary_text_is_not_a_key(text):
    assert not looks_like_key(text)
    assert hide_literal_keys(text) == text


@settings(max_examples=200)
@given(st.binary(min_size=30, max_size=3000))
def test_base64_of_a_file_is_not_a_key(content):
    image = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    assert check_body({"image_url": {"url": image}}) == {"image_url": {"url": image}}


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
def test_no_text_of_real_data_is_a_key(real_data, ending):
    texts = [
        line
        for path in sorted(real_data("README.md").parent.glob(f"*/*.{ending}"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(texts) > 1000
    assert [text[:80] for text in texts if looks_like_key(text)] == []


@pytest.mark.parametrize(
    "name",
    "api_key apiKey API-KEY x-api-key clientSecret password db_password Authorization access_token "
    "accessToken id_token private_key credentials cookie session_token AUTH_TOKEN".split(),
)
def test_a_field_with_the_name_of_a_secret_holds_a_key(name):
    assert is_secret_name(name)
    for value in ("x", "hunter2", 12345678):
        with pytest.raises(DataError, match=r"the body contains a literal API key at 'more\.0"):
            check_body({"more": [{name: value}], "question": "{question}"})
    for value in ("${SOME_KEY}", "Bearer ${SOME_KEY}", "{token}", "", None, True):
        assert check_body({name: value}) == {name: value}


@pytest.mark.parametrize(
    "body",
    [
        {
            "max_tokens": 1024,
            "stop_token": "</s>",
            "pad_token": "<pad>",
            "tokenizer": "cl100k_base",
        },
        {"sort_key": "published_at", "key": "question", "keywords": "{question}", "monkey": "ape"},
        {
            "cache_key": "run-2026-08-01-a1",
            "idempotency_key": "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        },
        {"token": "EOS", "auth": "none", "api_key_env": "RAG_API_KEY", "secret_name": "projects/x"},
        {"author": "A. Keyes", "passage": "{contexts}", "passages": 5, "secretary": "Ann"},
        "Answer the question {question} in 100 tokens.",
        ["{question}", 5, None],
    ],
)
def test_a_field_with_another_name_holds_what_it_likes(body):
    assert check_body(body) == body


def test_what_is_in_a_field_of_secrets_is_a_key_under_any_name():
    with pytest.raises(DataError, match=r"literal API key at 'credentials\.user'"):
        check_body({"credentials": {"user": "me"}})


@pytest.mark.parametrize("place", [{"a": {"b": ["x", KEYS[0]]}}, {KEYS[0]: 1, "b": ""}, KEYS[0]])
def test_a_key_in_a_body_is_refused_and_not_printed(place):
    with pytest.raises(DataError, match=r"the body contains a literal .* write '\$\{RAG_API") as no:
        check_body(place)
    assert KEYS[0] not in str(no.value)


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("http://h/v1/sk-Ab12Cd34Ef56/answer", "path"),
        ("http://h/hooks/T0ab1CD2ef3GH4ij5KL6mn7", "path"),
        ("http://h/v1%2Fsk-Ab12Cd34Ef56", "path"),
        ("http://h/a#sk-Ab12Cd34Ef56", "path"),
        *((f"http://h/a?{name}=hunter2", "query") for name in ("key", "api_key", "token", "sig")),
        ("http://h/a?q={question}&code=hunter2", "query"),
        ("http://h/a?x=sk-Ab12Cd34Ef56", "query"),
        ("http://h?sk-Ab12Cd34Ef56", "query"),
    ],
)
def test_a_key_in_an_address_is_refused_and_not_printed(url, part):
    with pytest.raises(DataError, match=f"url contains a literal API key in its {part}") as caught:
        check_url_template(url)
    assert all(key not in str(caught.value) for key in ("sk-Ab", "hunter2", "T0ab"))


@pytest.mark.parametrize(
    "url",
    [
        "http://h/api/v1/prediction/3fa85f64-5717-4562-b3fc-2c963f66afa6?k=5&q={question}",
        "http://h/openai/deployments/gpt-4o-mini-2024-07-18/chat?api-version=2024-10-21",
        "http://h/9e107d9d372bb6826bd81d3542a419d6/ask?key=${SOME_KEY}&token={token}",
        "http://h/Llama3Prod2025Deployment/collections/Kundenanfragen2026Archiv/query",
        "https://h/${SOME_KEY}/ask#part",
        "http://h/~me/a=b/c+d/v1.2?max_tokens=100&sort_key=published",
    ],
)
def test_an_ordinary_address_is_not_refused(url):
    assert check_url_template(url) == url


def test_a_host_is_not_filled_in():
    with pytest.raises(DataError, match="not in its host"):
        check_url_template("http://${HOST}:8000/ask")


@pytest.mark.parametrize(("name", "value"), [("Authorization", "Bearer x"), ("X-Me", KEYS[0])])
def test_a_key_in_a_header_is_refused_by_name_and_by_form(name, value):
    with pytest.raises(DataError, match=f"the header '{name}' contains a literal API key") as no:
        check_header(name, value)
    assert value not in str(no.value)
