"""Write Phoenix's own files with arize-phoenix, and what the library itself says of them.

python make_phoenix.py, with arize-phoenix and httpx in the environment. It starts Phoenix's server
on this machine alone, for as long as the script runs; evaluators are plain functions.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import pandas as pd

HERE = Path(__file__).parent
ANSWERS = {
    "Who wrote Dune?": "Frank Herbert",
    "Where is Oslo?": "Norway",
    "Who is he?": "",
    "Why?": "So",
}


def evaluated() -> dict[str, object]:
    """The frame of evaluate_dataframe, as CSV and JSON, and the annotation frame made of it."""
    from phoenix.evals import Score, create_evaluator, evaluate_dataframe
    from phoenix.evals.utils import to_annotation_dataframe

    @create_evaluator(name="faithfulness", kind="code", direction="maximize")
    def faithfulness(question, answer):
        if question == "Who is he?":
            raise RuntimeError("the judge timed out")
        score = {"Who wrote Dune?": 1.0, "Where is Oslo?": 0.1 + 0.2, "Why?": 0}[question]
        return Score(name="faithfulness", score=score, label="seen", explanation=f"of {answer!r}")

    @create_evaluator(name="hallucination", kind="code", direction="minimize")
    def hallucination(answer):
        return 0.25 if answer == "So" else 0.0

    @create_evaluator(name="tone", kind="code")
    def tone(answer):
        return "polite"

    frame = pd.DataFrame({"question": list(ANSWERS), "answer": list(ANSWERS.values())})
    frame["span_id"] = [f"span{place}" for place in range(len(frame))]
    options = {"evaluators": [faithfulness, hallucination, tone], "max_retries": 0}
    options |= {"hide_tqdm_bar": True}
    whole = evaluate_dataframe(dataframe=frame, exit_on_error=False, **options)
    whole.to_csv(HERE / "evaluated.csv", index=False)
    whole.to_json(HERE / "evaluated.json", orient="records", indent=1)
    stopped = evaluate_dataframe(dataframe=frame, exit_on_error=True, **options)
    stopped.to_json(HERE / "stopped.jsonl", orient="records", lines=True)
    names = ["faithfulness", "hallucination"]
    annotations = to_annotation_dataframe(dataframe=whole, score_names=names)
    annotations.to_csv(HERE / "annotations.csv", index=False)
    return {name: [one and one["score"] for one in whole[f"{name}_score"]] for name in names}


def experiment(address: str) -> dict[str, object]:
    """An experiment with two repetitions, downloaded as JSON and CSV, and Phoenix's own means."""
    from phoenix.client import Client

    client = Client(base_url=address)
    dataset = client.datasets.create_dataset(
        name="golden",
        inputs=[{"question": question} for question in ANSWERS],
        outputs=[{"answer": answer} for answer in ANSWERS.values()],
        metadata=[{"topic": topic} for topic in ("books", "places", "people", "reasons")],
    )
    calls: dict[str, int] = {}

    def task(input):  # noqa: A002
        question = input["question"]
        calls[question] = calls.get(question, 0) + 1
        if question == "Why?" and calls[question] == 2:
            raise ValueError("the pipeline broke")
        return {"answer": ANSWERS[question] * calls[question], "k": 5}

    def match(output, expected):
        return float(output["answer"] == expected["answer"])

    def faithfulness(input):  # noqa: A002
        if input["question"] == "Who is he?":
            raise RuntimeError("the judge timed out")
        return {"score": 1 / 3, "label": "partly", "explanation": "one of three"}

    ran = client.experiments.run_experiment(
        dataset=dataset, task=task, evaluators=[match, faithfulness], repetitions=2,
        experiment_name="golden", print_summary=False, retries=0,
    )  # fmt: skip
    base = f"{address}/v1/experiments/{ran['experiment_id']}"
    (HERE / "experiment.json").write_bytes(httpx.get(f"{base}/json").content)
    (HERE / "experiment.csv").write_bytes(httpx.get(f"{base}/csv").content)
    return own_summary(address, ran["experiment_id"])


def own_summary(address: str, experiment_id: str) -> dict[str, object]:
    """The mean score of each annotation, as Phoenix's page shows it."""
    asked = """query ($id: ID!) { node(id: $id) { ... on Experiment {
        errorRate runCount annotationSummaries { annotationName meanScore errorCount count }}}}"""
    body = {"query": asked, "variables": {"id": experiment_id}}
    return httpx.post(f"{address}/graphql", json=body).json()["data"]["node"]


def serve(folder: str) -> tuple[subprocess.Popen[bytes], str]:
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(str(free.getsockname()[1]))
    environment = os.environ | {
        "PHOENIX_WORKING_DIR": folder, "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": ports[0],
        "PHOENIX_GRPC_PORT": ports[1], "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }  # fmt: skip
    server = subprocess.Popen([sys.executable, "-m", "phoenix.server.main", "serve"],
                              env=environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)  # fmt: skip
    return server, f"http://127.0.0.1:{ports[0]}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server, address = serve(folder)
        try:
            for _ in range(120):
                try:
                    httpx.get(f"{address}/healthz").raise_for_status()
                    break
                except httpx.HTTPError:
                    time.sleep(1)
            told = {"evaluated": evaluated(), "experiment": experiment(address)}
        finally:
            server.terminate()
            server.wait(30)
    names = ("arize-phoenix", "arize-phoenix-evals", "arize-phoenix-client", "pandas")
    told["versions"] = {name: importlib.metadata.version(name) for name in names}
    told["command"] = "python make_phoenix.py"
    (HERE / "expected.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
