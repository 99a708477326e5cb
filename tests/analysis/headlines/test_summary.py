"""The answer above the verdicts, wherever a comparison or a ranking is shown."""

import pytest

from rageval_report import RAGPipelineEvaluation, Result, compare, rank
from rageval_report.analysis.effects import main_effects
from rageval_report.demo import demo_evaluations
from rageval_report.reports.comparison_report import comparison_headline
from rageval_report.reports.ranking_sentences import ranking_headline


@pytest.fixture(scope="module")
def comparison():
    return compare(*demo_evaluations())


def test_a_comparison_opens_with_its_headline(comparison):
    text = str(comparison).split("\n\n")
    assert text[0] == comparison_headline(comparison).text[:-1] + " (198 queries)."
    assert text[1].startswith("metric  ")
    assert len(str(comparison).splitlines()) <= 20


def test_a_ranking_opens_with_its_headline():
    ranking = rank(*demo_evaluations())
    assert str(ranking).startswith(ranking_headline(ranking).text[:-1])


def test_notebooks_and_markdown_have_it_too(comparison):
    assert comparison.summary[:-1] in comparison._repr_html_()
    assert "undecided" in comparison._repr_html_()
    assert comparison.summary in comparison.to_markdown()
    assert r"worse on latency\_ms." in comparison.to_latex()
    assert comparison.to_html().index(comparison.summary) < comparison.to_html().index("<li")


def test_tables_of_several_baselines_have_none():
    def cell(k, gain):
        data = {"query_id": list("abcdef"), "recall": [gain + n / 10 for n in range(6)]}
        return RAGPipelineEvaluation(f"k{k}-{gain}", data, config={"k": k, "gain": gain})

    effects = main_effects([cell(k, gain) for k in (5, 10) for gain in (0.0, 0.25)])
    assert effects.summary == ""


def test_other_results_have_none(comparison):
    assert Result("Means", comparison.frame).summary == ""


def test_a_report_says_its_headline_once(comparison):
    text = comparison.report(pictures=False).to_text()
    assert " ".join(text.split()).count("hybrid is better than bm25 on 3 of 8 metrics") == 1
