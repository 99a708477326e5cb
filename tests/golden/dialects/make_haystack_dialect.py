"""Write what Haystack's evaluators say of made-up rankings: repeats, no gold, nothing retrieved.

python tests/golden/dialects/make_haystack_dialect.py     # pip install haystack-ai==3.4.0
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

from haystack import Document
from haystack.components.evaluators import (
    AnswerExactMatchEvaluator,
    DocumentMAPEvaluator,
    DocumentMRREvaluator,
    DocumentNDCGEvaluator,
    DocumentRecallEvaluator,
)

draw = random.Random(11)
rows = []
for number in range(40):
    pool = [f"d{n}" for n in range(6)]
    relevant = {doc: draw.choice([0.5, 1.0, 2.0]) for doc in draw.sample(pool, draw.randint(0, 3))}
    retrieved = [draw.choice(pool) for _ in range(draw.randint(0, 7))]  # with repeats
    answer, reference = draw.choice(["Oslo", "I don't know."]), draw.choice(["Oslo", "Bern"])
    rows.append(
        {
            "query_id": f"q{number}",
            "retrieved": retrieved,
            "relevant": relevant,
            "answer": answer,
            "reference": [reference],
            "answerable": draw.random() < 0.7,
        }
    )
found = [[Document(content=doc) for doc in row["retrieved"]] for row in rows]
gold = [[Document(content=d, score=s) for d, s in row["relevant"].items()] for row in rows]
documents = {"ground_truth_documents": gold, "retrieved_documents": found}
results = {
    "document_mrr": DocumentMRREvaluator().run(**documents),
    "document_map": DocumentMAPEvaluator().run(**documents),
    "document_ndcg": DocumentNDCGEvaluator().run(**documents),
    "single_hit": DocumentRecallEvaluator(mode="single_hit").run(**documents),
    "multi_hit": DocumentRecallEvaluator(mode="multi_hit").run(**documents),
    "exact_match": AnswerExactMatchEvaluator().run(
        [row["reference"][0] for row in rows], [row["answer"] for row in rows]
    ),
}
content = {
    "tool": f"haystack-ai {version('haystack-ai')}",
    "command": "python tests/golden/dialects/make_haystack_dialect.py",
    "rows": rows,
    "results": results,
}
path = Path(__file__).parent / "haystack_dialect.json"
path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
