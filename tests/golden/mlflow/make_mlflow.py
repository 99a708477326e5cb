"""Write tables of MLflow with scorers that work by rote, and the figures it reports of them.

pip install mlflow==3.17.2
python tests/golden/mlflow/make_mlflow.py

``eval_results_table.json`` is the artifact of `mlflow.models.evaluate`; ``result_df.csv`` and
``result_df.json`` are the frame of `mlflow.genai.evaluate`: a scorer that raises on q3, one that
says yes and no, and one whose labels are no scores.
"""

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}

import mlflow
import pandas as pd
from mlflow.entities import Feedback
from mlflow.genai.scorers import scorer
from mlflow.metrics import MetricValue, make_metric

HERE = Path(__file__).parent
N = range(1, 5)
EXPECTED = {n: f"a{min(n, 2)}" for n in N}


def agree(predictions, targets):
    same = [one == other for one, other in zip(predictions, targets, strict=True)]
    return MetricValue(
        scores=[1.0 if one else 0.25 for one in same],
        justifications=["the same" if one else "they differ" for one in same],
        aggregate_results={"mean": 0.625},
    )


def length(predictions, targets):
    scores = [None if one == "a3" else len(one) for one in predictions]
    return MetricValue(scores=scores, aggregate_results={"mean": 2.0})


def marks(predictions, targets):
    return MetricValue(
        scores=[5, 4, 1, 2], justifications=["as marked"] * 4, aggregate_results={"mean": 3.0}
    )


def table(folder):
    data = pd.DataFrame(
        {
            "query_id": [f"q{n}" for n in N],
            "inputs": [f"Question {n}?" for n in N],
            "ground_truth": [EXPECTED[n] for n in N],
            "predictions": [f"a{n}" for n in N],
        }
    )
    metrics = [
        make_metric(eval_fn=agree, greater_is_better=True, name="agree", version="v1"),
        make_metric(eval_fn=marks, greater_is_better=True, name="faithfulness", version="v1"),
        make_metric(eval_fn=length, greater_is_better=False, name="length"),
    ]
    with mlflow.start_run():
        result = mlflow.models.evaluate(
            data=data, predictions="predictions", targets="ground_truth", extra_metrics=metrics
        )
    [path] = Path(folder).rglob("eval_results_table.json")
    (HERE / "eval_results_table.json").write_bytes(path.read_bytes())
    return {name: float(value) for name, value in result.metrics.items()}


@scorer
def exact(outputs, expectations):
    return outputs == expectations["expected_response"]


@scorer
def judge(inputs):
    if "3" in inputs["question"]:
        raise RuntimeError("judge timed out")
    return Feedback(value=0.5, rationale="half of it")


@scorer
def verdict(outputs):
    return Feedback(value="yes" if "1" in outputs else "no", rationale="looked at it")


@scorer
def tone(outputs):
    return "formal" if "1" in outputs else "plain"


def frame(folder):
    data = [
        {
            "inputs": {"question": f"Question {n}?"},
            "outputs": f"a{n}",
            "expectations": {"expected_response": EXPECTED[n]},
            "tags": {"query_id": f"q{n}", "topic": "x" if n < 3 else "y"},
        }
        for n in N
    ]
    result = mlflow.genai.evaluate(data=data, scorers=[exact, judge, verdict, tone])
    found = result.result_df.sort_values("request", key=lambda one: one.astype(str))
    for name in ("trace", "trace_metadata", "spans"):  # of our machine, and of no query
        found[name] = None
    found["tags"] = [
        {key: tag for key, tag in tags.items() if "artifact" not in key} for tags in found["tags"]
    ]
    for row in found["assessments"]:
        for one in row:
            one["source"]["source_id"] = "golden"
            one.get("feedback", {}).get("error", {}).pop("stack_trace", None)
    found.to_csv(HERE / "result_df.csv", index=False)
    found.to_json(HERE / "result_df.json", orient="records", indent=1)
    return {name: float(value) for name, value in result.metrics.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        expected = {
            "tool": "mlflow",
            "version": version("mlflow"),
            "table": table(folder),
            "frame": frame(folder),
        }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
