"""Write the results of an evaluation with Azure's library, offline.

    python tests/golden/azure/make_azure.py     # pip install azure-ai-evaluation==1.18.10

The evaluators are the library's own: F1 needs no model; the model of the groundedness and fluency
evaluators is replaced by fixed answers, of which one cannot be read and one is an error.
``eval_results.jsonl``, ``summary.json`` and ``evaluate_parameters.json`` are written by hand, after
the files in ``evals/results`` of azure-search-openai-demo.
"""

import json
import os
import tempfile
from importlib.metadata import version
from pathlib import Path

from azure.ai.evaluation import F1ScoreEvaluator, FluencyEvaluator, GroundednessEvaluator, evaluate

HERE = Path(__file__).parent
MODEL = {"azure_endpoint": "https://localhost", "azure_deployment": "judge", "api_key": "none"}
ROWS = [
    {
        "id": "q1",
        "query": "Who wrote Emma?",
        "response": "Jane Austen",
        "ground_truth": "Jane Austen",
    },
    {"id": "q2", "query": "Capital of Italy?", "response": "It is Rome", "ground_truth": "Rome"},
    {"id": "q3", "query": "What is RAG?", "response": "A cloth", "ground_truth": "retrieval first"},
    {
        "id": "q4",
        "query": "How large is Köln?",
        "response": "1.1 million",
        "ground_truth": "1.1 million",
    },
]
MARKS = {"Jane Austen": 5, "It is Rome": 4, "A cloth": 1}


def flow(name):
    """The replacement of the prompt; it raises for one answer, as a judge that times out."""

    async def answer(**inputs):
        response = inputs["response"]
        if response not in MARKS:
            raise TimeoutError("the judge timed out")
        mark = MARKS[response]
        return {
            "llm_output": f"<S0>thinking</S0><S1>{name}: because {mark}</S1><S2>{mark}</S2>",
            "input_token_count": 10,
            "output_token_count": 3,
            "total_token_count": 13,
            "finish_reason": "stop",
            "model_id": "judge",
            "sample_input": "[]",
            "sample_output": "[]",
        }

    return answer


class Grounded(GroundednessEvaluator):
    def __init__(self):
        super().__init__(MODEL, threshold=3)
        self._flow = flow("grounded")

    def _load_flow(self, *args, **kwargs):
        return flow("grounded")

    def _ensure_query_prompty_loaded(self):
        pass


class Fluent(FluencyEvaluator):
    def __init__(self):
        super().__init__(MODEL)
        self._flow = flow("fluent")


def citations(*, response):
    """An evaluator of one's own."""
    return {"length": len(response), "cited": response.startswith("It")}


if __name__ == "__main__":
    os.environ["AZURE_TEST_MODE"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        lines = [json.dumps({**row, "context": row["ground_truth"]}) for row in ROWS]
        data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        result = evaluate(
            data=str(data),
            evaluators={
                "f1": F1ScoreEvaluator(),
                "groundedness": Grounded(),
                "fluency": Fluent(),
                "citations": citations,
            },
            output_path=str(HERE / "evaluation_results.json"),
            fail_on_evaluator_errors=False,
        )
    rows = result["rows"]
    expected = {
        "tool": "azure-ai-evaluation",
        "version": version("azure-ai-evaluation"),
        "command": "python tests/golden/azure/make_azure.py",
        "means": result["metrics"],
    }
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
