"""Write Haystack's reports of two made-up runs, and what its objects hold.

    python tests/golden/haystack/make_haystack.py     # pip install haystack-ai==3.4.0 pandas

The evaluators are Haystack's own that need no model, and one made-up score with a NaN. The second
run's questions stand in the order of the first, as its comparative report supposes.
"""

import json
import math
from importlib.metadata import version
from pathlib import Path

from haystack import Document
from haystack.components.evaluators import (
    AnswerExactMatchEvaluator,
    DocumentMRREvaluator,
    DocumentRecallEvaluator,
)
from haystack.evaluation import EvaluationRunResult

HERE = Path(__file__).parent
QUESTIONS = ["Who wrote 'Emma'?", "Capital of Italy?", 'What is "RAG"?', "Größe von Köln?"]
TRUTHS = ["Jane Austen", "Rome", "retrieval-augmented generation", "1.1 million"]
ANSWERS = {
    "bm25_v1": ["Jane Austen", "Rome, Italy", "None", "1.1 million"],
    "hyde_v1": ["Jane Austen", "Rome", "retrieval-augmented generation", "None"],
}
CONTEXTS = [["Emma is by\nJane Austen.", "It's a novel."], ["Rome is."], [], ['"Köln"', "x"]]
SCORES = {"bm25_v1": [1.0, 0.5, math.nan, 0.25], "hyde_v1": [1.0, 0.75, 0.5, -0.0625]}


def run_of(name):
    truth = [[Document(id=f"d{number}", content=text)] for number, text in enumerate(TRUTHS)]
    found = [truth[0], truth[1][::-1] + truth[0], truth[0] + truth[2], truth[1]]
    found = found if name == "bm25_v1" else truth
    documents = {"ground_truth_documents": truth, "retrieved_documents": found}
    results = {
        "exact_match": AnswerExactMatchEvaluator().run(TRUTHS, ANSWERS[name]),
        "document_mrr": DocumentMRREvaluator().run(**documents),
        "document_recall": DocumentRecallEvaluator().run(**documents),
        "sas": {"score": math.nan, "individual_scores": SCORES[name]},
    }
    inputs = {
        "questions": QUESTIONS,
        "contexts": CONTEXTS,
        "ground_truth_answers": TRUTHS,
        "predicted_answers": ANSWERS[name],
    }
    return EvaluationRunResult(name, inputs, results)


def tutorial(run):
    """The same run with the names of inputs and metrics of Haystack's tutorials."""
    inputs = {
        "question": run.inputs["questions"],
        "contexts": run.inputs["contexts"],
        "answer": run.inputs["ground_truth_answers"],
        "predicted_answer": run.inputs["predicted_answers"],
    }
    names = {"document_recall": "doc_recall_single_hit", "document_mrr": "doc_mrr"}
    results = {names.get(name, name): result for name, result in run.results.items()}
    documents = {"score": 1.0, "individual_scores": [1.0, 0.5, 0.0, 0.25]}
    return EvaluationRunResult(run.run_name, inputs, {**results, "doc_recall_multi_hit": documents})


def dumped(run):
    return {"run_name": run.run_name, "inputs": run.inputs, "results": run.results}


def write(name, content):
    text = json.dumps(content, ensure_ascii=False, indent=1)
    (HERE / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    first, second = run_of("bm25_v1"), run_of("hyde_v1")
    first.detailed_report("csv", str(HERE / "detailed.csv"))
    first.detailed_report("df").to_csv(HERE / "detailed_frame.csv")
    write("detailed.json", first.detailed_report("json"))
    first.aggregated_report("csv", str(HERE / "aggregated.csv"))
    first.comparative_detailed_report(
        second,
        keep_columns=["predicted_answers"],
        output_format="csv",
        csv_file=str(HERE / "comparative.csv"),
    )
    first.comparative_detailed_report(
        second,
        keep_columns=list(first.inputs),
        output_format="csv",
        csv_file=str(HERE / "comparative_all_kept.csv"),
    )
    first.comparative_detailed_report(
        second,
        keep_columns=["questions"],
        output_format="csv",
        csv_file=str(HERE / "comparative_questions_kept.csv"),
    )
    tutorial(first).detailed_report("csv", str(HERE / "tutorial.csv"))
    tutorial(first).comparative_detailed_report(
        tutorial(second),
        keep_columns=["predicted_answer"],
        output_format="csv",
        csv_file=str(HERE / "tutorial_comparative.csv"),
    )
    write("comparative.json", first.comparative_detailed_report(second))
    write("run.json", dumped(first))
    write("runs.json", [dumped(first), dumped(second)])
    told = {
        "tool": "haystack-ai",
        "version": version("haystack-ai"),
        "command": "python tests/golden/haystack/make_haystack.py",
        "values": {
            run.run_name: {
                metric: [None if math.isnan(score) else score for score in one["individual_scores"]]
                for metric, one in run.results.items()
            }
            for run in (first, second)
        },
    }
    write("expected.json", told)
