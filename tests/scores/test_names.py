"""Short names: no two equal, in order, and short names stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.scores.names import (
    WIDEST,
    cut_in_middle,
    display_width,
    shorten_names,
)

ARAGOG = [
    f"detailed_all-mpnet-base-v2__top_k={k}__chunk_size={size}"
    for k in (1, 2, 3)
    for size in (64, 128, 256)
]
AZURE = [
    f"rag-{model}-{search}-{size}/eval_results"
    for model in ("gpt-4o-mini", "gpt-4.1")
    for search in ("vector", "hybrid", "semantic-hybrid")
    for size in ("small", "large")
]


def test_a_grid_is_named_by_its_settings_and_what_is_shared_is_said_once():
    names = shorten_names(ARAGOG)
    assert names.short[0] == "top_k=1 · chunk_size=64"
    assert names.marks[0] == "1 · 64"
    assert [column.heading for column in names.columns] == ["top_k", "chunk_size"]
    assert names.columns[1].values == ("64", "128", "256") * 3
    assert names.shared == ("detailed_all-mpnet-base-v2",)
    assert names.shared_sentence == (
        'Every name contains "detailed_all-mpnet-base-v2", which is not repeated here.'
    )
    assert names.legend[0] == f"top_k=1 · chunk_size=64 = {ARAGOG[0]}"


@pytest.mark.parametrize(
    "names", [["bm25", "hybrid"], ["v1", "v2", "v3"], ["a__k=1", "a__k=2"], ["only one"], []]
)
def test_names_that_are_short_stay(names):
    assert list(shorten_names(names).short) == names
    assert shorten_names(names).legend == ()


def test_a_name_is_cut_in_its_middle_and_equal_ones_get_numbers():
    names = ["a" * 40 + middle + "b" * 40 for middle in "xyz"]
    short = shorten_names(names).short
    assert [name[-2:] for name in short] == [" 1", " 2", " 3"]
    assert {name[:-2] for name in short} == {f"{'a' * 15}…{'b' * 14}"}


@pytest.mark.parametrize(
    "names",
    [
        [f"検索方式_とても長い名前の実験_設定その{n}_第三版の評価" for n in "一二三四"],
        [f"تقييم_نظام_البحث_الهجين_الإصدار_{n}_النهائي" for n in ("الأول", "الثاني", "الثالث")],
        [f"experiment number {n} of the whole long series" for n in range(20)],
        ARAGOG,
        AZURE,
    ],
    ids=["CJK", "right to left", "twenty", "nine", "twelve"],
)
def test_in_any_script_names_are_distinct_narrow_and_final(names):
    shortened = shorten_names(names)
    for short in (shortened.short, shortened.marks):
        assert len(set(short)) == len(names)
        assert max(map(display_width, short)) <= WIDEST
    assert shorten_names(shortened.short).short == shortened.short


PIECES = st.sampled_from(
    ["bm25", "top_k=3", "top_k=10", "gpt-4o", "再現率", "v2", "chunk_size=128", "e\u0301tude", "x"]
)
NAMES = st.lists(
    st.tuples(st.lists(PIECES, min_size=1, max_size=6), st.sampled_from(["__", "/", "-", "_"])).map(
        lambda parts: parts[1].join(parts[0])
    ),
    min_size=1,
    max_size=20,
    unique=True,
)


@given(NAMES | st.lists(st.text(min_size=1), unique=True))
def test_no_two_are_equal_and_all_fit(names):
    shortened = shorten_names(names)
    assert shortened.names == tuple(names)
    for short in (shortened.short, shortened.marks):
        assert len(set(short)) == len(names)
        assert all(display_width(text) <= WIDEST for text in short)
    for column in shortened.columns:
        assert len(column.values) == len(names)


@given(st.text(), st.integers(8, 40))
def test_what_is_cut_in_the_middle_fits_and_keeps_its_start(text, most):
    cut = cut_in_middle(text, most)
    assert display_width(cut) <= most
    assert cut == text or "…" in cut


# -- where they are shown


@pytest.fixture(scope="module")
def runs():
    ids = [f"q{n}" for n in range(12)]
    return [
        RAGPipelineEvaluation(
            name, {"query_id": ids, "faithfulness": [(n * (5 + k)) % 12 / 12 for n in range(12)]}
        )
        for k, name in enumerate(ARAGOG)
    ]


@pytest.mark.parametrize("form", [str, "to_markdown", "to_html", "to_latex"])
def test_tables_show_short_names_and_list_the_full_ones_once(runs, form):
    ranking = rank(*runs)
    text = form(ranking) if callable(form) else getattr(ranking, form)()
    plain = text.replace("\\_", "_").replace("\\", "").replace("$cdot$", "·")
    assert "top_k=3 · chunk_size=256" in plain
    assert plain.count(ARAGOG[4]) <= 1
    assert ranking.frame["pipeline"].isin(ARAGOG).all()  # the data keep the full names


def test_a_comparison_in_text_has_short_names_in_its_answer_and_table(runs):
    lines = str(compare(*runs[:3])).splitlines()
    answer = (
        "No difference is shown between chunk_size=64 and any of its 2 candidates (12 queries)."
    )
    assert lines[0] == answer
    rows = {line.split("  ")[0] for line in lines}
    assert {"chunk_size=128", "chunk_size=256"} <= rows
    assert any(line.startswith(f"chunk_size=64 = {ARAGOG[0]}") for line in lines)


@pytest.mark.parametrize("kind", ["leaderboard", "pareto"])
def test_plots_show_short_names_and_say_what_is_shared(runs, kind):
    subject = rank(*runs)
    if kind == "pareto":
        costs = [
            RAGPipelineEvaluation(run.name, run.to_frame().assign(cost_usd=float(k + 1)))
            for k, run in enumerate(runs)
        ]
        subject = rank(*costs).pareto()
    ax = subject.plot(kind)
    texts = [text.get_text() for text in ax.findobj(lambda artist: hasattr(artist, "get_text"))]
    # A front has small marks, of the values alone.
    name = "3 · 256" if kind == "pareto" else "top_k=3 · chunk_size=256"
    assert any(name in text for text in texts)
    joined = " ".join(" ".join(texts).split())
    assert 'Every name contains "detailed_all-mpnet-base-v2"' in joined
    assert not any(ARAGOG[0] in text for text in texts)
