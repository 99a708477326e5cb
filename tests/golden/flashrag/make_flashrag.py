"""Write the items of a run with FlashRAG's own evaluator and data set.

    python tests/golden/flashrag/make_flashrag.py

FlashRAG 0.1.2 (``pip install --no-deps flashrag-dev==0.1.2 rouge tqdm numpy``) imports torch,
transformers and datasets, which the evaluator of texts does not use; empty modules stand for them.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

for name in ("torch", "transformers", "datasets", "tiktoken", "openai"):
    sys.modules.setdefault(name, MagicMock())

from flashrag.dataset.dataset import Dataset, Item  # noqa: E402
from flashrag.evaluator.evaluator import Evaluator  # noqa: E402

HERE = Path(__file__).parent
CONFIG = {
    "dataset_name": "nq",
    "save_dir": str(HERE / "nq_naive"),
    "save_metric_score": True,
    "save_intermediate_data": True,
    "metrics": ["em", "f1", "acc", "precision", "recall", "retrieval_recall"],
    "metric_setting": {"retrieval_recall_topk": 2},
}
ITEMS = [
    ("test_0", "Who wrote Emma?", ["Jane Austen"], "Jane Austen", ["Emma is by Jane Austen.", "x"]),
    ("test_1", "Capital of Italy?", ["Rome"], "It is Rome, in Lazio", ["Rome is old.", "Milan"]),
    ("test_2", "Who wrote Ulysses?", ["James Joyce", "Joyce"], "Homer", ["Ulysses", "Odyssey"]),
    ("test_3", "How large is Köln?", ["1.1 million"], "one million", ["Köln: 1.1 million", "y"]),
]


def item(key, question, answers, pred, documents):
    retrieved = [{"id": f"d{n}", "contents": text} for n, text in enumerate(documents)]
    output = {"retrieval_result": retrieved, "prompt": f"Answer: {question}", "pred": pred}
    fields = {"id": key, "question": question, "golden_answers": answers, "output": output}
    return Item(fields)


if __name__ == "__main__":
    Path(CONFIG["save_dir"]).mkdir(exist_ok=True)
    data = Dataset(config=CONFIG, data=[item(*row) for row in ITEMS])
    means = Evaluator(CONFIG).evaluate(data)
    expected = {"tool": "FlashRAG", "version": version("flashrag-dev"), "means": means}
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
