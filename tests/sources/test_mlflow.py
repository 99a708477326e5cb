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

from rageval_report import RAGPipelineEvaluation, compare, read_scores
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
from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores
from rageval_report.run_history import read_runs
tracking = sys.argv[1]
os.environ["MLFLOW_TRACKING_URI"] = tracking
seen = {}
def evaluation(name, recall, day):
    data = {"query_id": list("abcdefgh"), "recall@5": recall, "a:b": [1, 0] * 4, "a/b": [0.5] * 8,
            "answer": list("ABCDEFGH"), "contexts": [["x"], []] * 4}
    return RAGPipelineEvaluation(name, data, config={"k": 5}, created=day)
v1 = evaluation("v 1", [0.5, 1, 0.75, 0, np.nan, 1, 1, 1], "2026-08-01")
v2 = evaluation("v2", [0.5, 1, 1, 1, 1, 1, 1, 0.75], "2026-08-02")

one, two = v1.save("mlflow:/rag"), v2.save("mlflow:/rag")
back = RAGPipelineEvaluation.load(None, one)
pd.testing.assert_frame_equal(back.scores, v1.scores)
pd.testing.assert_frame_equal(back.details, v1.details)
seen["same"] = [back.name == v1.name, back.metrics == v1.metrics, back.config == v1.config,
                back.created == v1.created, back.correct_rule == v1.correct_rule]
runs = read_scores(f"mlflow:/rag?tracking={tracking}")
seen["runs"] = {name: [len(run.scores), list(run.notes)] for name, run in runs.items()}
seen["ranked"] = rank("mlflow:/rag").frame["pipeline"].tolist()
seen["history"] = [str(run.created.date()) for run in read_runs("mlflow:/rag").runs]
compared = compare(v1, v2).save("mlflow:/compared")
first, second = read_scores(compared).values()
seen["compared"] = compare(first, second).frame.equals(compare(v1, v2).frame)

import mlflow
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=tracking)
run = client.get_run(one.split("/")[1].split("?")[0])
seen["metrics"], seen["status"] = run.data.metrics, run.info.status
seen["names"] = run.data.tags["report/names"]
seen["artifacts"] = [item.path for item in client.list_artifacts(run.info.run_id)]
seen["numbers"] = v1.evaluation_report().frame.set_index("metric")[
    ["mean", "ci_low", "ci_high"]].loc["recall@5"].to_dict()
