"""The page in headless Chromium: clicked, typed into, sorted, filtered, shared, printed."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from matplotlib.image import imread

from rageval_report import RAGPipelineEvaluation, compare

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = pytest.mark.browser

IDS = ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]


# In the order of their overall change, which tests/reports/views/test_changed.py has by hand.
BY_CHANGE = ["q2", "q4", "q7", "q1", "q5", "q6", "q3", "q8", "q9"]


def ids(page):
    return page.locator(".queries .entry").evaluate_all("(rows) => rows.map((r) => r.dataset.id)")


def toggle(page, query_id):
    return page.locator(f'.queries .entry[data-id="{query_id}"] .toggle')


def button(page, name):
    return page.get_by_role("button", name=name)


def search(page, text):
    page.get_by_role("searchbox").fill(text)
    expect(page).to_have_url(re.compile(r"[#&]q=" if text else r"^(?!.*[#&]q=)"))


def control(page, name):
    return page.locator(".filters").get_by_label(name, exact=True)


def head_of(page, name):
    return page.locator(".queries").get_by_role("columnheader", name=name, exact=True)


def shows(page, n):
    expect(page.locator(".queries .toggle")).to_have_count(n)


def status(page):
    return page.locator(".found").inner_text()


@pytest.fixture
def page(opened, compared_page):
    """In the order of the ids, which most tests do not care about."""
    return opened(compared_page, "sort=query")


@pytest.fixture
def single(opened, single_page):
    return opened(single_page)


# -- what is there


def test_the_answer_comes_first_and_every_section_has_its_heading(page):
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert headings == [
        *("Every metric", "What changed", "Why queries fail", "Does it hold everywhere?"),
        *("All queries", "Each pipeline", "How it was made", "Notes"),
    ]


def test_the_table_shows_the_queries_of_both_runs(page):
    assert ids(page) == IDS
    assert status(page) == "9 of 9 queries"


def test_text_can_be_selected(page):
    page.get_by_text("hybrid is worse than bm25").first.click(click_count=3)
    assert "hybrid is worse" in page.evaluate("String(getSelection())")


def test_pictures_are_drawn_of_text_that_can_be_read(single):
    figure = single.locator("#metrics figure").first
    assert "Faithfulness" in figure.inner_text()
    assert figure.locator("svg").bounding_box()["height"] > 100


def test_without_an_order_the_largest_fall_comes_first(opened, compared_page):
    page = opened(compared_page)
    assert ids(page) == BY_CHANGE
    assert page.get_by_text("The largest fall over all metrics comes first.").is_visible()


def test_a_row_begins_with_the_question_and_draws_all_metrics(page):
    heads = [head.strip() for head in page.locator(".queries thead th").all_inner_texts()]
    assert heads == [
        *("Question", "Outcome", "Exact Match", "Hit@5", "Faithfulness", "Latency (ms)", "Query"),
    ]
    row = page.locator('.queries .entry[data-id="q3"]')
    assert row.locator(".toggle").inner_text() == "What is the fee number 3?"
    drawn = row.locator(".dumbbell").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert drawn == [
        *("Exact Match: 0.000 → 1.000", "Hit@5: 0.000 → 1.000", "Faithfulness: 0.330 → 0.830"),
        "Latency (ms): 120.0 → 220.0",
    ]
    # Right is better: a slower query is drawn to the left.
    tick, dot = (
        float(row.locator(".dumbbell").last.locator(place).get_attribute(name))
        for place, name in (("line.before", "x1"), ("circle", "cx"))
    )
    assert dot < tick
    lost = page.locator('.queries .entry[data-id="q7"] .dumbbell').first
    assert lost.get_attribute("aria-label") == "Exact Match: failed → 1.000"
    assert lost.locator("circle").count() == 1
    assert lost.locator("line.before").count() == 0


# -- search, sort, filter


def test_a_search_looks_at_questions_answers_contexts_and_reasons(page):
    for text, found in (("number 4", ["q4"]), ("FREE", ["q4"]), ("other 9", ["q9"])):
        search(page, text)
        assert ids(page) == found
    search(page, "timed judge")
    assert ids(page) == ["q7"]
    search(page, "nowhere at all")
    assert page.get_by_text("No query matches these filters.").is_visible()
    search(page, "")
    assert sorted(ids(page)) == IDS


def test_a_click_on_a_heading_sorts_up_then_down_then_not(page):
    control(page, "Scores shown").select_option(label="Faithfulness")
    head = head_of(page, "hybrid")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert ids(page) == ["q2", "q1", "q4", "q5", "q7", "q6", "q3", "q9", "q8"]
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert ids(page) == ["q9", "q3", "q6", "q7", "q5", "q4", "q1", "q2", "q8"]  # unscored last
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "none"
    assert ids(page) == BY_CHANGE


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("both right", ["q1", "q5"]),
        ("became wrong", ["q2"]),
        ("became right", ["q3"]),
        ("both wrong", ["q4", "q6"]),
        ("unknown", ["q7"]),
        ("only in the candidate", ["q9"]),
    ],
)
def test_outcomes_filter(page, name, found):
    pressed = button(page, re.compile(f"^{name} "))
    pressed.click()
    assert ids(page) == found
    assert pressed.get_attribute("aria-pressed") == "true"
    assert status(page) == f"{len(found)} of 9 queries: {name}"
    pressed.click()
    assert ids(page) == IDS


def test_two_outcomes_are_either(page):
    button(page, re.compile("^became wrong")).click()
    button(page, re.compile("^became right")).click()
    assert ids(page) == ["q2", "q3"]


def test_slices_and_causes_filter_together(page):
    control(page, "topic").select_option("ferry")
    assert ids(page) == ["q2", "q4", "q6", "q8"]
    control(page, "Why bm25 fails").select_option("retrieval")
    assert ids(page) == ["q6"]
    assert status(page) == "1 of 9 queries: bm25 fails because of retrieval; topic: ferry"


def test_thresholds_filter_by_either_run_and_by_the_change(page):
    button(page, "Add a condition").click()
    control(page, "Metric").select_option(label="Faithfulness")
    control(page, "Of").select_option(label="bm25")
    control(page, "Threshold").fill("0.44")
    assert ids(page) == ["q1", "q2", "q3"]
    control(page, "Relation").select_option("≥")
    assert ids(page) == ["q4", "q5", "q6", "q7", "q8"]
    button(page, "Add a condition").click()
    control(page, "Metric").last.select_option(label="Faithfulness")
    control(page, "Of").last.select_option(label="change")
    control(page, "Threshold").last.fill("0")
    assert ids(page) == ["q7"]
    button(page, "Remove the condition on Faithfulness").first.click()
    assert ids(page) == ["q2", "q7"]


def test_unscored_and_failed_are_conditions(page):
    button(page, "Add a condition").click()
    control(page, "Metric").select_option(label="Exact Match")
    control(page, "Of").select_option(label="bm25")
    control(page, "Relation").select_option("unscored")
    assert ids(page) == ["q7", "q9"]
    control(page, "Relation").select_option("failed")
    assert ids(page) == ["q7"]


def test_reset_takes_all_filters_away(page):
    search(page, "fee")
    button(page, re.compile("^both wrong")).click()
    button(page, "Reset").click()
    assert ids(page) == BY_CHANGE
    assert page.get_by_role("searchbox").input_value() == ""
    assert "=" not in page.url


# -- a row that is open


def test_an_open_row_shows_all_that_is_known(page):
    page.get_by_text("What is the fee number 7?").click()
    detail = page.locator(".detail")
    told = detail.inner_text()
    for part in ("7 crowns", "the judge timed out", "failed", "a shared passage", "other 7"):
        assert part in told
    assert "also context 1 of hybrid" in told
    assert detail.get_by_role("heading", level=3).all_inner_texts() == [
        *("Question", "Reference", "Answers", "Scores", "Contexts", "Other details")
    ]


def test_the_differences_of_the_answers_are_marked(page):
    toggle(page, "q3").click()
    assert page.locator(".detail del").all_inner_texts() == ["7"]
    assert page.locator(".detail ins").all_inner_texts() == ["3"]
    assert page.locator(".detail .side .text").first.inner_text() == "it costs 7 crowns"


def test_gold_contexts_are_marked_by_their_ids(opened, tmp_path):
    runs = [
        RAGPipelineEvaluation(
            name,
            {
                "query_id": ["q1", "q2"],
                "f1": [0.5, 1.0],
                "contexts": [["first text", "second text"], ["third", "fourth"]],
                "retrieved_ids": [["d1", "d2"], ["d3", "d4"]],
                "relevant": [["d2"], ["d9"]],
            },
        )
        for name in ("old", "new")
    ]
    page = opened(compare(*runs).report(pictures=False).save(tmp_path / "gold.html"), "open=q1")
    side = page.locator(".detail .side").last
    assert "1 of 2 gold" in side.inner_text()
    assert side.locator("li.gold").all_inner_texts() == [
        "★ gold\n\nsecond text\n\nalso context 2 of old"
    ]
    toggle(page, "q2").click()
    assert "0 of 2 gold" in page.locator(".detail .side").last.inner_text()


def test_equal_answers_say_so(page):
    toggle(page, "q5").click()
    assert page.get_by_text("Both answers are the same.").is_visible()
    assert page.locator(".detail del, .detail ins").count() == 0


def test_a_click_closes_it_again(page):
    for expanded in ("true", "false"):
        toggle(page, "q2").click()
        assert toggle(page, "q2").get_attribute("aria-expanded") == expanded
    assert page.locator(".detail").count() == 0


# -- the keyboard


def test_all_of_it_is_reached_and_done_by_keyboard(page):
    page.get_by_role("searchbox").focus()
    page.keyboard.type("number 2")
    shows(page, 1)
    toggle(page, "q2").focus()
    page.keyboard.press("Enter")
    assert page.locator(".detail").is_visible()
    page.keyboard.press("Enter")
    assert page.locator(".detail").count() == 0


def test_the_arrows_go_from_query_to_query(page):
    toggle(page, "q1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.closest('.entry').dataset.id") == "q2"


def test_j_and_k_go_from_an_open_query_to_the_next_and_back(page):
    toggle(page, "q2").press("Enter")
    page.keyboard.press("j")
    assert "open=q3" in page.url
    assert page.locator(".detail").count() == 1
    assert page.evaluate("document.activeElement.closest('.entry').dataset.id") == "q3"
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("k")  # before the first one nothing happens
    assert "open=q1" in page.url
    page.get_by_role("searchbox").focus()
    page.keyboard.type("jk")
    assert page.get_by_role("searchbox").input_value() == "jk"


def test_next_goes_to_the_next_page_of_the_table(opened, large_enough):
    page = opened(large_enough, "sort=query&size=25&open=q025")
    assert ids(page)[-1] == "q025"
    page.get_by_role("button", name="Next query").click()
    assert ids(page)[0] == "q026"
    assert "page=2" in page.url
    page.get_by_role("button", name="Previous query").click()
    assert ids(page)[-1] == "q025"


def test_a_link_to_a_query_opens_the_page_of_the_table_that_has_it(opened, large_enough):
    page = opened(large_enough, "open=q101")
    assert "q101" in ids(page)
    assert page.locator(".detail").count() == 1
    link = page.get_by_role("link", name="Link to this query")
    assert link.get_attribute("href") == "#open=q101"


@pytest.fixture
def large_enough(demo_page):
    return demo_page


def test_a_query_is_copied_as_markdown_for_an_issue(opened, compared_page):
    page = opened(compared_page, "open=q3", permissions=["clipboard-read", "clipboard-write"])
    button(page, "Copy as Markdown").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text.startswith("## Query q3\n")
    assert "**Answer of hybrid**\n\n```text\nit costs 3 crowns\n```" in text
    assert "| Faithfulness | 0.330 | 0.830 |" in text


def test_sorting_keeps_the_focus(page):
    head_of(page, "Outcome").get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Outcome"


def test_what_has_the_focus_is_seen(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the queries"
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"


def test_every_control_has_a_name(page):
    button(page, "Add a condition").click()
    toggle(page, "q1").click()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input")].filter((one) =>
            !(one.matches("button") && one.textContent.trim()) &&
            !one.getAttribute("aria-label") && !one.labels?.length).length"""
    )
    assert nameless == 0


