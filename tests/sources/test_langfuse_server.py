"""Langfuse: answers as its published API describes them, on a real socket.

The forms are those of langfuse/langfuse, fern/apis/server/definition: scores.yml (version 2),
scores-v3.yml, trace.yml, datasets.yml, dataset-items.yml, experiments.yml, utils/pagination.yml.
"""

import base64

import pytest

from rageval_report import compare, read_scores
from rageval_report.errors import ReaderError
from rageval_report.sources import servers
from rageval_report.sources.base import split_address

pytest.importorskip("httpx2", reason="the extra http is not installed")

PUBLIC, SECRET = "pk-lf-0001", "sk-lf-geheim-0002"
DAY = "2026-08-01T10:00:00.000Z"


def answer(body, status=200, **headers):
    return {"status": status, "body": body, "headers": headers}


def score(trace, name, value, kind="NUMERIC", **fields):
    is_word = kind in ("CATEGORICAL", "TEXT")
    words = {"BOOLEAN": {1: "True", 0: "False"}.get(value), "NUMERIC": None}
    return {
        "id": f"{trace}-{name}-{value}",
        "traceId": trace,
        "name": name,
        "source": "EVAL",
        "observationId": None,
        "sessionId": None,
        "datasetRunId": None,
        "comment": None,
        "timestamp": DAY,
        "createdAt": DAY,
        "updatedAt": DAY,
        "environment": "default",
        "dataType": kind,
        "value": None if is_word else value,
        "stringValue": value if is_word else words[kind],
        "trace": {"userId": None, "tags": [], "environment": "default", "sessionId": None},
        **fields,
    }


def page(rows, number=1, pages=1):
    meta = {"page": number, "limit": 100, "totalItems": len(rows) * pages, "totalPages": pages}
    return answer({"data": rows, "meta": meta})


def trace(name, question, text):
    return {
        "id": name,
        "timestamp": DAY,
        "name": "rag",
        "input": {"question": question},
        "output": text,
        "tags": [],
        "latency": 0.5,
        "totalCost": 0,
        "scores": [],
    }


SCORES = [
    score("t1", "faithfulness", 0.25, comment="half of it"),
    score("t1", "correct", 1, "BOOLEAN"),
    score("t1", "tone", "polite", "CATEGORICAL"),
    score("t2", "faithfulness", 1.0),
    score("t2", "correct", 0, "BOOLEAN"),
    score("t2", "feedback", "too long", "TEXT"),
    score("t1", "helpful", 1.0, source="ANNOTATION"),
    score("t1", "helpful", 0.5, source="ANNOTATION"),
    score(None, "overall", 0.9, sessionId=None, datasetRunId="run-1"),
]
TRACES = [trace("t0", "unscored?", "-"), trace("t2", "What is B?", "B"), trace("t1", "And A?", "A")]
QUERY = "/api/public/v2/scores?limit=100"


@pytest.fixture
def server(recorded_server, monkeypatch):
    """A server of Langfuse 3, whose scores are on two pages."""
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", PUBLIC)
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", SECRET)
    monkeypatch.delenv("LANGFUSE_HOST", raising=False)
    monkeypatch.delenv("LANGFUSE_BASE_URL", raising=False)
    recorded_server.answers = {
        "/api/public/v2/scores?limit=1": page(SCORES[:1], 1, 9),
        QUERY: page(SCORES[:5], 1, 2),
        f"{QUERY}&page=2": page(SCORES[5:], 2, 2),
        "/api/public/traces?limit=100": page(TRACES[:2], 1, 2),
        "/api/public/traces?limit=100&page=2": page(TRACES[2:], 2, 2),
    }
    return recorded_server


@pytest.fixture
def address(server):
    return f"langfuse+http://{server.place}"


def test_scores_of_all_kinds_become_one_row_per_trace(server, address):
    [run] = read_scores(address).values()
    assert run.scores["faithfulness"].to_dict() == {"t1": 0.25, "t2": 1.0}
    assert run.scores["correct"].to_dict() == {"t1": 1, "t2": 0}
    assert run.scores["helpful"].fillna(-1).to_dict() == {"t1": (1.0 + 0.5) / 2, "t2": -1}
    assert run.details["tone_label"].fillna("-").tolist() == ["polite", "-"]
    assert run.details["feedback_label"].fillna("-").tolist() == ["-", "too long"]
    assert run.details["question"].tolist() == ["And A?", "What is B?"]
    assert run.details["answer"].tolist() == ["A", "B"]
    notes = " ".join(run.notes)
    assert "averaged, because a row has several scores of one name: 'helpful'" in notes
    assert "1 scores belong to no trace and are left out" in notes
    assert f"{QUERY}&page=2" in [path for path, _ in server.requests]


