"""One name per metric: in the sentences, tables and pictures of a page, and in its text forms."""

import re

import pytest

from rageval_report import compare, rank
from rageval_report.demo import demo_evaluations

TITLES = {"recall@5": "Recall@5", "reciprocal_rank": "Reciprocal Rank", "faithfulness": None}


@pytest.fixture(scope="module", params=["evaluation", "comparison", "ranking"])
def report(request):
    bm25, hybrid = demo_evaluations()
    made = {
        "evaluation": bm25.report,
        "comparison": compare(bm25, hybrid).report,
        "ranking": rank(bm25, hybrid).report,
    }
    return made[request.param]()


def text_of(page: str) -> str:
    """What a reader sees: without scripts, styles, signatures and the words of code."""
    for kind in ("script", "style", "code"):
        page = re.sub(rf"<{kind}\b.*?</{kind}>", "", page, flags=re.DOTALL)
    return page


@pytest.mark.parametrize("name", TITLES)
def test_a_page_says_the_title_of_a_metric_and_never_its_name(report, name):
    page = text_of(report.to_html())
    assert not re.findall(rf".{{30}}(?<![\w@.'\"]){re.escape(name)}(?![\w@]).{{9}}", page)
    assert report.wording.labels[name] in page
