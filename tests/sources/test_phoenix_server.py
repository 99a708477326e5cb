"""Arize Phoenix: what a server of arize-phoenix 20.26.1 answered, served again on a real socket.

Its data set "gold" has three examples and two experiments, with an evaluator that fails on one.
"""

import copy
import json
import math
from pathlib import Path

import pytest

from rageval_report import compare, inspect, rank, read_scores
from rageval_report.errors import ReaderError
from rageval_report.sources import servers
from rageval_report.sources.base import split_address

pytest.importorskip("httpx2", reason="the extra http is not installed")

ANSWERS = json.loads((Path(__file__).parent / "recorded" / "phoenix.json").read_text("utf-8"))
SETS = "/v1/datasets"


@pytest.fixture
def server(recorded_server, monkeypatch):
    monkeypatch.delenv("PHOENIX_API_KEY", raising=False)
    monkeypatch.delenv("PHOENIX_COLLECTOR_ENDPOINT", raising=False)
    recorded_server.answers = copy.deepcopy(ANSWERS)
    return recorded_server


@pytest.fixture
def address(server):
    return f"phoenix://{server.place}"


def test_the_experiments_of_a_data_set_are_evaluations_of_the_same_queries(address):
    runs = read_scores(f"{address}?dataset=gold")
    assert list(runs) == ["v1", "v2"]  # the older one first
    assert runs["v1"].scores["exact"].tolist() == [1, 1, 0]
    assert math.isnan(runs["v1"].scores["fails"].iloc[1])
    assert runs["v1"].created.isoformat() == "2026-11-23T13:25:24+00:00"
    frame = compare(runs["v1"], runs["v2"]).frame.set_index("metric")
    assert frame.loc["exact", ["n", "wins", "losses"]].tolist() == [3, 1, 0]
    assert frame.loc["exact", "difference"] == pytest.approx(1 / 3)
    assert set(rank(f"{address}?dataset=gold").frame["pipeline"]) == {"v1", "v2"}


def test_an_experiment_is_read_by_its_id(address):
    [run] = read_scores(f"{address}?experiment=RXhwZXJpbWVudDox").values()
    assert (run.name, run.n_queries) == ("v1", 3)
    assert "phoenix" in str(inspect(f"{address}?experiment=RXhwZXJpbWVudDox"))


def test_addresses_and_files_can_be_named_together(address, tmp_path):
    path = tmp_path / "v3.csv"
    read_scores(f"{address}?dataset=gold")["v1"].with_name("v3").save(path)
    runs = read_scores([f"{address}?experiment=RXhwZXJpbWVudDox", str(path)])
    assert list(runs) == ["v1", "v3"]
    assert runs["v1"].created == runs["v3"].created
    assert runs["v1"].scores["exact"].equals(runs["v3"].scores["exact"])


def test_the_key_is_sent_and_never_shown(server, address, monkeypatch):
    monkeypatch.setenv("PHOENIX_API_KEY", "px-geheim-1234")
    run = read_scores(f"{address}?dataset=gold")["v1"]
    assert all(head["authorization"] == "Bearer px-geheim-1234" for _, head in server.requests)
    server.answers[SETS] = {"status": 401, "body": {"detail": "wrong key px-geheim-1234"}}
    with pytest.raises(ReaderError, match=r"answered 401: .*\(the key was refused\)") as caught:
        read_scores(f"{address}?dataset=gold")
    shown = [str(caught.value), repr(caught.value.__cause__), *run.notes]
    shown.append(run.evaluation_report().signature)
    assert not [text for text in shown if "geheim" in text]


def test_a_busy_server_is_asked_again(server, address):
    busy = {"status": 503, "body": {}, "headers": {"Retry-After": "2"}}
    server.answers[SETS] = [busy, server.answers[SETS]]
    waits = []
    opened = servers.open_phoenix(split_address(f"{address}?dataset=gold"), sleep=waits.append)
    assert len(opened.sources) == 2
    assert len(waits) == 1
    assert 2 <= waits[0] <= 3


def test_without_a_host_the_variable_names_it(server, monkeypatch):
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", f"http://{server.place}/v1/traces")
    assert list(read_scores("phoenix:/?dataset=gold")) == ["v1", "v2"]


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("?dataset=nope", "there is no data set 'nope'; there is 'gold'"),
        ("?experiment=zzz", "answered 422"),
        ("", "name a dataset or an experiment"),
        ("?experiment=x&dataset=gold", "name a dataset or an experiment"),
        ("?datset=gold", r"no parameter is named 'datset'. Did you mean 'dataset'\?"),
    ],
)
def test_a_wrong_address_says_what_there_is(address, tail, message):
    with pytest.raises(ReaderError, match=message) as caught:
        read_scores(f"{address}{tail}")
    assert str(caught.value).startswith(address)


def test_a_page_that_asks_for_itself_ends(server, address):
    answer = {**server.answers[SETS]["body"], "next_cursor": "U3Bhbjoy"}
    server.answers[SETS] = {"status": 200, "body": answer}
    server.answers[f"{SETS}?cursor={answer['next_cursor']}"] = {"status": 200, "body": answer}
    with pytest.raises(ReaderError, match="repeats a page"):
        read_scores(f"{address}?dataset=gold")


@pytest.mark.parametrize("body", [[], {"rows": []}, {"data": "x"}, {"data": [1]}])
def test_an_answer_of_another_service_is_said(server, address, body):
    server.answers[SETS] = {"status": 200, "body": body}
    with pytest.raises(ReaderError, match="is this the address of the service"):
        read_scores(f"{address}?dataset=gold")


def test_a_host_that_does_not_answer_and_a_password_are_said():
    with pytest.raises(ReaderError, match="no host is named"):
        read_scores("phoenix:/?dataset=gold")
    with pytest.raises(ReaderError, match="do not put credentials in a URL") as caught:
        read_scores("phoenix://eva:geheim@127.0.0.1:1?dataset=gold")
    assert "geheim" not in str(caught.value)
