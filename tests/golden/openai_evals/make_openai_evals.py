"""Write two logs of OpenAI evals, with its own recorder and its own Match, and no model.

pip install evals==3.0.1.post1    # tiktoken is not needed
OPENAI_API_KEY=unused python tests/golden/openai_evals/make_openai_evals.py

``match.jsonl`` is of Match; in ``graded.jsonl`` a grader's events are recorded: metrics with a
choice, a sample whose choice is none of those it was given, and one that ended in an error. What
the recorder reports of itself stands in ``expected.json``.
"""

import json
from importlib.metadata import version
from pathlib import Path

from evals.api import CompletionFn, CompletionResult
from evals.base import RunSpec
from evals.elsuite.basic.match import Match
from evals.record import LocalRecorder, record_error, record_metrics, record_sampling

HERE = Path(__file__).parent
ANSWERS = {"1": "2", "2": "four", "3": "6", "4": "8"}
GRADES = {"1": ("A", 1.0), "2": ("B", 0.5), "3": ("__invalid__", None)}


class Canned(CompletionResult):
    def __init__(self, text):
        self.text = text

    def get_completions(self):
        return [self.text]


class Sums(CompletionFn):
    def __call__(self, prompt, **_):
        text = ANSWERS[prompt[-1]["content"].split()[2]]
        record_sampling(prompt=prompt, sampled=[text], usage={"prompt_tokens": 9})
        return Canned(text)


def recorder(name, eval_name):
    path = HERE / f"{name}.jsonl"
    spec = RunSpec(["sums/canned"], eval_name, eval_name.split(".")[0], "dev", {}, "golden")
    return LocalRecorder(str(path), spec)


def match():
    made = recorder("match", "sums.dev.match")
    task = Match([Sums()], samples_jsonl="unused", eval_registry_path=HERE, name="sums.dev.match")
    samples = [
        {"input": [{"role": "user", "content": f"What is {n} + {n}?"}], "ideal": str(2 * int(n))}
        for n in ANSWERS
    ]
    task.get_samples = lambda: samples
    report = task.run(made)
    made.flush_events()
    made.record_final_report(report)
    scores = {event.sample_id: float(event.data["correct"]) for event in made.get_events("match")}
    return {"report": report, "scores": scores}


def graded():
    made = recorder("graded", "sums.dev.graded")
    for number in ANSWERS:
        with made.as_default_recorder(f"sums.dev.{number}"):
            record_sampling(prompt=f"What is {number} + {number}?", sampled=ANSWERS[number])
            if number in GRADES:
                choice, score = GRADES[number]
                record_metrics(choice=choice, score=score)
            else:
                record_error("the grader failed", TimeoutError("timed out"))
    made.flush_events()
    report = {"score": 0.75}
    made.record_final_report(report)
    told = {event.sample_id: event.data["score"] for event in made.get_events("metrics")}
    return {"report": report, "scores": told}


if __name__ == "__main__":
    expected = {"tool": "evals", "version": version("evals"), "match": match(), "graded": graded()}
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
