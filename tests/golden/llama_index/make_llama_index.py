"""Write LlamaIndex's own result files with llama-index-core; evaluators are plain functions.

python make_llama_index.py, with llama-index-core and pandas in the environment.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
from pathlib import Path

from llama_index.core.evaluation import BaseEvaluator, BatchEvalRunner, EvaluationResult
from llama_index.core.evaluation.notebook_utils import get_eval_results_df

HERE = Path(__file__).parent
QUESTIONS = ["Who wrote Dune?", "Where is Oslo?", "Who is he?", "Who wrote Dune?"]
ANSWERS = ["Frank Herbert", "Norway", "", "A writer"]
CONTEXTS = [["Dune is a novel.", "It is by Herbert."], ["Oslo is in Norway."], [], ["Dune."]]


class Fixed(BaseEvaluator):
    """An evaluator that looks a score up; an empty answer is an invalid result."""

    def __init__(self, scores: dict[str, float]):
        self.scores = scores

    def _get_prompts(self):
        return {}

    def _update_prompts(self, prompts):
        pass

    async def aevaluate(self, query=None, response=None, contexts=None, **more):
        given = {"query": query, "response": response, "contexts": contexts}
        if not response:
            return EvaluationResult(**given, invalid_result=True, invalid_reason="no answer")
        score = self.scores[response]
        return EvaluationResult(**given, score=score, passing=score >= 0.5, feedback=f"{score}!")


EVALUATORS = {
    "faithfulness": Fixed({"Frank Herbert": 1.0, "Norway": 0.0, "A writer": 0.1 + 0.2}),
    "correctness": Fixed({"Frank Herbert": 5.0, "Norway": 4.5, "A writer": 1.0}),
}


async def batch(answers):
    runner = BatchEvalRunner(EVALUATORS, workers=1)
    return await runner.aevaluate_response_strs(
        queries=QUESTIONS, response_strs=answers, contexts_list=CONTEXTS
    )


def main() -> None:
    first = asyncio.run(batch(ANSWERS))
    second = asyncio.run(batch(["Norway", "A writer", "Frank Herbert", ""]))
    dumped = {name: [one.model_dump() for one in found] for name, found in first.items()}
    (HERE / "batch.json").write_text(json.dumps(dumped, indent=1), encoding="utf-8")
    lines = [one.model_dump_json() for one in first["correctness"]]
    (HERE / "results.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = ["base"] * 4 + ["rerank"] * 4
    results = first["faithfulness"] + second["faithfulness"]
    frame, means = get_eval_results_df(names, results, metric="faithfulness")
    frame.to_csv(HERE / "frame.csv", index=False)
    frame.to_json(HERE / "frame.json", orient="records", indent=1)
    expected = {
        "scores": {name: [one.score for one in found] for name, found in first.items()},
        "means_by_rag": means.iloc[0].to_dict(),
        "versions": {
            name: importlib.metadata.version(name) for name in ("llama-index-core", "pandas")
        },
        "command": "python make_llama_index.py",
    }  # fmt: skip
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
