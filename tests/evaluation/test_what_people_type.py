"""Names that people type, and the answers that lead them on."""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.demo import write_demo_files
from rageval_report.errors import DataError

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


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda run: compare([run, run]), r"Unpack the list: compare\(\*runs\)"),
        (lambda run: compare(run, run), r"run\.with_name\('\.\.\.'\)"),
        (lambda run: compare(run, "new.csv"), r"Read it first: .*load\('new\.csv'\)"),
        (lambda run: run.failures(0.5, "recall@5"), "expected the name of a metric; got"),
        (
            lambda run: compare(run, run.with_name("new"), margin=5),
            r"margin 5: recall@5 is from 0 to 1",
        ),
        (
            lambda _: RAGPipelineEvaluation(ROWS.assign(question="Who?"), metrics=["question"]),
            "metric 'question' must hold numbers",
        ),
    ],
)
def test_a_mistake_says_what_to_type(evaluation, call, hint):
    with pytest.raises(DataError, match=hint):
        call(evaluation)


def test_a_share_for_a_percentile_is_questioned(evaluation):
    note = "percentiles count from 0 to 100: 0.25 is less than one query in a hundred; 25 may be"
    assert evaluation.evaluation_report(percentiles=[0.25]).notes[0].startswith(note)
    assert evaluation.find_thresholds(percentiles=[0.25]).notes[0].startswith(note)
