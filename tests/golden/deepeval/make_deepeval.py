"""Write DeepEval's files of a made-up test run, and what its objects report.

    python tests/golden/deepeval/make_deepeval.py     # pip install deepeval==4.3.1

The metrics are made up and ask no model: one that passes from its threshold on, one that passes up
to it, one that fails on a case, and one that gives a reason. Everything is written in a folder of
its own, and the files that matter are copied here.
"""

import json
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ |= {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "ERROR_REPORTING": "0",
}
HERE = Path(__file__).parent.resolve()

from deepeval import evaluate  # noqa: E402
from deepeval.evaluate.configs import AsyncConfig, DisplayConfig, ErrorConfig  # noqa: E402
from deepeval.metrics import BaseMetric  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402

CASES = [
    ("geo-1", "Capital of Italy?", "Rome", "Rome", {"topic": "geography"}),
    ("geo-2", "Größe von Köln?", "1.1 million", "1.1 million people", {"topic": "geography"}),
    ("lit-1", 'Who wrote "Emma"?', "Jane Austen", "I don't know.", {"topic": "letters"}),
    ("lit-2", "Who wrote 'Ulysses'?", "James Joyce", "boom", {"topic": "letters"}),
]


class Made(BaseMetric):
    """A metric of made-up scores."""

    def __init__(self, name, scores, threshold, *, lower=False, reason=None):
        self.threshold, self.strict_mode, self.async_mode = threshold, False, False
        self.include_reason, self.evaluation_model = reason is not None, "no model"
        self._made, self._scores, self._lower, self._why = name, scores, lower, reason

    def measure(self, test_case, *args, **kwargs):
        score = self._scores[test_case.name]
        if score is None:
            raise RuntimeError(f"no answer of the judge on {test_case.name}")
        self.score, self.reason = score, self._why and f"{self._why}, {score:g}"
        self.success = score <= self.threshold if self._lower else score >= self.threshold
        return score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    def is_successful(self):
        return bool(self.success) and self.error is None

    @property
    def __name__(self):
        return self._made


def scores(*numbers):
    return dict(zip([case[0] for case in CASES], numbers, strict=True))


METRICS = [
    Made("Faithfulness", scores(1.0, 0.6, 0.25, None), 0.5, reason="as made up"),
    Made("Hallucination", scores(0.0, 0.4, 0.75, 1.0), 0.5, lower=True),
    Made("Tone (GEval)", scores(0.9, 0.8, None, 0.1), 0.7, reason="tone"),
    Made("Answer Relevancy", scores(1.0, 1.0, 0.5, 0.0), 0.5),
]


def case(name, question, reference, answer, metadata):
    return LLMTestCase(
        name=name,
        input=question,
        actual_output=answer,
        expected_output=reference,
        retrieval_context=[f"about {reference}", 'a "second" one'],
        metadata=metadata,
        completion_time=0.25,
        token_cost=0.001,
    )


def run():
    return evaluate(
        [case(*one) for one in CASES],
        METRICS,
        identifier="made-up run",
        hyperparameters={"model": "none", "top_k": 2},
        async_config=AsyncConfig(run_async=False),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
        error_config=ErrorConfig(ignore_errors=True),
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["DEEPEVAL_RESULTS_FOLDER"] = str(Path(folder) / "results")
        result = run()
        [kept] = (Path(folder) / "results").glob("test_run_*.json")
        shutil.copy(kept, HERE / "test_run.json")
        for name in ("latest_test_run.json", "deepeval-cache.json"):
            shutil.copy(Path(folder) / ".deepeval" / f".{name}", HERE / name)
        os.chdir(HERE)
    (HERE / "evaluation_result.json").write_text(result.model_dump_json(indent=1) + "\n")
    values = {
        one.name: {metric.name: metric.score for metric in one.metrics_data}
        for one in result.test_results
    }
    errors = {
        one.name: {metric.name: metric.error for metric in one.metrics_data if metric.error}
        for one in result.test_results
    }
    told = {
        "tool": "deepeval",
        "version": version("deepeval"),
        "command": "python tests/golden/deepeval/make_deepeval.py",
        "values": values,
        "errors": errors,
    }
    (HERE / "expected.json").write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