seen["settings"] = [name for name in os.environ if name in (
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR")]

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
addresses = ["mlflow:/nope", "runs:/0123abcd", f"{one}/none.csv", "mlflow:/Default",
             "mlflow:/other?artifact=a.csv", "mlflow:/other?filter=nonsense here"]
seen["errors"] = {a.replace(one, "ONE"): message(lambda: list(read_scores(a))) for a in addresses}
seen["overwrite"] = message(lambda: v1.save("mlflow:/rag", overwrite=True))

# a save that fails leaves no run that is read
client_type = type(client)
kept = client_type.log_artifacts
def refuse(self, *args, **keywords):
    raise mlflow.exceptions.MlflowException("the disk is full")
client_type.log_artifacts = refuse
seen["failed save"] = message(lambda: v1.save("mlflow:/rag"))
client_type.log_artifacts = kept
seen["runs after"] = len(read_scores("mlflow:/rag"))

# a GenAI evaluation has no table: its scores are assessments of traces
os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
os.environ["MLFLOW_ENABLE_ASYNC_TRACE_LOGGING"] = "false"
mlflow.set_tracking_uri(tracking)
mlflow.set_experiment("traced")
with mlflow.start_run(run_name="judged"):
    for number, question in enumerate(("a?", "b?", "c?")):
        with mlflow.start_span("query") as span:
            span.set_inputs({"question": question, "query_id": f"q{number}"})
            span.set_outputs(question.upper())
        feedback = {"value": bool(number), "rationale": f"because {number}"}
        if number == 2:
            feedback = {"error": mlflow.entities.AssessmentError("E", "no judge")}
        mlflow.log_feedback(trace_id=span.trace_id, name="correct", **feedback)
        mlflow.log_expectation(trace_id=span.trace_id, name="expected_response", value="X")
judged = read_scores("mlflow:/traced")["judged"]
seen["judged"] = {
    "scores": judged.scores["correct"].fillna(-1).to_dict(),
    "states": judged.states["correct"].to_dict(),
    "q1": judged.details.loc[
        "q1", ["question", "answer", "reference", "correct_reason"]].tolist(),
}
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
    """What a program sees that saves to a store and reads from it."""
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


def test_a_saved_evaluation_reads_back_equal(seen):
    assert seen["same"] == [True] * 5
    assert seen["status"] == "FINISHED"


def test_a_run_has_means_with_their_limits_the_page_and_the_scores(seen):
    logged = {name: seen["metrics"][f"recall_at_5/{name}"] for name in ("mean", "ci_low")}
    assert logged["mean"] == (0.5 + 1 + 0.75 + 0 + 1 + 1 + 1) / 7
    assert logged["ci_low"] == seen["numbers"]["ci_low"] < logged["mean"]
    assert seen["metrics"]["recall_at_5/ci_high"] == seen["numbers"]["ci_high"]
    assert seen["metrics"]["recall_at_5/n_unscored"] == 1
    usual = ["report.html", "results.json", "scores.csv", "scores.csv.meta.json"]
    assert sorted(seen["artifacts"]) == usual


def test_names_that_mlflow_refuses_are_said(seen):
    assert seen["names"].splitlines() == ["recall_at_5: recall@5", "a_b: a:b", "a_b_2: a/b"]


def test_an_experiment_is_one_evaluation_per_run(seen):
    assert list(seen["runs"]) == ["v 1", "v2"]
    assert all(n == 8 for n, _ in seen["runs"].values())
    assert "because each run of MLflow is an evaluation" in seen["runs"]["v2"][1][0]
    assert sorted(set(seen["ranked"])) == ["v 1", "v2"]
    assert seen["history"] == ["2026-08-01", "2026-08-02"]


def test_a_saved_comparison_gives_the_same_comparison(seen):
    assert seen["compared"] is True


def test_tables_of_others_are_read_with_the_parameters_and_the_time_of_the_run(seen):
    assert seen["others"] == {
        "evaluated": [[0.25, 0.75], {"k": "7"}, True],
        "plain": [[1.0, 0.5], {}, True],
    }
    [note] = [note for note in seen["left out"] if "no table of scores" in note]
    assert note.startswith("3 runs have no table of scores and are left out: 'twice', 'inside'")
    assert "several artifacts may be one: 'a.csv', 'b.csv'; ?artifact= chooses" in note
    assert seen["inside"] == ["inside", [0.5, 0.0]]


def test_a_run_without_a_table_is_read_from_the_assessments_of_its_traces(seen):
    judged = seen["judged"]
    assert judged["scores"] == {"q0": 0, "q1": 1, "q2": -1}
    assert judged["states"] == {"q0": "scored", "q1": "scored", "q2": "failed"}
    assert judged["q1"] == ["b?", "B?", "X", "because 1"]


def test_errors_say_what_there_is(seen):
    errors = seen["errors"]
    assert "there is no experiment 'nope'; the store has" in errors["mlflow:/nope"]
    assert "MLflow says:" in errors["runs:/0123abcd"]
    missing = errors["ONE/none.csv"]
    assert "there is no artifact 'none.csv'; it has 'report.html', 'results.json'" in missing
    assert "has no run" in errors["mlflow:/Default"]
    assert errors["mlflow:/other?artifact=a.csv"] == "no error"
    assert "MLflow says:" in errors["mlflow:/other?filter=nonsense here"]
    assert all(text.startswith("ReaderError") for text in errors.values() if text != "no error")
    assert "every save makes a new run" in seen["overwrite"]


def test_a_save_that_fails_leaves_no_run(seen):
    assert "the disk is full" in seen["failed save"]
    assert seen["runs after"] == 2


def test_settings_of_the_process_stay_as_they_are(seen):
    assert seen["settings"] == []


# -- without a store


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mlflow:/", "no experiment is named; expected mlflow:/EXPERIMENT"),
        ("runs:/", "no run is named; expected runs:/RUN_ID"),
        ("mlflow:/rag?trackin=x", r"no parameter is named 'trackin'. Did you mean 'tracking'\?"),
        ("mlflow:/rag?tracking=http://127.0.0.1:99999", "has no valid port"),
    ],
)
def test_a_wrong_address_is_refused_before_a_store_is_asked(address, message):
    with pytest.raises(ReaderError, match=message):
        read_scores(address)


def test_a_server_that_does_not_run_is_said_at_once_without_the_password():
    address = f"mlflow:/rag?tracking=http://eva:geheim@127.0.0.1:{free_port()}"
    with pytest.raises(ReaderError, match=r"cannot be reached .* is it running\?") as caught:
        read_scores(address)
    assert "geheim" not in f"{caught.value}{caught.value.__cause__!r}"


def test_without_mlflow_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"rageval-report\[mlflow\]"):
        load("mlflow")


def test_a_comparison_is_saved_to_files_as_before(tmp_path):
    data = {"query_id": ["a", "b"], "recall": [0.5, 1]}
    runs = [RAGPipelineEvaluation(name, data) for name in ("v1", "v2")]
    path = compare(*runs).save(tmp_path / "compared.csv")
    assert path.read_text("utf-8").startswith("metric,baseline")


def test_an_address_is_split_as_mlflow_writes_it():
    address = split_address("mlflow:/my%20rag/nightly?tracking=http://h:5000")
    assert (address.scheme, address.place) == ("mlflow", "my rag/nightly")
    assert address.parameters == {"tracking": "http://h:5000"}
