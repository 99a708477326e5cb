""""""

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report._registry import load
from rageval_report.demo import demo_evaluations
from rageval_report.loggers import content_of
from rageval_report.stats import mean_interval

# mlflow.utils.validation of MLflow 3.17.2
MLFLOW_NAME = re.compile(r"^[/\w.\- :]*$")


@pytest.fixture(scope="module")
def pipelines():
    return demo_evaluations()


def test_an_evaluation_has_the_mean_the_interval_and_the_counts_of_each_metric():
    scores = [0.0, 0.25, 0.5, 1.0]
    data = {"query_id": list("abcde"), "recall@5": [*scores, None], "mrr": [None] * 5}
    content = content_of(RAGPipelineEvaluation("v1", data, metrics=["recall@5", "mrr"]))
    interval = mean_interval(scores, bounds=(0, 1))
    assert content.numbers == {
        "recall_at_5/mean": pytest.approx(1.75 / 4),
        "recall_at_5/ci_low": pytest.approx(interval.low),
        "recall_at_5/ci_high": pytest.approx(interval.high),
        "recall_at_5/n": 4,
        "recall_at_5/n_unscored": 1,
        "mrr/n": 0,
        "mrr/n_unscored": 5,
    }


def test_a_comparison_has_the_differences_and_a_verdict_per_metric():
    ids = [f"q{i}" for i in range(12)]
    before = {"query_id": ids, "recall@5": [i / 12 for i in range(12)], "mrr": [0.5] * 12}
    after = {**before, "recall@5": [i / 24 + 0.5 for i in range(12)]}
    comparison = compare(RAGPipelineEvaluation("a", before), RAGPipelineEvaluation("b", after))
    content = content_of(comparison)
    row = comparison.frame.set_index("metric").loc["recall@5"]
    for figure in ("difference", "ci_low", "ci_high", "pvalue_adjusted", "wins", "losses"):
        assert content.numbers[f"recall_at_5/{figure}"] == row[figure], figure
    assert content.texts["recall_at_5/verdict"] == row["verdict"]
    assert content.texts["report/verdicts"].splitlines() == [
        verdict.text for verdict in comparison.report().verdicts
    ]


def test_gates_are_counted_and_the_reasons_of_those_that_fail_are_kept(pipelines):
    gates = pipelines[0].gate("n(mrr) >= 1", "mean(mrr) >= 0.999", "mean(mrr) <= 0.001")
    content = content_of(pipelines[0], gates)
    assert (content.numbers["gates/n_passed"], content.numbers["gates/n_failed"]) == (1, 2)
    assert content.texts["gates/state"] == "failed"
    assert content.texts["gates/reasons"].splitlines() == gates.frame["why"].tolist()[1:]
    assert "2 of 3 failed" in content.files["gates.md"]


def test_every_name_is_allowed_and_every_number_is_finite(pipelines):
    data = {"query_id": ["a", "b"], "été@10": [0.5, 1], "a/b:c (d)": [1, 0], "..": [0, 1]}
    content = content_of(RAGPipelineEvaluation("v1", data)).with_prefix("my run/")
    names = [*content.numbers, *content.texts, *content.files]
    assert "my run/été_at_10/mean" in names
    assert all(MLFLOW_NAME.match(name) and ".." not in name.split("/") for name in names)
    assert all(name.startswith("my run/") for name in names)
    assert all(math.isfinite(value) for value in content.numbers.values())


REPOSITORY = Path(__file__).parents[2]
EVALUATION = """
import json, sys
from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.loggers import log_to_mlflow, log_to_wandb
v1 = RAGPipelineEvaluation("v 1", {"query_id": list("abcd"), "recall@5": [0.5, 1, 0.75, 0]})
v2 = RAGPipelineEvaluation("v2", {"query_id": list("abcd"), "recall@5": [0.5, 1, 1, 1]})
"""
MEAN = 2.25 / 4
IN_MLFLOW = """
import mlflow
mlflow.set_tracking_uri(sys.argv[1])
mlflow.set_experiment("rag")
first = log_to_mlflow(v1, gates=v1.gate("min(recall@5) >= 0.1"))
assert mlflow.active_run() is None
with mlflow.start_run(run_name="mine") as run:
    assert log_to_mlflow(v2, prefix="v2/") == run.info.run_id
    assert log_to_mlflow(compare(v1, v2), prefix="compared/") == run.info.run_id
    assert mlflow.active_run().info.run_id == run.info.run_id
client = mlflow.MlflowClient()
told = {}
for run in map(client.get_run, (first, run.info.run_id)):
    artifacts = [a.path for f in ("", "v2", "compared") for a in
                 client.list_artifacts(run.info.run_id, f) if not a.is_dir]
    told[run.info.run_name] = {"metrics": run.data.metrics, "tags": run.data.tags,
        "artifacts": artifacts, "status": run.info.status}
page = mlflow.artifacts.load_text(f"runs:/{first}/report.html")
print(json.dumps({**told, "page": page}))
"""
IN_WANDB = """
import wandb
first = log_to_wandb(v1)
assert wandb.run is None
with wandb.init(name="mine") as run:
    assert log_to_wandb(compare(v1, v2), prefix="compared/") == run.id
    assert wandb.run is run
print(json.dumps([first, run.id]))
"""


