"""Write LlamaIndex's results of evaluating a retriever, offline, and the means it gives of them.

python tests/golden/llama_index/make_retrieval.py     # pip install llama-index-core==0.14.25
"""

import asyncio
import json
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.evaluation import RetrieverEvaluator, get_retrieval_results_df
from llama_index.core.schema import NodeWithScore, TextNode

HERE = Path(__file__).parent
METRICS = ["hit_rate", "mrr", "precision", "recall", "ap", "ndcg"]
FOUND = {"Who?": ["n1", "n2"], "When?": ["n3", "n4"], "Why?": ["n5"]}
EXPECTED = {"Who?": ["n1"], "When?": ["n4", "n9"], "Why?": ["n6"]}


class Fixed(BaseRetriever):
    def _retrieve(self, query_bundle):
        names = FOUND[query_bundle.query_str]
        return [NodeWithScore(node=TextNode(id_=name, text=f"text of {name}")) for name in names]


if __name__ == "__main__":
    evaluator = RetrieverEvaluator.from_metric_names(METRICS, retriever=Fixed())
    results = [asyncio.run(evaluator.aevaluate(query, EXPECTED[query])) for query in FOUND]
    dumped = [result.model_dump(mode="json") for result in results]
    text = json.dumps(dumped, indent=1)
    (HERE / "retrieval.json").write_text(text + "\n", encoding="utf-8")
    pd.json_normalize(dumped).to_csv(HERE / "retrieval.csv", index=False)
    frame = get_retrieval_results_df(["fixed"], [results], METRICS)
    expected = {
        "tool": "llama-index-core",
        "version": version("llama-index-core"),
        "command": "python tests/golden/llama_index/make_retrieval.py",
        "means": frame[METRICS].iloc[0].to_dict(),
    }
    text = json.dumps(expected, indent=1)
    (HERE / "retrieval_expected.json").write_text(text + "\n", encoding="utf-8")