def test_the_keys_are_sent_and_shown_nowhere(server, address):
    [run] = read_scores(address).values()
    pair = base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode()
    assert {head["authorization"] for _, head in server.requests} == {f"Basic {pair}"}
    message = f"Invalid credentials {SECRET} ({pair})"
    server.answers["/api/public/v3/scores?limit=1"] = answer({"message": message}, 401)
    with pytest.raises(ReaderError, match=r"answered 401: .*\(the key was refused\)") as caught:
        read_scores(address)
    shown = [str(caught.value), repr(caught.value.__cause__), run.evaluation_report().signature]
    shown += [*run.notes, repr(run), str(run.evaluation_report())]
    assert not [text for text in shown for key in (SECRET, PUBLIC, pair) if key in text]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_after_the_time_that_it_says(server, address, status):
    busy = answer({"message": "busy"}, status, **{"Retry-After": "3"})
    server.answers[QUERY] = [busy, busy, server.answers[QUERY]]
    waits = []
    opened = servers.open_langfuse(split_address(address), sleep=waits.append)
    assert len(opened.sources) == 1
    assert len(waits) == 2
    assert all(3 <= wait <= 4 for wait in waits)


def test_a_server_that_stays_busy_is_an_error(server, address):
    server.answers[QUERY] = answer({"message": "busy"}, 503)
    with pytest.raises(ReaderError, match=r"answered 503: busy; given up after 5 attempts"):
        servers.open_langfuse(split_address(address), sleep=lambda seconds: None)


def test_filters_are_those_of_the_api(server, address):
    query = "limit=100&fromTimestamp=2026-08-01&environment=production"
    server.answers[f"/api/public/v2/scores?{query}"] = page(SCORES[:2])
    [run] = read_scores(f"{address}?from=2026-08-01&environment=production").values()
    assert run.n_queries == 1
    assert "question" not in run.details  # the server has no list of traces for that time


# -- runs of data sets


def run_of(number):
    return {"id": f"r{number}", "name": f"v{number}", "datasetName": "gold", "datasetId": "d1",
            "createdAt": f"2026-08-0{number}T00:00:00.000Z", "metadata": None}  # fmt: skip


def with_items(number, traces):
    items = [
        {"id": name, "datasetRunId": f"r{number}", "datasetItemId": item, "traceId": name}
        for item, name in traces.items()
    ]
    return answer({**run_of(number), "datasetRunItems": items})


@pytest.fixture
def dataset(server):
    """Two runs of three items; one item of the second run has no score."""
    scores = [score(f"{run}{item}", "correct", value, "BOOLEAN") for run, item, value in (
        ("a", 1, 0), ("a", 2, 1), ("a", 3, 0), ("b", 1, 1), ("b", 2, 1))]  # fmt: skip
    items = [{"id": f"i{n}", "input": {"question": f"Q{n}?"}, "expectedOutput": f"A{n}"}
             for n in (1, 2, 3)]  # fmt: skip
    runs = "/api/public/datasets/gold%20set/runs"
    server.answers |= {
        QUERY: page([*scores, *SCORES]),
        f"{runs}?limit=1": page([run_of(2)], 1, 2),
        f"{runs}?limit=100": page([run_of(2), run_of(1)]),
        f"{runs}/v1": with_items(1, {"i1": "a1", "i2": "a2", "i3": "a3"}),
        f"{runs}/v2": with_items(2, {"i1": "b1", "i2": "b2", "i3": "b3"}),
        "/api/public/dataset-items?datasetName=gold+set&limit=100": page(items),
        "/api/public/v2/datasets?limit=100": page([{"id": "d1", "name": "gold set"}]),
    }
    return server


def test_the_runs_of_a_data_set_are_compared_by_its_items(dataset, address):
    runs = read_scores(f"{address}?dataset=gold set")
    assert list(runs) == ["v1", "v2"]
    assert runs["v1"].created.isoformat() == "2026-08-01T00:00:00+00:00"
    assert runs["v1"].details["question"].tolist() == ["Q1?", "Q2?", "Q3?"]
    assert runs["v2"].details.loc["i3", "reference"] == "A3"
    # the item without a score is a query without a score
    assert runs["v2"].scores["correct"].fillna(-1).to_dict() == {"i1": 1, "i2": 1, "i3": -1}
    row = compare(runs["v1"], runs["v2"]).frame.iloc[0]
    assert (row["n"], row["n_dropped"], row["wins"], row["losses"]) == (2, 1, 1, 0)


