"""Write results.json as RAGChecker does: pip install --no-deps ragchecker==0.1.9, then run this.

Claims and labels of entailment are made up, so that neither an extractor nor a judge is asked; all
metrics are those that RAGChecker computes from them. refchecker, which would ask, is stood in for.
"""

import json
import random
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent


def stand_in():
    """The modules of refchecker that RAGChecker imports and does not need here."""
    names = {
        "refchecker": (),
        "refchecker.extractor": ("LLMExtractor",),
        "refchecker.checker": ("LLMChecker", "NLIChecker", "AlignScoreChecker"),
    }
    for name, classes in names.items():
        sys.modules[name] = ModuleType(name)
        for one in classes:
            setattr(sys.modules[name], one, type(one, (), {}))


def labels(rng, n):
    return rng.choices(["Entailment", "Neutral", "Contradiction"], [5, 3, 2], k=n)


def result(rng, place, n_response, n_reference, n_contexts):
    return {
        "query_id": f"r{place}",
        "query": f"What is {place}?",
        "gt_answer": f"It is {place}.",
        "response": f"I think {place}.",
        "retrieved_context": [
            {"doc_id": f"d{one}", "text": f"Text {one} of {place}."} for one in range(n_contexts)
        ],
        "response_claims": [["a", "is", str(one)] for one in range(n_response)],
        "gt_answer_claims": [["b", "is", str(one)] for one in range(n_reference)],
        "answer2response": labels(rng, n_response),
        "response2answer": labels(rng, n_reference),
        "retrieved2response": [labels(rng, n_contexts) for _ in range(n_response)],
        "retrieved2answer": [labels(rng, n_contexts) for _ in range(n_reference)],
    }


def main():
    stand_in()
    from ragchecker import RAGChecker, RAGResults

    rng = random.Random(4)
    shapes = [(4, 3, 2), (5, 4, 3), (2, 2, 4), (0, 3, 2), (3, 0, 2), (3, 3, 0)]
    rows = [result(rng, place, *shape) for place, shape in enumerate(shapes)]
    (HERE / "inputs.json").write_text(json.dumps({"results": rows[:2]}, indent=1) + "\n")
    results = RAGResults.from_dict({"results": rows})
    checker = object.__new__(RAGChecker)  # whose constructor asks for models
    checker.evaluate(results, save_path=HERE / "results.json")
    manifest = {"tool": "ragchecker", "version": version("ragchecker"), "seed": 4}
    (HERE / "manifest.json").write_text(json.dumps(manifest) + "\n")


if __name__ == "__main__":
    main()
