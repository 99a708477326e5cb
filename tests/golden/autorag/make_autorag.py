"""Write a project as AutoRAG does: pip install --no-deps AutoRAG==0.3.27, and
pip install numpy pandas pyarrow pydantic rouge-score sacrebleu, then run this.

Two retrieval modules of made-up rankings go through AutoRAG's own evaluation, saving and choice of
the best. What AutoRAG imports of servers, models and clouds is stood in for, and not asked.
"""

import importlib.abc
import importlib.machinery
import json
import random
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

HERE = Path(__file__).parent
METRICS = ["retrieval_f1", "retrieval_recall", "retrieval_precision", "retrieval_mrr"]


AWAY = """aiohttp anyio autorag.embedding autorag.nodes.generator autorag.vectordb chromadb cohere
couchbase datasets deepeval emoji evaluate fastapi langchain langchain_core llama_index
mixedbread_ai nltk openai pinecone pymilvus qdrant_client rank_bm25 tiktoken torch transformers
voyageai weaviate yaml""".split()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A module for each of those that are away."""

    def find_spec(self, name, path, target=None):
        if not any(name == away or name.startswith(f"{away}.") for away in AWAY):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        pass


def rankings(rng, n):
    """Ten documents of fifteen for each query, with falling scores."""
    ids = [rng.sample([f"d{one}" for one in range(15)], 10) for _ in range(n)]
    scores = [[round(1 - place / 10, 1) for place in range(10)] for _ in range(n)]
    return [[f"Text of {one}." for one in row] for row in ids], ids, scores


def main():
    import pandas as pd

    sys.meta_path.insert(0, StandIns())
    from autorag.nodes.retrieval.run_util import (
        evaluate_retrieval_node,
        find_best,
        save_and_summary,
    )
    from autorag.schema.metricinput import MetricInput

    rng = random.Random(7)
    questions = pd.DataFrame(
        {
            "qid": [f"q-{one}" for one in range(6)],
            "query": [f"What is {one}?" for one in range(6)],
            "retrieval_gt": [[[f"d{one}"], [f"d{one + 6}", f"d{one + 7}"]] for one in range(6)],
            "generation_gt": [[f"It is {one}."] for one in range(6)],
        }
    )
    node = HERE / "0/retrieve_node_line/lexical_retrieval"
    node.mkdir(parents=True, exist_ok=True)
    (HERE / "data").mkdir(exist_ok=True)
    questions.to_parquet(HERE / "data/qa.parquet", index=False)
    inputs = [
        MetricInput(query=one.query, retrieval_gt=one.retrieval_gt, generation_gt=one.generation_gt)
        for one in questions.itertuples()
    ]
    results = []
    for _ in range(2):
        contents, ids, scores = rankings(rng, len(questions))
        frame = pd.DataFrame(
            {"retrieved_contents": contents, "retrieved_ids": ids, "retrieve_scores": scores}
        )
        results.append(evaluate_retrieval_node(frame, inputs, METRICS))
    modules = [type("BM25", (), {})] * 2
    params = [{"top_k": 10, "bm25_tokenizer": name} for name in ("porter_stemmer", "space")]
    strategies = {"metrics": METRICS, "strategy": "mean"}
    summary = save_and_summary(modules, params, results, [0.25, 0.5], 0, str(node), strategies)
    best, filename = find_best(results, [0.25, 0.5], summary["filename"].tolist(), strategies)
    summary["is_best"] = summary["filename"] == filename
    summary.to_csv(node / "summary.csv", index=False)
    whole = pd.concat([questions, best], axis=1)
    whole.to_parquet(node / f"best_{Path(filename).stem}.parquet", index=False)
    tools = {name: version(name) for name in ("AutoRAG", "pandas", "pyarrow")}
    told = {"tools": tools, "scores": [one[METRICS].to_dict("list") for one in results]}
    (HERE / "expected.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