def test_one_run_is_read_by_its_name(dataset, address):
    [run] = read_scores(f"{address}?dataset=gold set&run=v2").values()
    assert (run.name, run.n_queries) == ("v2", 3)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("?dataset=silver", "there is no data set 'silver'; there is 'gold set'"),
        (
            "?dataset=gold set&run=v9",
            "there is no run 'v9' of the data set; there is 'v[12]', 'v[12]'",
        ),
        ("?run=v1", "so dataset= is needed"),
        ("?datset=gold", r"no parameter is named 'datset'. Did you mean 'dataset'\?"),
    ],
)
def test_a_wrong_address_says_what_there_is(dataset, address, tail, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(f"{address}{tail}")


# -- Langfuse 4


def newer(row, kind="trace"):
    """A score in the form of version 3 of the API."""
    is_word = row["dataType"] in ("CATEGORICAL", "TEXT")
    value = bool(row["value"]) if row["dataType"] == "BOOLEAN" else row["value"]
    subject = {"kind": kind, "id": row["traceId"]}
    if kind == "observation":
        subject = {"kind": kind, "id": f"o-{row['traceId']}", "traceId": row["traceId"]}
    kept = ("id", "name", "source", "timestamp", "environment", "dataType", "comment")
    words = {"value": row["stringValue"] if is_word else value, "subject": subject}
    return {**{name: row[name] for name in kept}, "projectId": "p", **words}


def cursor_page(rows, cursor=None):
    return answer({"data": rows, "meta": {"limit": 100, **({"cursor": cursor} if cursor else {})}})


@pytest.fixture
def newer_server(server):
    query = "/api/public/v3/scores?limit=100&fields=details%2Csubject"
    rows = [newer(row) for row in SCORES if row["traceId"]]
    server.answers = {
        "/api/public/v3/scores?limit=1": cursor_page(rows[:1], "x"),
        query: cursor_page(rows[:4], "bmV4dA=="),
        f"{query}&cursor=bmV4dA%3D%3D": cursor_page(rows[4:]),
    }
    return server


def test_scores_of_version_3_are_the_same(newer_server, address):
    [run] = read_scores(address).values()
    assert run.scores["faithfulness"].to_dict() == {"t1": 0.25, "t2": 1.0}
    assert run.scores["correct"].to_dict() == {"t1": 1, "t2": 0}
    assert run.details["tone_label"].fillna("-").tolist() == ["polite", "-"]
    assert run.details.loc["t1", "faithfulness_reason"] == "half of it"


def test_scores_of_observations_belong_to_their_trace(newer_server, address):
    rows = [newer(score("t1", "relevance", 0.5), "observation"), newer(SCORES[0])]
    query = "/api/public/v3/scores?limit=100&fields=details%2Csubject"
    newer_server.answers[query] = cursor_page(rows)
    [run] = read_scores(address).values()
    assert run.scores.loc["t1"].to_dict() == {"relevance": 0.5, "faithfulness": 0.25}


def test_experiments_take_the_place_of_runs(newer_server, address):
    items = [
        {"id": f"s{trace}", "traceId": trace, "startTime": DAY, "experimentId": f"e-{name}",
         "experimentName": name, "experimentItemId": "i1", "input": "Q?", "output": "A",
         "expectedOutput": "B"}
        for trace, name in (("t1", "v1"), ("t2", "v2"))
    ]  # fmt: skip
    newer_server.answers |= {
        "/api/public/v2/datasets/gold": answer({"id": "d1", "name": "gold"}),
        "/api/public/experiment-items?datasetId=d1&fromStartTime=1970-01-01T00%3A00%3A00Z"
        "&fields=core%2Cdataset%2Cio&limit=100": cursor_page(items),
    }
    runs = read_scores(f"{address}?dataset=gold")
    assert {name: run.scores["faithfulness"].to_dict() for name, run in runs.items()} == {
        "v1": {"i1": 0.25},
        "v2": {"i1": 1.0},
    }
    assert runs["v1"].details.loc["i1", ["question", "answer", "reference"]].tolist() == [
        "Q?",
        "A",
        "B",
    ]


# -- bad input


@pytest.mark.parametrize("name", ["LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"])
def test_a_missing_key_is_named(address, monkeypatch, name):
    monkeypatch.delenv(name)
    with pytest.raises(ReaderError, match=f"the environment variable {name} is not set"):
        read_scores(address)


def test_a_key_that_cannot_be_sent_is_said_without_it(address, monkeypatch):
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk geheim")
    with pytest.raises(ReaderError, match="LANGFUSE_SECRET_KEY is empty, or contains") as caught:
        read_scores(address)
    assert "geheim" not in str(caught.value)


def test_another_server_is_said(server, address):
    server.answers = {}
    with pytest.raises(ReaderError, match="is this the address of the service"):
        read_scores(address)


def test_a_project_without_scores_is_said(server, address):
    server.answers[QUERY] = page([])
    with pytest.raises(ReaderError, match="there are no scores"):
        read_scores(address)


def test_the_host_is_that_of_the_variable_and_encrypted_by_default(server, monkeypatch):
    monkeypatch.setenv("LANGFUSE_HOST", f"http://{server.place}")
    [run] = read_scores("langfuse:/").values()
    assert run.n_queries == 2