def needs(package):
    # Not imported here: both change settings of the process, and start others.
    is_missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(is_missing, reason=f"{package} is not installed")


def run(folder, program, *words):
    settings = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]),
        # Nothing leaves this machine, and everything is written into one folder.
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_ERROR_REPORTING": "false",
        **{f"WANDB_{name}": str(folder) for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR")},
    }
    done = subprocess.run(
        [sys.executable, "-c", EVALUATION + program, *words],
        env=settings,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs("mlflow")
def test_mlflow_has_metrics_tags_and_artifacts(tmp_path):
    told = run(tmp_path, IN_MLFLOW, (tmp_path / "store").as_uri())
    alone, mine = told["v 1"], told["mine"]
    assert alone["metrics"]["recall_at_5/mean"] == MEAN
    assert alone["metrics"]["recall_at_5/ci_low"] < MEAN < alone["metrics"]["recall_at_5/ci_high"]
    assert (alone["metrics"]["recall_at_5/n"], alone["metrics"]["gates/n_failed"]) == (4, 1)
    assert (alone["tags"]["gates/state"], alone["status"]) == ("failed", "FINISHED")
    assert sorted(alone["artifacts"]) == ["gates.md", "report.html", "results.json"]
    assert "<html" in told["page"]
    assert mine["metrics"]["v2/recall_at_5/mean"] == 3.5 / 4
    assert mine["metrics"]["compared/recall_at_5/difference"] == pytest.approx(1.25 / 4)
    assert mine["tags"]["compared/recall_at_5/verdict"]
    assert set(mine["artifacts"]) >= {"v2/report.html", "compared/results.json"}


@needs("wandb")
def test_wandb_has_a_summary_and_an_artifact(tmp_path):
    first, second = run(tmp_path, IN_WANDB)
    summary, artifacts, name = read_offline_run(tmp_path, first)
    assert name == "v 1"
    assert summary["recall_at_5/mean"] == MEAN
    assert summary["recall_at_5/n"] == 4
    assert summary["report/verdicts"]
    [(artifact, files)] = artifacts
    assert artifact == "v-1"
    assert set(files) == {"report.html", "results.json"}
    assert "<html" in Path(files["report.html"]).read_text("utf-8")
    summary, [(artifact, files)], name = read_offline_run(tmp_path, second)
    assert (name, artifact) == ("mine", "compared-v2-against-v-1")
    assert summary["compared/recall_at_5/difference"] == pytest.approx(1.25 / 4)
    assert summary["compared/recall_at_5/verdict"]
    assert set(files) == {"compared/report.html", "compared/results.json"}


def read_offline_run(folder, run_id):
    """The summary, the artifacts and the name in the file of an offline run."""
    records_pb = load("wandb.proto.wandb_internal_pb2")
    [path] = (folder / "wandb").glob(f"offline-run-*-{run_id}/run-{run_id}.wandb")
    summary, artifacts, name = {}, [], ""
    for data in log_records(path.read_bytes()):
        record = records_pb.Record.FromString(data)
        for item in record.summary.update:
            key = item.key or "/".join(item.nested_key)
            summary[key] = json.loads(item.value_json)
        name = record.run.display_name or name
        request = record.request.log_artifact
        artifact = record.artifact if record.HasField("artifact") else request.artifact
        if artifact.name:
            contents = artifact.manifest.contents
            files = {entry.path: entry.local_path for entry in contents}
            artifacts.append((artifact.name, files))
    return summary, artifacts, name


def log_records(data):
    """The records of a log of LevelDB, whose blocks of 32 KiB begin with a header of W&B."""
    place, parts = 7, []
    while place + 7 <= len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left  # too little for a header: zeros
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        parts.append(data[place + 7 : place + 7 + size])
        place += 7 + size
        if kind in (1, 4):  # a whole record, or its last part
            yield b"".join(parts)
            parts = []
