"""The page of a ranking: leaderboard, settings, every pair, and the two that the reader picks."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores
from rageval_report.errors import DataError
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.views.pair_matrix import pair_verdicts, pairs_document
from rageval_report.results import Result

N = 80


def grid_run(top_k: int, size: int) -> RAGPipelineEvaluation:
    rng = np.random.default_rng([top_k, size])
    recall = 0.3 + 0.1 * top_k + 0.3 * np.random.default_rng(7).random(N)
    return RAGPipelineEvaluation(
        f"mpnet-base__top_k={top_k}__chunk_size={size}",
        {
            "query_id": [f"q{place:02d}" for place in range(N)],
            "question": [f"What is item {place}?" for place in range(N)],
            "answer": [f"answer {place % (top_k + 1)}" for place in range(N)],
            "exact_match": (rng.random(N) < 0.3 + 0.2 * top_k).astype(int),
            "recall": np.clip(recall + 0.02 * rng.standard_normal(N), 0, 1),
            "latency_ms": 100.0 * top_k + size / 10 + 20 * rng.random(N),
        },
    )


@pytest.fixture(scope="module")
def runs():
    # In an order in which neither the first nor the alphabetically first one is the best.
    return [grid_run(top_k, size) for size in (64, 128) for top_k in (2, 1, 3)]


@pytest.fixture(scope="module")
def ranking(runs):
    return rank(*runs)


@pytest.fixture(scope="module")
def report(ranking):
    return ranking.report(pictures=False)


def section_of(report, key):
    [section] = [section for section in report.sections if section.key == key]
    return section


# -- the parts


def test_the_leaderboard_has_the_settings_as_columns_and_every_mean(ranking, report):
    [board] = section_of(report, "leaderboard").views
    assert board.headings == ("top_k", "chunk_size")
    rows = [row for group in board.groups for row in group.rows]
    assert len(rows) == 6
    means = ranking.frame.set_index(["pipeline", "metric"])["mean"]
    for row in rows:
        name = f"mpnet-base__top_k={row.parts[0]}__chunk_size={row.parts[1]}"
        for metric, cell in zip(ranking.metrics, row.cells, strict=True):
            assert float(cell.text) == pytest.approx(means[name, metric], rel=2e-3, abs=6e-4)


def test_the_best_mean_is_darkest_and_marked(ranking, report):
    [board] = section_of(report, "leaderboard").views
    rows = [row for group in board.groups for row in group.rows]
    for place, metric in enumerate(ranking.metrics):
        cells = [row.cells[place] for row in rows]
        best = [cell for cell in cells if cell.mark == "best"]
        assert len(best) == len(ranking.best(metric))
        assert all(cell.shade == 5 for cell in best)
        assert min(cell.shade for cell in cells) == 0
        right = max(float(cell.places[1]) for cell in cells)
        assert all(float(cell.places[1]) == right for cell in best)  # also of latency


def test_those_behind_are_those_shown_to_be_worse(ranking, report):
    [board] = section_of(report, "leaderboard").views
    worse = set(ranking.frame.loc[ranking.frame["standing"] == "worse", "pipeline"])
    counts = {group.heading: len(group.rows) for group in board.groups}
    assert counts.get(f"Worse than the best on at least one metric: {len(worse)}") == len(worse)


def test_which_setting_matters_is_told_if_every_combination_is_there(runs, report):
    [effects] = section_of(report, "effects").views
    assert effects.factors == ("top_k", "chunk_size")
    assert [row.label for row in effects.rows] == [
        *("top_k: 1 → 2", "top_k: 1 → 3", "chunk_size: 64 → 128"),
    ]
    # By hand: the mean over both chunk sizes.
    by_k = {
        k: np.mean([run.scores["recall"].mean() for run in runs if f"top_k={k}" in run.name])
        for k in (1, 3)
    }
    recall = effects.rows[1].cells[effects.metrics.index("Recall")]
    assert float(recall.text) == pytest.approx(by_k[3] - by_k[1], abs=6e-4)
    assert recall.shown == "better"
    assert len(effects.grids) == 3
    assert [level for level, _ in effects.grids[0].rows] == ["1", "2", "3"]


def test_a_part_that_all_short_names_share_is_no_setting(runs):
    # Names of up to 24 columns stay as they are, with the parts that all of them share.
    short = [
        RAGPipelineEvaluation(f"rag__k={k}__size={size}", run.data)
        for run, (size, k) in zip(runs, itertools.product((64, 128), (2, 1, 3)), strict=True)
    ]
    metrics = ["recall", "exact_match"]
    found, expected = (
        section_of(rank(*own, metrics=metrics).report(pictures=False), "effects").views[0]
        for own in (short, runs)
    )
    assert found.factors == ("k", "size")
    assert [row.cells for row in found.rows] == [row.cells for row in expected.rows]
    assert len(found.grids) == len(expected.grids) == 2


def test_without_every_combination_there_are_no_effects(runs):
    keys = [section.key for section in rank(*runs[:-1]).report(pictures=False).sections]
    assert "effects" not in keys
    assert "leaderboard" in keys


def test_the_questions_where_the_choice_matters_most_have_the_widest_spread(runs, report):
    [view] = section_of(report, "spread").views
    # By hand: exact match is 0 or 1, so that most of its queries have the widest spread there is.
    table = pd.DataFrame({run.name: run.scores["exact_match"] for run in runs})
    spread = table.max(axis=1) - table.min(axis=1)
    assert view.metric == "Exact Match"
    assert [card.query_id for card in view.cards] == list(spread.index[spread == 1.0][:4])
    for card in view.cards:
        (_, _, best, answer), (_, _, worst, _) = card.answers
        assert (float(best), float(worst)) == (1.0, 0.0)
        assert answer.startswith("answer ")
        assert len(card.bars) == len(runs)
        assert [bar.tone for bar in card.bars].count("better") == 1
        assert [bar.tone for bar in card.bars].count("worse") == 1


def test_the_best_and_the_worst_follow_the_direction_of_the_metric(runs):
    """Of the hallucinations the lowest score is the best; the order of the runs plays no part."""
    rng = np.random.default_rng(1)
    scores = rng.random((len(runs), N))
    turned = [
        RAGPipelineEvaluation(run.name, {"query_id": run.scores.index, "hallucination": own})
        for run, own in zip(runs, scores, strict=True)
    ]
    [view] = section_of(rank(*turned).report(pictures=False), "spread").views
    [other] = section_of(rank(*turned[::-1]).report(pictures=False), "spread").views
    widest = np.argsort(-np.ptp(scores, axis=0))[:4]
    assert [card.query_id for card in view.cards] == [f"q{place:02d}" for place in widest]
    assert [card.answers for card in other.cards] == [card.answers for card in view.cards]
    for card, place in zip(view.cards, widest, strict=True):
        best, worst = (float(answer[2]) for answer in card.answers)
        assert best == pytest.approx(scores[:, place].min(), abs=6e-4)
        assert worst == pytest.approx(scores[:, place].max(), abs=6e-4)


def test_two_pipelines_or_equal_scores_have_no_such_questions(runs):
    keys = [section.key for section in rank(*runs[:2]).report(pictures=False).sections]
    assert "spread" not in keys
    same = [runs[0].with_name(name) for name in "abc"]
    assert "spread" not in [section.key for section in rank(*same).report(pictures=False).sections]


def test_what_quality_costs_needs_a_cost(runs, report):
    assert section_of(report, "front").results
    free = rank(*runs, metrics=["recall", "exact_match"]).report(pictures=False)
    assert "front" not in [section.key for section in free.sections]


def test_the_matrix_counts_what_is_shown(ranking, report):
    [matrix] = section_of(report, "pairs").views
    frame = ranking.pairs.frame
    names = [
        next(name for name in ranking.lineup.names if short == report.wording.names.of(name))
        for short in matrix.names
    ]
    for (i, row), (j, column) in itertools.permutations(enumerate(names), 2):
        both = frame[frame["baseline"].isin([row, column]) & frame["candidate"].isin([row, column])]
        cell = matrix.rows[i][j]
        assert cell.better + cell.worse == int(both["is_shown"].sum())
        assert (cell.better, cell.worse) == (matrix.rows[j][i].worse, matrix.rows[j][i].better)


def test_the_best_pipeline_is_the_first_and_not_the_first_by_name(ranking, report):
    document = report.queries.document()
    ranked = RankedPipelines.of(ranking, {})
    assert document["pipelines"] == list(ranked.pipelines)
    assert document["short"][0] == report.headline.text.partition(" leads")[0].split(": ")[-1]
    assert document["pipelines"][0] != min(document["pipelines"])


def test_pairs_have_the_numbers_of_the_ranking(ranking):
    ranked = RankedPipelines.of(ranking, {})
    document = pairs_document(ranked, pair_verdicts(ranking), level=0.95, correction="holm")
    assert len(document) == 15
    frame = ranking.pairs.frame.set_index(["baseline", "candidate", "metric"])
    for pair in document:
        baseline, candidate = (ranked.pipelines[place] for place in pair["pair"])
        for row in pair["rows"]:
            known = frame.loc[(baseline, candidate, row["metric"])]
            assert row["numbers"][2] == pytest.approx(known["difference"], rel=1e-5)
            assert row["numbers"][3:] == pytest.approx(
                [known["ci_low"], known["ci_high"]], rel=1e-5
            )


def test_a_ranking_without_scores_has_no_page(ranking):
    bare = type(ranking)("x", ranking.frame, ranking.settings)
    with pytest.raises(DataError, match=r"make the ranking with rank\(\.\.\.\)"):
        bare.report()


def test_unknown_options_are_refused(ranking):
    with pytest.raises(TypeError, match="percentiles"):
        ranking.report(percentiles=(5,))


def test_five_queries_make_a_page_all_the_same(runs):
    few = [RAGPipelineEvaluation(run.name, run.to_frame().head(5)) for run in runs[:3]]
    report = rank(*few).report(pictures=False)
    assert report.headline.text.startswith("Too few queries to rank 3 pipelines: 5 in common")
    assert "<h1" in report.to_html()


def test_other_forms_have_the_headline_and_every_table(report):
    text = report.to_text()
    assert report.headline.text in " ".join(text.split())
    assert "All pairs of pipelines" in text
    assert max(map(len, text.splitlines())) <= 100
    assert report.to_markdown().startswith("# Ranking of 6 pipelines")


def test_results_are_results(report):
    assert all(isinstance(own, Result) for part in report.sections for own in part.results)


def test_nine_real_pipelines_stay_below_1200_kb(real_data, tmp_path):
    folder = real_data("haystack_aragog")
    runs = [
        run for path in sorted(folder.glob("detailed_*.csv")) for run in read_scores(path).values()
    ]
    path = rank(*runs).report().save(tmp_path / "nine.html")
    assert path.stat().st_size < 1_200_000


# -- the page


@pytest.fixture(scope="module")
def ranking_page(ranking, tmp_path_factory):
    return ranking.report().save(tmp_path_factory.mktemp("ranking") / "ranking.html")


@pytest.mark.browser
def test_the_first_screen_says_which_one(opened, ranking_page, report):
    page = opened(ranking_page)
    assert page.get_by_role("heading", level=1).inner_text() == report.headline.text
    assert page.locator(".leaderboard").bounding_box()["y"] < 500


@pytest.mark.browser
def test_any_two_are_compared_with_the_numbers_of_the_library(opened, ranking_page, runs, ranking):
    page = opened(ranking_page)
    ranked = RankedPipelines.of(ranking, {})
    pick = page.locator("#pair").get_by_label
    first, second = ranked.pipelines[4], ranked.pipelines[2]
    pick("Baseline").select_option(label=ranked.names.of(first))
    pick("Candidate").select_option(label=ranked.names.of(second))
    by_name = {run.name: run for run in runs}
    frame = compare(by_name[first], by_name[second]).frame.set_index("title")
    rows = page.locator(".pair-strip .metric").all()
    assert len(rows) == 3
    for row in rows:
        known = frame.loc[row.locator("th").inner_text().split("\n")[0]]
        shown = row.locator(".difference").inner_text().replace("\N{MINUS SIGN}", "-")
        assert float(shown) == pytest.approx(known["difference"], rel=1e-2, abs=6e-4)
        reason = f"better on {known['wins']}, worse on {known['losses']}"
        assert row.locator(".reason").inner_text() == reason
    assert "base=" in page.url
    assert "with=" in page.url


@pytest.mark.browser
def test_a_cell_of_the_matrix_picks_the_two(opened, ranking_page):
    page = opened(ranking_page)
    page.locator(".pair-matrix tbody tr").nth(5).locator("a").nth(2).click()
    picked = page.locator(".pickers select").evaluate_all("(all) => all.map((one) => one.value)")
    assert picked == ["2", "5"]
    assert page.locator(".pair-matrix a[aria-current]").count() == 1
    table = page.locator(".filters select").evaluate_all(
        "(all) => all.slice(0, 2).map((one) => one.value)"
    )
    assert table == ["2", "5"]


@pytest.mark.browser
def test_the_same_two_the_other_way_round_have_the_other_sign(opened, ranking_page):
    page = opened(ranking_page)
    column = page.locator(".pair-strip .difference")
    there = column.all_inner_texts()[1:]
    page.locator("#pair").get_by_label("Baseline").select_option("1")
    back = column.all_inner_texts()[1:]
    turned = {"+": "\N{MINUS SIGN}", "\N{MINUS SIGN}": "+"}
    assert back == [turned.get(text[0], text[0]) + text[1:] for text in there]


@pytest.mark.browser
def test_outcomes_of_any_two_are_those_of_the_answers(opened, ranking_page, report):
    page = opened(ranking_page, "base=" + report.queries.runs[3].name.replace("=", "%3D"))
    document = json.loads(json.dumps(report.queries.document()))
    letters = [column["c"] for column in document["answers"]]
    right = document["answers"][0]["v"].index("right")
    expected = sum(
        (a != "ABCD"[right]) and (b == "ABCD"[right])
        for a, b in zip(letters[3], letters[0], strict=True)
    )
    shown = page.get_by_role("button", name="became right").inner_text()
    assert shown == f"became right ({expected})"


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_ranking_needs_no_scrolling_sideways(opened, ranking_page, width):
    page = opened(ranking_page, viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.parametrize("n_metrics", [3, 5])
def test_a_phone_shows_every_metric_of_the_leaderboard(opened, runs, tmp_path, n_metrics):
    """Three metrics and two settings are a table; more is one card per pipeline."""
    more = [f"score_{place}" for place in range(n_metrics - 3)]
    wider = [
        RAGPipelineEvaluation(run.name, run.to_frame().assign(**dict.fromkeys(more, 0.5)))
        for run in runs
    ]
    report = rank(*wider).report(pictures=False)
    [board] = section_of(report, "leaderboard").views
    assert board.is_wide == (n_metrics > 3)
    page = opened(report.save(tmp_path / "ranking.html"), viewport={"width": 390, "height": 844})
    cells = page.locator(".leaderboard tbody td.heat")
    assert cells.count() == len(runs) * n_metrics
    for box in cells.evaluate_all("(all) => all.map((cell) => cell.getBoundingClientRect().right)"):
        assert box <= 390
    assert page.locator(".leaderboard.cards").count() == (n_metrics > 3)


@pytest.mark.browser
def test_a_phone_shows_the_effect_of_each_setting_as_a_card(opened, runs, tmp_path):
    more = {f"long name of score {place}": 0.5 for place in range(3)}
    wider = [RAGPipelineEvaluation(run.name, run.to_frame().assign(**more)) for run in runs]
    report = rank(*wider).report(pictures=False)
    [effects] = section_of(report, "effects").views
    page = opened(report.save(tmp_path / "ranking.html"), viewport={"width": 390, "height": 844})
    table = page.locator(".matrix.cards")
    assert table.evaluate("(table) => table.scrollWidth <= table.parentElement.clientWidth")
    cells = table.locator("tbody td")
    assert cells.count() == len(effects.rows) * len(effects.metrics)
    labels = cells.evaluate_all("(all) => all.map((cell) => cell.dataset.label)")
    assert tuple(labels[: len(effects.metrics)]) == effects.metrics
    for box in cells.evaluate_all("(all) => all.map((cell) => cell.getBoundingClientRect().right)"):
        assert box <= 390
