"""RAGBench: twelve sets of questions with documents and the answers of a model."""

from __future__ import annotations

from rageval_report.datasets.base import (
    Dataset,
    RecordFields,
    passage_id,
    require_field,
    require_rows,
    to_list,
)
from rageval_report.datasets.row_sources import Hub, subset_parts
from rageval_report.types import JsonObject

SUBSETS = (
    *("covidqa", "cuad", "delucionqa", "emanual", "expertqa", "finqa"),
    *("hagrid", "hotpotqa", "msmarco", "pubmedqa", "tatqa", "techqa"),
)

# Scores of a judge for the given response; useful for evaluating judges.
_JUDGE_SCORES = ("adherence_score", "relevance_score", "utilization_score", "completeness_score")


def ragbench_rows(document: object) -> list[JsonObject]:
    """The rows of a RAGBench file: one per question.

    Parameters
    ----------
    document : JSON value
        Rows, or one row.

    Raises
    ------
    DataError
        If the document is neither.
    """
    expected = 'rows with "question", "documents" and "all_relevant_sentence_keys"'
    return require_rows(document, "documents", expected)


def ragbench_record(row: JsonObject) -> RecordFields:
    """The record of a question; gold are the documents with a relevant sentence.

    The response was written by a model: it is a reference only if all of it is supported.

    Parameters
    ----------
    row : mapping
        A row of `ragbench_rows`.
    """
    # Rows are named after subset and split, such as covidqa_train.
    subset = str(row.get("dataset_name") or "ragbench").removesuffix("_train")
    subset = subset.removesuffix("_validation").removesuffix("_test")
    texts = [str(text) for text in to_list(row.get("documents"))]
    ids = [passage_id(subset, text) for text in texts]
    keys = row.get("all_relevant_sentence_keys")
    gold = {ids[place]: 1.0 for place in _documents(keys, len(ids))}
    response = row.get("response")
    supported = row.get("adherence_score", row.get("overall_supported"))
    return {
        "query_id": f"{subset}:{require_field(row, 'id', str)}",
        "question": require_field(row, "question", str).strip(),
        # The response of a model is a reference only if the judge found it supported.
        "reference": [response] if response and supported else None,
        "relevant": gold or None,
        "domain": subset,
        "given_response": response,
        "given_by": row.get("generation_model_name"),
        **{name: row.get(name) for name in _JUDGE_SCORES},
        "passages": dict(zip(ids, texts, strict=True)),
    }


def _documents(keys: object, n: int) -> list[int]:
    """The documents named in keys of sentences: "2c" is the third sentence of document 2."""
    numbers = dict.fromkeys(str(key).rstrip("abcdefghijklmnopqrstuvwxyz") for key in to_list(keys))
    return [int(number) for number in numbers if number.isdecimal() and int(number) < n]


RAGBENCH = Dataset(
    "ragbench",
    "Twelve sets of questions with documents and answers of a model, judged by a model",
    "CC BY 4.0, and that of each source",
    "about 95,000 in 12 subsets",
    subset_parts(ragbench_rows, ragbench_record, Hub("rungalileo/ragbench"), "test", SUBSETS),
    subsets=SUBSETS,
    homepage="https://huggingface.co/datasets/rungalileo/ragbench",
)
