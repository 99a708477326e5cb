"""Predictions and results of MTEB, written by hand after mteb 2.26.24."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "mteb"
PREDICTIONS, QRELS = FILES / "Toy_predictions.json", FILES / "qrels.tsv"
META = {"model_name": "toy/bm25", "revision": "1"}


def test_predictions_are_scored_against_judgments():
    [evaluation] = read_scores(PREDICTIONS, qrels=QRELS, metrics=["mrr", "ndcg@10"]).values()
    assert evaluation.name == "toy/bm25"
    # The only relevant document is second, first, and not retrieved.
    assert evaluation.scores["mrr"].tolist() == [0.5, 1, 0]
    assert evaluation.scores["ndcg@10"].tolist() == pytest.approx([1 / math.log2(3), 1, 0])


def test_each_subset_and_split_is_a_pipeline(write):
    ranking = {"q1": {"d1": 0.9, "d2": 0.5}}
    document = {"mteb_model_meta": META, "en": {"test": ranking}, "de": {"test": ranking}}
    qrels = {"q1": {"d2": 1}}
    files = read(write(json.dumps(document)), qrels=qrels, metrics="mrr")
    assert [file.pipeline for file in files] == ["toy/bm25, en, test", "toy/bm25, de, test"]
    assert [file.frame["mrr"].tolist() for file in files] == [[0.5], [0.5]]


def test_predictions_without_judgments_say_how_to_pass_them():
    with pytest.raises(ReaderError, match=r"rankings of an MTEB task.*qrels="):
        read(PREDICTIONS)


@pytest.mark.parametrize(
    "document",
    [
        json.loads((FILES / "Toy.json").read_text(encoding="utf-8")),
        {"mteb_dataset_name": "Toy", "mteb_version": "1.2.0", "test": {"ndcg_at_10": 0.5}},
    ],
)
def test_means_are_refused_with_the_way_to_predictions(write, document):
    path = write(json.dumps(document))
    assert recognise(Source(path)) == "mteb"
    with pytest.raises(
        ReaderError, match=r'means over all queries.*prediction_folder="predictions"'
    ):
        read(path)


def test_predictions_of_other_tasks_are_refused(write):
    document = {"mteb_model_meta": META, "default": {"test": [1, 0, 1]}}
    with pytest.raises(ReaderError, match="the predictions of 'default', 'test' are not rankings"):
        read(write(json.dumps(document)), qrels={"q1": {"d": 1}})


@pytest.mark.parametrize("score", ["high", None, 10**400])
def test_a_document_whose_score_is_no_number_is_named_with_its_query(write, score):
    document = {"mteb_model_meta": META, "default": {"test": {"q1": {"d1": score}}}}
    with pytest.raises(ReaderError, match="the documents of the query 'q1' in 'default', 'test'"):
        read(write(json.dumps(document)), qrels={"q1": {"d1": 1}})
