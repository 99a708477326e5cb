"""Write test results of Opik with its own metrics engine, offline; metrics are plain functions.

python make_opik.py, with opik in the environment. A whole `evaluate` needs Opik's server, so the
test results are put together here from the score results of Opik's engine, in Opik's classes.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
from pathlib import Path

os.environ |= {"OPIK_TRACK_DISABLE": "true", "OPIK_SENTRY_ENABLE": "false"}

from opik.evaluation import test_case, test_result
from opik.evaluation.engine.metrics_evaluator import MetricsEvaluator
from opik.evaluation.evaluation_result import EvaluationResult
from opik.evaluation.metrics import base_metric, score_result
from opik.evaluation.types import ErrorTolerance

HERE = Path(__file__).parent
ANSWERS = {"Who wrote Dune?": "Frank Herbert", "Where is Oslo?": "Norway", "Who is he?": "?"}


class Exact(base_metric.BaseMetric):
    def score(self, output, expected_output, **more):
        return score_result.ScoreResult(name=self.name, value=float(output == expected_output))


class Judge(base_metric.BaseMetric):
    def score(self, input, **more):  # noqa: A002
        if input == "Where is Oslo?":
            raise RuntimeError("the judge timed out")
        return score_result.ScoreResult(name=self.name, value=1 / 3, reason="one of three")


def main() -> None:
    metrics = [Exact(name="exact", track=False), Judge(name="faithfulness", track=False)]
    engine = MetricsEvaluator(metrics, {}, [], ErrorTolerance.METRIC_ERRORS)
    results = []
    for trial in range(2):
        for place, (question, answer) in enumerate(ANSWERS.items()):
            item = {"input": question, "expected_output": answer, "topic": "t"}
            output = {"output": answer * (trial + 1)}
            scores, inputs = engine.compute_regular_scores(item, output)
            case = test_case.TestCase(f"trace{trial}{place}", f"item{place}", output, item, inputs)
            results.append(test_result.TestResult(case, scores, trial, 0.25 + place, 0.5))
    ran = EvaluationResult("experiment", "dataset", "golden run", results, None, 2)
    told = dataclasses.asdict(ran)
    for one in told["test_results"]:
        for score in one["score_results"]:
            score["metadata"] = None  # a traceback with the paths of the machine
    (HERE / "result.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    lines = "".join(json.dumps(one) + "\n" for one in told["test_results"])
    (HERE / "test_results.jsonl").write_text(lines, encoding="utf-8")
    scores = ran.aggregate_evaluation_scores().aggregated_scores
    expected = {
        "means": {name: one.mean for name, one in scores.items()},
        "failed": {name: one.failed_count for name, one in scores.items()},
        "versions": {"opik": importlib.metadata.version("opik")},
        "command": "python make_opik.py",
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
