"""Write the results of a Braintrust experiment with its SDK, offline; scorers are functions.

python make_braintrust.py, with braintrust in the environment. Nothing is sent.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
from pathlib import Path

from braintrust import Eval

HERE = Path(__file__).parent
ANSWERS = {
    "Who wrote Dune?": "Frank Herbert",
    "Where is Oslo?": "Norway",
    "Who is he?": "",
    "Why?": "So",
}
KEPT = ("input", "output", "expected", "scores", "metadata", "tags")
CALLS: dict[str, int] = {}


def pipeline(input):  # noqa: A002
    question = input["question"]
    CALLS[question] = CALLS.get(question, 0) + 1
    if question == "Why?":
        raise ValueError("the pipeline broke")
    return ANSWERS[question] * CALLS[question]


def exact(input, output, expected):  # noqa: A002
    return 1 if output == expected else 0


def judge(input, output, expected):  # noqa: A002
    if input["question"] == "Where is Oslo?":
        raise RuntimeError("the judge timed out")
    return {"name": "faithfulness", "score": 1 / 3 if output else None}


def main() -> None:
    data = [
        {"input": {"question": question, "k": 5}, "expected": answer, "metadata": {"topic": "t"}}
        for question, answer in ANSWERS.items()
    ]
    ran = Eval("golden", data=data, task=pipeline, scores=[exact, judge], trial_count=2,
               max_concurrency=1, no_send_logs=True)  # fmt: skip
    rows = []
    for result in ran.results:
        row = {key: getattr(result, key) for key in KEPT}
        row["error"] = None if result.error is None else repr(result.error)
        for scorer, told in (row["metadata"] or {}).get("scorer_errors", {}).items():
            row["metadata"]["scorer_errors"][scorer] = told.strip().splitlines()[-1]
        rows.append(row)
    (HERE / "experiment.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (HERE / "experiment.jsonl").write_text(lines, encoding="utf-8")
    with (HERE / "experiment.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)  # the SDK writes none: a cell that is no text is JSON
        writer.writerow(rows[0])
        for row in rows:
            cells = row.values()
            writer.writerow(
                [one if isinstance(one, str | None) else json.dumps(one) for one in cells]
            )
    expected = {
        "means_of_rows": {name: one.score for name, one in ran.summary.scores.items()},
        "versions": {"braintrust": importlib.metadata.version("braintrust")},
        "command": "python make_braintrust.py",
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
