"""MLflow: real stores, each in a process of its own, because MLflow changes settings of a process.

A folder is a store that mlflow-skinny opens. The server and the database need the whole package,
mlflow: in this environment, or in that of the interpreter that RAGEVAL_MLFLOW_PYTHON names, which
then serves while mlflow-skinny of this environment asks.
"""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError, ReaderError
from rageval_report.sources.base import split_address

REPOSITORY = Path(__file__).parents[2]
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
}
PROGRAM = """
import json, math, os, sys
import numpy as np, pandas as pd
from rageval_report import read_scores
tracking = sys.argv[1]
os.environ["MLFLOW_TRACKING_URI"] = tracking
seen = {}
import mlflow
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=tracking)

# what others log
other = client.create_experiment("other")
def log(name, files, **params):
    run = client.create_run(other, run_name=name)
    for key, value in params.items():
        client.log_param(run.info.run_id, key, value)
    for path, text in files.items():
        client.log_text(run.info.run_id, text, path)
    return run.info.run_id
table = {"columns": ["inputs", "query_id", "toxicity/v1/score"],
         "data": [["a?", "q1", 0.25], ["b?", "q2", 0.75]]}
log("evaluated", {"eval_results_table.json": json.dumps(table), "notes.txt": "x"}, k="7")
log("plain", {"scores-of-mine.csv": "query_id,mrr\\nq1,1\\nq2,0.5\\n", "page.html": "<p>"})
log("twice", {"a.csv": "query_id,mrr\\nq1,1\\n", "b.csv": "query_id,mrr\\nq1,0\\n"})
inside = log("inside", {"deep/er/mine.csv": "query_id,mrr\\nq1,0.5\\nq2,0\\n"})
log("blank", {})
others = read_scores("mlflow:/other")
seen["others"] = {name: [run.scores.iloc[:, 0].tolist(), run.config, run.created is not None]
                  for name, run in others.items()}
seen["left out"] = others["plain"].notes
[deep] = read_scores(f"runs:/{inside}/deep/er/mine.csv").values()
seen["inside"] = [deep.name, deep.scores["mrr"].tolist()]

def message(call):
    try:
        return call() and "no error"
    except Exception as exc:
        return f"{type(exc).__name__}: {exc}"
seen["tracked"] = list(read_scores(f"mlflow:/other?tracking={tracking}"))
one = f"runs:/{inside}"
addresses = ["mlflow:/nope", "runs:/0123abcd", f"{one}/none.csv", "mlflow:/Default",
             "mlflow:/other?artifact=a.csv"]
seen["errors"] = {a.replace(one, "ONE"): message(lambda: list(read_scores(a))) for a in addresses}
print(json.dumps(seen))
"""


def whole_package():
    """An interpreter with the whole package, mlflow; a test without one is skipped."""
    named = os.environ.get("RAGEVAL_MLFLOW_PYTHON")
    if named:
        return named
    if any(importlib.util.find_spec(name) is None for name in ("alembic", "fastapi", "uvicorn")):
        pytest.skip("needs the whole package mlflow; mlflow-skinny has no server and no database")
    return sys.executable


def environment():
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, **SETTINGS, "PYTHONPATH": os.pathsep.join(paths)}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_for(server, port, folder, seconds=180):
    until = time.monotonic() + seconds
    while not answers(port):
        if server.poll() is not None or time.monotonic() > until:
            pytest.fail(f"mlflow server does not answer: {(folder / 'log').read_text()[-2000:]}")
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=0.2)


@pytest.fixture(scope="module", params=["folder", "server", "database"])
def seen(request, tmp_path_factory):
    """What a program sees that logs to a store and reads from it."""
    if importlib.util.find_spec("mlflow") is None:
        pytest.skip("mlflow is not installed")
    folder = tmp_path_factory.mktemp("mlflow")
    if request.param == "folder":
        yield run(sys.executable, folder, (folder / "store").as_uri())
        return
    python = whole_package()  # for the database: with the dependencies of this library too
    database = f"sqlite:///{folder}/mlflow.db"
    if request.param == "database":
        yield run(python, folder, database)
        return
    port = free_port()
    command = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--backend-store-uri", database, "--workers", "1"]
    command += ["--artifacts-destination", str(folder / "artifacts")]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **SETTINGS}, start_new_session=True
        )
    try:
        wait_for(server, port, folder)
        yield run(sys.executable, folder, f"http://127.0.0.1:{port}")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(timeout=30)


def run(python, folder, tracking):
    done = subprocess.run(
        [python, "-c", PROGRAM, tracking],
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1, lines  # MLflow writes links to runs to standard output
    assert "Downloading" not in done.stderr
    return json.loads(lines[0])


def test_an_experiment_is_one_evaluation_per_run(seen):
    assert seen["tracked"] == ["evaluated", "plain"]


def test_tables_of_others_are_read_with_the_parameters_and_the_time_of_the_run(seen):
    assert seen["others"] == {
        "evaluated": [[0.25, 0.75], {"k": "7"}, True],
        "plain": [[1.0, 0.5], {}, True],
    }
    [note] = [note for note in seen["left out"] if "a table of scores" in note]
    assert note.startswith("3 runs without a table of scores are left out: 'twice', 'inside'")
    assert "several artifacts may be one: 'a.csv', 'b.csv'; ?artifact= chooses" in note
    assert seen["inside"] == ["inside", [0.5, 0.0]]


def test_errors_say_what_there_is(seen):
    errors = seen["errors"]
    assert "there is no experiment 'nope'; the store has" in errors["mlflow:/nope"]
    assert "MLflow says:" in errors["runs:/0123abcd"]
    missing = errors["ONE/none.csv"]
    assert "there is no artifact 'none.csv'" in missing
    assert "has no run" in errors["mlflow:/Default"]
    assert errors["mlflow:/other?artifact=a.csv"] == "no error"
    assert all(text.startswith("ReaderError") for text in errors.values() if text != "no error")


# -- without a store


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mlflow:/", "no experiment is named; expected mlflow:/EXPERIMENT"),
        ("runs:/", "no run is named; expected runs:/RUN_ID"),
        ("mlflow:/rag?trackin=x", r"no parameter is named 'trackin'. Did you mean 'tracking'\?"),
    ],
)
def test_a_wrong_address_is_refused_before_a_store_is_asked(address, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(address)


def test_without_mlflow_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"rageval-report\[mlflow\]"):
        load("mlflow")


def test_an_address_is_split_as_mlflow_writes_it():
    address = split_address("mlflow:/my%20rag/nightly?tracking=http://h:5000")
    assert (address.scheme, address.place) == ("mlflow", "my rag/nightly")
    assert address.parameters == {"tracking": "http://h:5000"}
