"""Files of RAGChecker 0.1.9 (tests/golden/ragchecker), and its own example."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import read
from rageval_report.readers.frameworks.ragchecker import RAGCHECKER
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "ragchecker"
DOCUMENT = json.loads((GOLDEN / "results.json").read_text())
METRICS = list(DOCUMENT["results"][0]["metrics"])
# r3 answers without a claim, r4 has a reference without one, r5 retrieved nothing.
OF_THE_ANSWER = ("noise_sensitivity_in_relevant", "hallucination", "self_knowledge", "faithfulness")


@pytest.fixture(scope="module")
def found():
    [one] = read(GOLDEN / "results.json", reader=RAGCHECKER)
    return one


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_the_file_or_not_applicable(found, metric):
    states = found.frame.get(f"{metric}_state", ["scored"] * len(found.frame))
    rows = zip(found.frame[metric], states, DOCUMENT["results"], strict=True)
    for score, state, row in rows:
        if state == "scored":
            assert score == row["metrics"][metric]
        else:
            assert (state, row["metrics"][metric]) == ("not applicable", 0.0)


@pytest.mark.parametrize("metric", METRICS)
def test_with_what_does_not_apply_as_0_the_means_are_ragchecker_s_own(found, metric):
    told = {name: mean for group in DOCUMENT["metrics"].values() for name, mean in group.items()}
    assert round(found.frame[metric].fillna(0).mean() * 100, 1) == told[metric]


@pytest.mark.parametrize(
    ("metric", "query", "reason"),
    [
        ("precision", "r3", "the answer makes no claim"),
        ("f1", "r3", "the answer makes no claim"),
        ("recall", "r4", "the reference makes no claim"),
        ("claim_recall", "r4", "the reference makes no claim"),
        ("context_precision", "r5", "nothing was retrieved"),
        ("context_utilization", "r5", "nothing was retrieved"),
        *((metric, "r3", "the answer makes no claim") for metric in OF_THE_ANSWER),
        *((metric, "r5", "nothing was retrieved") for metric in OF_THE_ANSWER),
    ],
)
def test_zero_of_nothing_is_not_applicable(found, metric, query, reason):
    row = found.frame.set_index("query_id").loc[query]
    assert (row[f"{metric}_state"], row[f"{metric}_reason"]) == ("not applicable", reason)


def test_claims_that_were_not_retrieved_cannot_be_used(write):
    row = DOCUMENT["results"][0] | {
        "retrieved2answer": [["Neutral", "Contradiction"]] * 3,
        "metrics": {"context_utilization": 0.0},
    }
    [found] = read(write(json.dumps({"results": [row]})), reader=RAGCHECKER)
    assert found.frame["context_utilization_reason"].tolist() == [
        "no claim of the reference was retrieved"
    ]


def test_what_ragchecker_counts_as_0_is_told(found):
    assert "its own means count that" in found.notes[0]
    assert "faithfulness (2)" in found.notes[0]


def test_directions_are_those_of_the_framework(found):
    names = list(found.metric_columns)
    table = score_table(found.frame[["query_id", *names]], known=found.metrics, only=names)
    lower = {name for name, metric in table.metrics.items() if not metric.greater_is_better}
    noise = {"noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant"}
    assert lower == {"hallucination", "self_knowledge", *noise}


def test_precision_of_claims_is_not_that_of_documents(found):
    names = list(found.metric_columns)
    table = score_table(found.frame[["query_id", *names]], known=found.metrics, only=names)
    assert table.metrics["precision"].group == "generation"
    assert table.metrics["precision"].known_as == "claim_precision"


def test_inputs_say_what_they_are():
    with pytest.raises(ReaderError, match="have no metrics: the file is RAGChecker's input"):
        read(GOLDEN / "inputs.json", reader=RAGCHECKER)