# -- the address


def test_a_view_is_in_the_address_and_comes_back(page, opened, compared_page):
    search(page, "crown")
    control(page, "Scores shown").select_option(label="Faithfulness")
    control(page, "topic").select_option("tax")
    button(page, "Add a condition").click()
    control(page, "Of").select_option(label="change")
    control(page, "Relation").select_option(">")
    control(page, "Threshold").fill("-0.5")
    head_of(page, "Change").get_by_role("button").click()
    toggle(page, "q3").click()
    seen, said, address = ids(page), status(page), page.url
    assert seen == ["q7", "q1", "q5", "q3"]
    page.reload()
    assert (ids(page), status(page)) == (seen, said)
    assert page.locator(".detail").count() == 1
    assert control(page, "Threshold").input_value() == "-0.5"
    again = opened(compared_page, address.partition("#")[2])
    assert (ids(again), status(again)) == (seen, said)
    assert "faithfulness of change > -0.5" in status(again)


@pytest.mark.parametrize(
    "fragment", ["page=99&size=7&open=nobody&where=x&sort=-%00&with=__proto__&outcome=", "a=%"]
)
def test_an_address_that_makes_no_sense_shows_everything(opened, compared_page, fragment):
    page = opened(compared_page, fragment)
    assert len(ids(page)) in (0, 9)
    button(page, "Reset").click()
    assert ids(page) == BY_CHANGE


