"""Write two reports of pydantic-evals, offline, and what they hold.

    python tests/golden/pydantic_evals/make_pydantic_evals.py
    # pip install pydantic-evals==2.62.0

The task is a function, the evaluators need no model: one raises for one case, and the task itself
raises for another. The second report repeats each case.
"""

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected, EvaluationReason, Evaluator, EvaluatorContext
from pydantic_evals.reporting import EvaluationReportAdapter

HERE = Path(__file__).parent
ANSWERS = {"Capital of Italy?": "Rome", "Who wrote Emma?": "Jane Austen", "What is RAG?": "A cloth"}


@dataclass
class Overlap(Evaluator):
    def evaluate(self, ctx: EvaluatorContext):
        expected, words = set(ctx.expected_output.split()), set(ctx.output.split())
        if "cloth" in words:
            raise ValueError("the judge gave no verdict")
        share = len(expected & words) / len(expected)
        return {
            "overlap": EvaluationReason(share, f"{len(expected & words)} of {len(expected)} words"),
            "tone": "plain",
        }


def task(question):
    if question not in ANSWERS:
        raise TimeoutError("the server did not answer")
    return ANSWERS[question]


DATASET = Dataset(
    name="golden",
    cases=[
        Case(
            name="rome",
            inputs="Capital of Italy?",
            expected_output="Rome",
            metadata={"hard": False},
        ),
        Case(name="emma", inputs="Who wrote Emma?", expected_output="Jane Mary Austen"),
        Case(name="rag", inputs="What is RAG?", expected_output="retrieval first"),
        Case(name="köln", inputs="How large is Köln?", expected_output="large"),
    ],
    evaluators=[EqualsExpected(), Overlap()],
)


def shorten_traces(report):
    """Keep the last line of each stack trace: the rest holds the paths of a machine."""
    failures = [
        *report["failures"],
        *(f for case in report["cases"] for f in case["evaluator_failures"]),
    ]
    for failure in failures:
        failure["error_stacktrace"] = failure["error_stacktrace"].strip().splitlines()[-1]


if __name__ == "__main__":
    reports = {
        "report.json": DATASET.evaluate_sync(task, name="answers", progress=False),
        "repeated.json": DATASET.evaluate_sync(task, name="repeated", progress=False, repeat=2),
    }
    means = {}
    for name, report in reports.items():
        dumped = EvaluationReportAdapter.dump_python(report, mode="json")
        shorten_traces(dumped)
        text = json.dumps(dumped, indent=1, ensure_ascii=False)
        (HERE / name).write_text(text + "\n", encoding="utf-8")
        averages = report.averages()
        means[name] = {"scores": averages.scores, "assertions": averages.assertions}
    expected = {
        "tool": "pydantic-evals",
        "version": version("pydantic-evals"),
        "command": "python tests/golden/pydantic_evals/make_pydantic_evals.py",
        "means": means,
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
