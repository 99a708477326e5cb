"""Names that people type, and the answers that lead them on."""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.demo import write_demo_files

ROWS = pd.DataFrame({"query_id": ["a", "b", "c"], "recall@5": [1.0, 0.5, 0.0]})


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("hybrid", ROWS)


def test_printing_an_evaluation_prints_its_report(evaluation):
    assert str(evaluation) == str(evaluation.evaluation_report())
    assert repr(evaluation) == "RAGPipelineEvaluation('hybrid', 3 queries, 1 metrics)"


def test_a_page_is_a_text_and_a_card_for_notebooks(evaluation):
    page = evaluation.with_name("<b>").report(pictures=False)
    assert str(page) == page.to_text()
    card = page._repr_html_()
    assert "Evaluation of &lt;b&gt;" in card
    assert "3 queries: .save(&#34;report.html&#34;)" in card


def test_the_name_is_that_of_the_file_or_a_plain_one(tmp_path):
    path = write_demo_files(tmp_path)[0]
    assert RAGPipelineEvaluation.load(path).name == RAGPipelineEvaluation.load(str(path)).name
    assert RAGPipelineEvaluation.load(path).name == "bm25"
    assert RAGPipelineEvaluation(ROWS).name == "pipeline"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("thresholds", "find_thresholds()"),
        ("plot_distribution", 'plot("distribution")'),
        ("compare", "compare(baseline, candidate)"),
        ("detail_report", "'detailed_report'"),
    ],
)
def test_a_wrong_attribute_names_the_right_one(evaluation, name, call):
    with pytest.raises(AttributeError) as caught:
        getattr(evaluation, name)
    assert call in str(caught.value)
    assert not hasattr(evaluation, "_ipython_display_")


def test_names_of_other_tools_are_known(evaluation):
    other = RAGPipelineEvaluation("old", ROWS.assign(**{"recall@5": [0.5, 0.5, 0.25]}))
    ours, theirs = (
        compare(other, evaluation, test=test, correction=correction).frame
        for test, correction in (("t", "bh"), ("student", "fdr_bh"))
    )
    pd.testing.assert_frame_equal(ours, theirs)
    assert evaluation.plot("hist").get_title() == evaluation.plot("distribution").get_title()
