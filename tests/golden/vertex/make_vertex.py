"""Write the metrics_table of an evaluation with Vertex AI's library, offline.

    python tests/golden/vertex/make_vertex.py
    # pip install google-cloud-aiplatform[evaluation]==2.7.0

The metrics are functions of one's own, which the library runs itself: one gives the columns of a
judge on a scale from 1 to 5. The metrics that call Google's service are left out.
"""

import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import vertexai
from google.auth.credentials import AnonymousCredentials
from vertexai.evaluation import CustomMetric, EvalTask

HERE = Path(__file__).parent
DATA = pd.DataFrame(
    {
        "prompt": ["Who wrote Emma?", "Capital of Italy?", "What is RAG?"],
        "response": ["Jane Austen", "It is Rome", "A cloth"],
        "reference": ["Jane Austen", "Rome", "retrieval first"],
    }
)
MARKS = {"Jane Austen": 5, "It is Rome": 4, "A cloth": 1}


def groundedness(row):
    mark = MARKS[row["response"]]
    return {"groundedness": mark, "explanation": f"because {mark}"}


def overlap(row):
    words, expected = set(row["response"].split()), set(row["reference"].split())
    return {"overlap": len(words & expected) / len(expected)}


if __name__ == "__main__":
    vertexai.init(project="none", location="us-central1", credentials=AnonymousCredentials())
    metrics = [CustomMetric("groundedness", groundedness), CustomMetric("overlap", overlap)]
    result = EvalTask(dataset=DATA, metrics=metrics).evaluate()
    table = result.metrics_table
    table.to_csv(HERE / "metrics_table.csv", index=False)
    table.to_json(HERE / "metrics_table.json", orient="records", indent=1)
    expected = {
        "tool": "google-cloud-aiplatform",
        "version": version("google-cloud-aiplatform"),
        "command": "python tests/golden/vertex/make_vertex.py",
        "means": {name: float(value) for name, value in result.summary_metrics.items()},
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
