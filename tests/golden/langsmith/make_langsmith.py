"""Write the frames of LangSmith experiments with langsmith, offline; evaluators are functions.

python make_langsmith.py, with langsmith and pandas in the environment. Examples are handed in and
nothing is uploaded.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import uuid
from pathlib import Path

os.environ |= {"LANGSMITH_TRACING": "false", "LANGSMITH_API_KEY": "none"}

from langsmith import Client, evaluate
from langsmith.schemas import Example

HERE = Path(__file__).parent
ROWS = [("Who wrote Dune?", "Frank Herbert"), ("Where is Oslo?", "Norway"), ("Who is he?", "?")]


def examples():
    made = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    for place, (question, answer) in enumerate(ROWS):
        yield Example(
            id=uuid.UUID(int=place + 1), dataset_id=uuid.UUID(int=100), created_at=made,
            inputs={"question": question, "k": 5}, outputs={"answer": answer},
        )  # fmt: skip


def pipeline(inputs: dict) -> dict:
    if inputs["question"] == "Who is he?":
        raise ValueError("the pipeline broke")
    return {"answer": dict(ROWS)[inputs["question"]], "contexts": ["a", "b"]}


def exact(outputs: dict, reference_outputs: dict) -> bool:
    return outputs.get("answer") == reference_outputs["answer"]


def faithfulness(inputs: dict) -> dict:
    if inputs["question"] == "Where is Oslo?":
        raise RuntimeError("the judge timed out")
    return {"key": "faithfulness", "score": 1 / 3, "comment": "one of three"}


def tone(inputs: dict) -> dict:
    return {"key": "tone", "value": "polite"}


def main() -> None:
    ran = evaluate(
        pipeline, data=list(examples()), evaluators=[exact, faithfulness, tone],
        client=Client(api_url="http://127.0.0.1:9", api_key="none"),
        upload_results=False, num_repetitions=2, max_concurrency=0,
    )  # fmt: skip
    frame = ran.to_pandas()
    frame.to_csv(HERE / "experiment.csv", index=False)
    frame.astype({"example_id": str, "id": str}).to_json(
        HERE / "experiment.jsonl", orient="records", lines=True
    )
    told = {
        "scores": {
            str(row["run"].id): {one.key: one.score for one in row["evaluation_results"]["results"]}
            for row in ran
        },
        "examples": {str(row["run"].id): str(row["example"].id) for row in ran},
        "versions": {name: importlib.metadata.version(name) for name in ("langsmith", "pandas")},
        "command": "python make_langsmith.py",
    }
    (HERE / "expected.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
