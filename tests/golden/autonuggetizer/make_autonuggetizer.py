"""Write the metrics of two runs with AutoNuggetizer's own functions.

    python tests/golden/autonuggetizer/make_autonuggetizer.py     # pip install nuggetizer==0.0.5

The assignments, which need a model, are written by hand. The metrics are computed by
``calculate_nugget_scores`` and ``calculate_global_metrics`` and written line by line, as the
project's script ``calculate_metrics.py`` does. ``runs.jsonl`` is by hand: the same rows with a
``run_id``, as files of several runs are put together.
"""

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from nuggetizer.core.metrics import calculate_global_metrics, calculate_nugget_scores

HERE = Path(__file__).parent
SUPPORT = {"s": "support", "p": "partial_support", "n": "not_support"}
IMPORTANCE = {"v": "vital", "o": "okay"}
# Each word is a nugget: its importance and its assignment.
RUNS = {
    "bm25": {"2024-1": "vs vp os on", "2024-2": "vn vn op", "2024-3": "vs vs vs os"},
    "dense": {"2024-1": "vs vs os op", "2024-2": "vp vn on", "2024-3": "vs vn vp on"},
}


def assignment(run, topic, words):
    nuggets = [
        {
            "text": f"Nugget {n} of {topic}.",
            "importance": IMPORTANCE[word[0]],
            "assignment": SUPPORT[word[1]],
        }
        for n, word in enumerate(words.split())
    ]
    return {
        "query": f"What is {topic}?",
        "qid": topic,
        "answer_text": f"An answer of {run}.",
        "response_length": 4,
        "run_id": run,
        "nuggets": nuggets,
    }


def write(name, rows):
    lines = [json.dumps(row) + "\n" for row in rows]
    (HERE / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    expected = {"tool": "nuggetizer", "version": version("nuggetizer"), "scores": {}, "means": {}}
    every, assigned = [], []
    for run, topics in RUNS.items():
        records = [assignment(run, topic, words) for topic, words in topics.items()]
        scores = [
            asdict(calculate_nugget_scores(record["qid"], record["nuggets"])) for record in records
        ]
        means = calculate_global_metrics(records)
        write(f"{run}.metrics.jsonl", [*scores, means])
        every += [{**row, "run_id": run} for row in [*scores, means]]
        assigned += records
        expected["scores"][run], expected["means"][run] = scores, means
    write("runs.jsonl", every)
    write("assignments.jsonl", assigned)
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
