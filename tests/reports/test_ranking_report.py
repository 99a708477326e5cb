"""The page of a ranking: leaderboard, settings, every pair, and the two that the reader picks."""

import itertools

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.reports.ranking_sentences import RankedPipelines
from rageval_report.reports.ranking_views import pair_verdicts, pairs_document

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
    assert board["headings"] == ["top_k", "chunk_size"]
    rows = [row for group in board["groups"] for row in group["rows"]]
    assert len(rows) == 6
    means = ranking.frame.set_index(["pipeline", "metric"])["mean"]
    for row in rows:
        name = "mpnet-base__top_k={}__chunk_size={}".format(*row["parts"])
        for metric, cell in zip(ranking.metrics, row["cells"], strict=True):
            assert float(cell["text"]) == pytest.approx(means[name, metric], rel=2e-3, abs=6e-4)


def test_the_best_mean_is_darkest_and_marked(ranking, report):
    [board] = section_of(report, "leaderboard").views
    rows = [row for group in board["groups"] for row in group["rows"]]
    for place, metric in enumerate(ranking.metrics):
        cells = [row["cells"][place] for row in rows]
        best = [cell for cell in cells if cell["mark"] == "best"]
        assert len(best) == len(ranking.best(metric))
        assert all(cell["shade"] == 5 for cell in best)
        assert min(cell["shade"] for cell in cells) == 0
        right = max(float(cell["places"][1]) for cell in cells)
        assert all(float(cell["places"][1]) == right for cell in best)  # also of latency


def test_the_questions_where_the_choice_matters_most_have_the_widest_spread(runs, report):
    [view] = section_of(report, "spread").views
    # By hand: exact match is 0 or 1, so that most of its queries have the widest spread there is.
    table = pd.DataFrame({run.name: run.scores["exact_match"] for run in runs})
    spread = table.max(axis=1) - table.min(axis=1)
    assert view["metric"] == "Exact Match"
    assert [card["address"] for card in view["cards"]] == [
        f"#open={one}" for one in spread.index[spread == 1.0][:4]
    ]
    for card in view["cards"]:
        (_, _, best, answer), (_, _, worst, _) = card["answers"]
        assert (float(best), float(worst)) == (1.0, 0.0)
        assert answer.startswith("answer ")
        assert len(card["bars"]) == len(runs)
        assert [bar["tone"] for bar in card["bars"]].count("better") == 1
        assert [bar["tone"] for bar in card["bars"]].count("worse") == 1


def test_the_matrix_counts_what_is_shown(ranking, report):
    [matrix] = section_of(report, "pairs").views
    frame = ranking.pairs.frame
    names = [
        next(name for name in ranking.lineup.names if short == report.wording.names.of(name))
        for short in matrix["names"]
    ]
    for (i, row), (j, column) in itertools.permutations(enumerate(names), 2):
        both = frame[frame["baseline"].isin([row, column]) & frame["candidate"].isin([row, column])]
        cell = matrix["rows"][i][j]
        assert cell["better"] + cell["worse"] == int(both["is_shown"].sum())
        assert (cell["better"], cell["worse"]) == (
            matrix["rows"][j][i]["worse"],
            matrix["rows"][j][i]["better"],
        )


def test_the_best_pipeline_is_the_first_and_not_the_first_by_name(ranking, report):
    document = report.queries.document()
    ranked = RankedPipelines.of(ranking, {})
    assert document["pipelines"] == list(ranked.pipelines)
    assert document["short"][0] == report.headline.text.partition(" leads")[0].split(": ")[-1]
    assert document["pipelines"][0] != min(document["pipelines"])


def test_pairs_have_the_numbers_of_the_ranking(ranking):
    ranked = RankedPipelines.of(ranking, {})
    document = pairs_document(ranked, pair_verdicts(ranking), (0.95, "holm"))
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


# -- the page


@pytest.fixture(scope="module")
def ranking_page(ranking, tmp_path_factory):
    return ranking.report().save(tmp_path_factory.mktemp("ranking") / "ranking.html")


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
@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_ranking_needs_no_scrolling_sideways(opened, ranking_page, width):
    page = opened(ranking_page, viewport={"width": width, "height": 800})
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
