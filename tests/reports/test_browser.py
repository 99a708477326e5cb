"""The page in headless Chromium: clicked, typed into, sorted, filtered, shared, printed."""

from __future__ import annotations

import re

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = sync_api.expect

pytestmark = pytest.mark.browser

IDS = ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]


# In the order of their overall change, which tests/reports/test_views.py has by hand.
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


# -- one pipeline


# -- colours, widths, paper


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


def test_without_scripts_all_but_the_queries_is_there(opened, demo_page):
    page = opened(demo_page, java_script_enabled=False)
    assert page.get_by_text("Enable JavaScript to see the 202 queries").is_visible()
    assert page.locator("table").count() > 5
