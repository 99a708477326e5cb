"""The pages by axe-core: light, dark, on a phone, with names in other scripts, all parts open."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.demo import demo_evaluations

pytestmark = pytest.mark.browser

axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
_SCRIPT = Path(axe.__file__).with_name("axe.min.js")

VIEWS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, tuple[Path, str]]:
    """Each page with the fragment that opens a query."""
    folder = tmp_path_factory.mktemp("axe")
    first, second = demo_evaluations()
    names = (
        "ベースライン検索パイプライン_段落512",
        "المسترجع الهجين مع إعادة الترتيب_256",
        "检索增强_128",
    )
    frames = (first.to_frame(), second.to_frame(), second.to_frame().assign(exact_match=1.0))
    others = [RAGPipelineEvaluation(name, frame) for name, frame in zip(names, frames, strict=True)]
    reports = {
        "two": compare(first, second, margin={"faithfulness": 0.08}).report(),
        "one": first.report(),
        "other scripts": compare(*others).report(),
        "ranking": rank(*others).report(),
    }
    return {
        name: (report.save(folder / f"{place}.html"), "open=q025")
        for place, (name, report) in enumerate(reports.items())
    }


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["two", "one", "other scripts", "ranking"])
def test_axe_has_nothing_to_say(opened, pages, name, view):
    page = opened(*pages[name], **VIEWS[view])
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    page.evaluate(_SCRIPT.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    complaints = [
        (violation["id"], node["html"][:120])
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
    assert complaints == []
