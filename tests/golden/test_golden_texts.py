"""BLEU, chrF and ROUGE against sacrebleu 2.6.0 and rouge-score 0.1.2, as they were once.

Other tests compare with the packages that are installed; these hold when the packages move.
"""

import pytest

from rageval_report import score
from rageval_report.metrics.overlap import pooled_bleu, rouge_scores
from rageval_report.metrics.text import Answers

FIGURES = ("precision", "recall", "fmeasure")


@pytest.fixture(scope="module", autouse=True)
def extra():
    """Our functions need the extra "text", whose packages they call."""
    for package in ("sacrebleu", "rouge_score", "rapidfuzz"):
        pytest.importorskip(package)


@pytest.fixture(scope="module")
def records(golden):
    return [
        {"query_id": f"q{place}", "answer": text["answer"], "reference": text["references"]}
        for place, text in enumerate(golden("texts.json")["texts"])
    ]


@pytest.mark.parametrize(("metric", "told_as"), [("bleu", "sentence_bleu"),
                                                 ("chrf", "sentence_chrf")])  # fmt: skip
def test_sentences_score_as_sacrebleu_scored_them(golden, records, metric, told_as):
    told = [min(value / 100, 1.0) for value in golden("texts_sacrebleu.json")["values"][told_as]]
    assert score(records, metric).scores[metric].tolist() == pytest.approx(told, abs=1e-15)


def test_the_corpus_scores_as_sacrebleu_scored_it(golden, records):
    told = golden("texts_sacrebleu.json")["values"]["corpus_bleu"]
    answers = Answers([row["answer"] for row in records], [row["reference"] for row in records])
    assert pooled_bleu(answers) == pytest.approx(told / 100, abs=1e-15)


@pytest.mark.parametrize("stem", [True, False])
@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_pairs_score_as_rouge_score_scored_them(golden, records, stem, name):
    told = golden("texts_rouge_score.json")["values"]["stemmed" if stem else "plain"]
    pairs = [(row["answer"], one) for row in records for one in row["reference"]]
    ours = rouge_scores(*zip(*pairs, strict=True), types=[name], stem=stem)[name]
    expected = [figures[name] for figures_of_text in told for figures in figures_of_text]
    columns = (ours[figure].tolist() for figure in FIGURES)
    assert [list(row) for row in zip(*columns, strict=True)] == expected


@pytest.mark.parametrize(("metric", "name"), [("rouge_1", "rouge1"), ("rouge_2", "rouge2"),
                                              ("rouge_l", "rougeL")])  # fmt: skip
def test_of_several_references_the_best_counts(golden, records, metric, name):
    told = golden("texts_rouge_score.json")["values"]["stemmed"]
    best = [max(figures[name][2] for figures in of_text) for of_text in told]
    assert score(records, metric).scores[metric].tolist() == best
