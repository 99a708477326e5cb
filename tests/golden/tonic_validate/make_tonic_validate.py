"""Write a run as Tonic Validate scores it: pip install tonic-validate==6.2.0, then run this.

The judge is a stand-in that answers by rule, telemetry is off, and nothing leaves the machine. One
metric raises on two of the questions, which Tonic Validate scores None.
"""

import asyncio
import json
import os
from importlib.metadata import version
from pathlib import Path
from unittest import mock

os.environ["OPENAI_API_KEY"] = "none"
os.environ["TONIC_VALIDATE_DO_NOT_TRACK"] = "true"
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

HERE = Path(__file__).parent


class Judge:
    """Grades by the length of what it is asked, 0 to 5."""

    model = "by rule"

    async def get_response(self, prompt):
        return str(len(prompt) % 6)


def main():
    import tiktoken
    from pydantic import TypeAdapter
    from tonic_validate import ValidateScorer, metrics, validate_scorer
    from tonic_validate.classes.benchmark import BenchmarkItem
    from tonic_validate.classes.llm_response import LLMResponse
    from tonic_validate.classes.run import Run

    def fails_on_two(response, service):
        if "2" in response.llm_answer or "5" in response.llm_answer:
            raise ValueError("no verdict")
        return "1" in response.llm_answer

    asked = [
        metrics.AnswerSimilarityMetric(),
        metrics.LatencyMetric(target_time=2.0),
        metrics.ResponseLengthMetric("short_answer", 0, 24),
        metrics.BinaryMetric("names_one", fails_on_two),
    ]
    with (
        mock.patch.object(validate_scorer, "Telemetry"),
        mock.patch.object(validate_scorer, "OpenAIService"),
        mock.patch.object(tiktoken, "encoding_for_model"),
    ):
        scorer = ValidateScorer(asked, model_evaluator="gpt-4", max_parsing_retries=1, quiet=True)
    scorer.llm_service = Judge()
    responses = [
        LLMResponse(
            f"The answer is {place}{'!' * place}",
            [f"Context {place}."],
            BenchmarkItem(f"What is {place}?", f"It is {place}."),
            run_time=float(place),
        )
        for place in range(6)
    ]
    run = asyncio.run(scorer.a_score_responses(responses))
    adapter = TypeAdapter(Run)
    (HERE / "run.json").write_bytes(adapter.dump_json(run, indent=1) + b"\n")
    uploaded = {"data": [one.to_dict() for one in run.run_data]}
    (HERE / "uploaded.json").write_text(json.dumps(uploaded, indent=1) + "\n")
    manifest = {"tool": "tonic-validate", "version": version("tonic-validate")}
    (HERE / "manifest.json").write_text(json.dumps(manifest) + "\n")


if __name__ == "__main__":
    main()
