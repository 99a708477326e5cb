"""Write an EvaluationResult of the newer client of Vertex AI's evaluation service, offline.

    python tests/golden/vertex_results/make_vertex_results.py
    # pip install google-cloud-aiplatform[evaluation]==2.7.0

The metrics are functions of one's own, which the client runs itself; one of them fails once. The
metrics that call Google's service are left out.
"""

import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from agentplatform import Client, types
from google.auth.credentials import AnonymousCredentials

HERE = Path(__file__).parent
ROWS = {
    "prompt": ["Who wrote Emma?", "Capital of Italy?", "What is RAG?"],
    "reference": ["Jane Austen", "Rome", "retrieval first"],
}
ANSWERS = {
    "small": ["Jane Austen", "It is Rome", "A cloth"],
    "large": ["Jane Austen", "Rome", "retrieval first"],
}


def text_of(content):
    return content["parts"][0]["text"]


def overlap(instance):
    words = set(text_of(instance["response"]).split())
    expected = set(text_of(instance["reference"]["response"]).split())
    return {"score": len(words & expected) / len(words), "explanation": f"{len(words)} words"}


def exact(instance):
    if text_of(instance["response"]) == "A cloth":
        raise ValueError("nothing to compare")
    return float(text_of(instance["response"]) == text_of(instance["reference"]["response"]))


if __name__ == "__main__":
    client = Client(project="none", location="us-central1", credentials=AnonymousCredentials())
    sets = [
        types.EvaluationDataset(
            eval_dataset_df=pd.DataFrame({**ROWS, "response": answers}), candidate_name=name
        )
        for name, answers in ANSWERS.items()
    ]
    metrics = [
        types.Metric(name="overlap", custom_function=overlap),
        types.Metric(name="exact", custom_function=exact),
    ]
    result = client.evals.evaluate(dataset=sets, metrics=metrics)
    dumped = result.model_dump_json(indent=1)
    (HERE / "evaluation_result.json").write_text(dumped + "\n", encoding="utf-8")
    summary = {each.metric_name: each.mean_score for each in result.summary_metrics}
    expected = {
        "tool": "google-cloud-aiplatform",
        "version": version("google-cloud-aiplatform"),
        "command": "python tests/golden/vertex_results/make_vertex_results.py",
        "means_of_all_candidates": summary,
    }
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
