"""Write a report of Giskard's RAG evaluation toolkit, offline.

    python tests/golden/giskard/make_giskard.py

Giskard 2.19.2 (``pip install giskard==2.19.2 bokeh``; empty modules stand for umap, which
draws, and datasets, which uploads). The questions are by hand; the judge of
correctness is the library's own, its chat model is replaced by fixed replies. The second metric is
a function of the script, and ``RAGAS Context Recall`` of another that gives what Giskard's class
gives if an answer has no documents: 0. ``frame.csv`` and ``frame.json`` are ``to_pandas()`` saved.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

for name in ("umap", "datasets"):
    sys.modules.setdefault(name, MagicMock())

from giskard.llm.client.base import ChatMessage, LLMClient  # noqa: E402
from giskard.rag import QATestset, RAGReport, evaluate  # noqa: E402
from giskard.rag.base import AgentAnswer  # noqa: E402
from giskard.rag.metrics.base import Metric  # noqa: E402
from giskard.rag.metrics.correctness import CorrectnessMetric  # noqa: E402
from giskard.rag.testset import QuestionSample  # noqa: E402

HERE = Path(__file__).parent
QUESTIONS = [
    ("a1", "Who wrote Emma?", "Jane Austen", "simple", "Books", "Jane Austen", ["Emma, by Austen"]),
    ("b2", "Capital of Italy?", "Rome", "simple", "Places", "Milan", ["Rome", "Milan"]),
    ("c3", "And of Spain?", "Madrid", "conversational", "Places", "Madrid", None),
    ("d4", "How large is Köln?", "1.1 million", "complex", "Places", "1.1 million", ["Köln"]),
]


class Judge(LLMClient):
    """Says that an answer is right if it is the reference answer."""

    def complete(self, messages, **options):
        text = messages[-1].content
        for _key, _, reference, _, _, answer, _ in QUESTIONS:
            if reference in text and answer in text:
                right = reference == answer
                reason = "" if right else f"The agent said {answer}."
                reply = {"correctness": right, "correctness_reason": reason}
                return ChatMessage(role="assistant", content=json.dumps(reply))
        return ChatMessage(role="assistant", content="Read more books.")

    def get_config(self):
        return {}


class Length(Metric):
    def __call__(self, sample, answer):
        return {"answer_share": min(1.0, len(answer.message) / 20)}


class ContextRecall(Metric):
    def __call__(self, sample, answer):
        if answer.documents is None:
            return {"RAGAS Context Recall": 0}
        found = any(sample.reference_answer in text for text in answer.documents)
        return {"RAGAS Context Recall": float(found)}


if __name__ == "__main__":
    testset = QATestset(
        [
            QuestionSample(
                id=key,
                question=question,
                reference_answer=reference,
                reference_context=f"Document 0: {reference}",
                conversation_history=[],
                metadata={"question_type": kind, "topic": topic, "seed_document_id": n},
            )
            for n, (key, question, reference, kind, topic, _, _) in enumerate(QUESTIONS)
        ]
    )
    answers = [AgentAnswer(message=row[5], documents=row[6]) for row in QUESTIONS]
    judge = Judge()
    metrics = [
        CorrectnessMetric(name="correctness", llm_client=judge),
        Length(name="length"),
        ContextRecall(name="recall"),
    ]
    report = evaluate(answers, testset=testset, llm_client=judge, metrics=metrics)
    assert isinstance(report, RAGReport)
    report.to_html = lambda *args, **kwargs: None  # the page needs nothing that is tested
    report.save(str(HERE / "shop_agent"))
    frame = report.to_pandas()
    frame.to_csv(HERE / "frame.csv")
    frame.reset_index().to_json(HERE / "frame.json", orient="records", force_ascii=False)
    expected = {
        "tool": "giskard",
        "version": version("giskard"),
        "correctness": report.correctness,
        "by_question_type": report.correctness_by_question_type()["correctness"].to_dict(),
    }
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