def test_another_address_changes_the_view_without_a_reload(page):
    page.evaluate("location.hash = 'outcome=both+wrong'")
    shows(page, 2)
    assert sorted(ids(page)) == ["q4", "q6"]


def test_links_to_sections_keep_the_view(page):
    search(page, "number 4")
    page.get_by_role("link", name="What changed").click()
    assert "q=number+4" in page.url
    assert page.evaluate("document.activeElement.id") == "outcomes"


# -- one pipeline


def test_one_pipeline_has_a_column_for_each_metric(single):
    heads = single.locator(".queries thead th").all_inner_texts()
    assert [head.strip() for head in heads] == [
        *("Question", "Answer", "Cause", "Hit@5", "Exact Match", "Faithfulness"),
        *("Latency (ms)", "Query"),
    ]
    button(single, re.compile("^wrong ")).click()
    assert ids(single) == ["q3", "q4", "q6"]
    control(single, "Cause of failure").select_option("generation")
    assert ids(single) == ["q4"]


# -- colours, widths, paper


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_it_is_dark_where_the_system_is_and_as_told_by_the_switch(opened, compared_page):
    page = opened(compared_page, color_scheme="dark")
    dark = background(page)
    button(page, "Light").click()
    light = background(page)
    assert (dark, light) == ("rgb(20, 23, 27)", "rgb(255, 255, 255)")
    page.reload()
    assert background(page) == light
    button(page, "Auto").click()
    assert background(page) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_their_ground(opened, compared_page, scheme):
    page = opened(compared_page, color_scheme=scheme)
    contrasts = page.evaluate(
        """() => {
          const part = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
          const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number);
            return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
          const ground = (e) => { for (; e; e = e.parentElement) {
            const c = getComputedStyle(e).backgroundColor;
            if (!/, 0\\)$|transparent/.test(c)) return c; } };
          return ["p", "h2", "li", "td", "th", "a", "caption", ".worse", ".better", "label"]
            .flatMap((one) => [...document.querySelectorAll(one)].slice(0, 30)).map((e) => {
              const [a, b] = [light(getComputedStyle(e).color), light(ground(e))];
              return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); });
        }"""
    )
    assert min(contrasts) >= 4.5  # WCAG 2.2, level AA


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_width_needs_to_be_scrolled_sideways(opened, demo_page, width):
    page = opened(demo_page, "open=q002", viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_paper_holds_every_section_every_query_and_no_control(opened, demo_page):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    page = opened(demo_page, "open=q002")
    shown = ids(page)
    pages = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages
    text = "\n".join(one.extract_text() for one in pages)
    assert 10 <= len(pages) <= 30
    for part in ("What changed", "by domain", "Evaluation of hybrid", "q001", "q150", "q200"):
        assert part in text
    assert "10 crowns." in text  # of the row that is open
    assert "Add a condition" not in text
    assert ids(page) == shown
    assert page.locator("details[open]").count() == 0


def test_without_scripts_all_but_the_queries_is_there(opened, demo_page):
    page = opened(demo_page, java_script_enabled=False)
    assert page.get_by_text("A script shows the 202 queries").is_visible()
    assert page.locator("table").count() > 5


def test_on_a_phone_the_heads_of_an_opened_query_stand_over_their_columns(opened, compared_page):
    page = opened(compared_page)
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator(".queries .toggle").first.click()
    ends = page.locator(".detail table").evaluate(
        """(table) => [...table.rows].slice(0, 2).map((row) =>
            [...row.cells].map((cell) => Math.round(cell.getBoundingClientRect().right)))"""
    )
    assert ends[0] == ends[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_goes_on_beyond_the_edge_is_shaded_there(opened, demo_page, scheme):
    page = opened(demo_page)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 800})
    cut = page.locator("#pipelines .scroll").first
    assert cut.evaluate("(one) => one.scrollWidth > one.clientWidth")
    assert _ground(cut, -2) != _ground(cut, 100)
    cut.evaluate("(one) => one.scrollTo(one.scrollWidth, 0)")
    assert _ground(cut, -2) == _ground(cut, 100)


def _ground(element, place):
    """The usual colour of a column of pixels."""
    pixels = imread(io.BytesIO(element.screenshot()))
    return np.median(pixels[:, place], axis=0).round(3).tolist()
