"""trec_eval's own expected output (commit f4253652), which lies among the public data."""

import pytest

from rageval_report import score_rankings

NAMES = {
    "map": "map", "Rprec": "r_precision", "bpref": "bpref", "recip_rank": "mrr", "ndcg": "ndcg",
    **{f"P_{k}": f"precision@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"recall_{k}": f"recall@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"ndcg_cut_{k}": f"ndcg@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"map_cut_{k}": f"map@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)},
    **{f"success_{k}": f"hit@{k}" for k in (1, 5, 10)},
    "set_P": "precision", "set_recall": "recall",
}  # fmt: skip


@pytest.fixture(scope="session")
def told(real_data):
    """The values in a file of trec_eval's output: measure and query to value."""

    def told(name):
        lines = (real_data("trec_eval_official_test") / name).read_text().splitlines()
        words = (line.split() for line in lines)
        return {(measure, query): value for measure, query, value in words}

    return told


@pytest.fixture
def six_columns(real_data, tmp_path):
    """A run without the words that stand behind some tags of results.trunc, which are refused."""

    def six_columns(name):
        lines = (real_data("trec_eval_official_test") / name).read_text().splitlines()
        path = tmp_path / name
        path.write_text("".join(" ".join(line.split()[:6]) + "\n" for line in lines))
        return path

    return six_columns


@pytest.mark.parametrize(
    ("qrels", "run", "output", "level"),
    [
        ("qrels.test", "results.test", "out.test.aq", 1),
        ("qrels.rel_level", "results.test", "out.test.aql", 2),
        ("qrels.test", "results.trunc", "out.test.aqc", 1),
        ("qrels.test.with-comments", "results.test", "out.test.aq", 1),
    ],
)
def test_the_expected_output_is_met(real_data, told, six_columns, qrels, run, output, level):
    folder = real_data("trec_eval_official_test")
    names = list(NAMES.values())
    ours = score_rankings(six_columns(run), folder / qrels, names, relevance_level=level).scores
    seen = 0
    for (measure, query), value in told(output).items():
        if measure in NAMES:
            column = ours[NAMES[measure]]
            mine = column.mean() if query == "all" else column[query]
            assert mine == pytest.approx(float(value), abs=5.1e-5), (measure, query)
            seen += 1
    assert seen == 4 * len(NAMES)  # three topics, and all


CUT = {  # of trec_eval -M100: the first hundred results, and the others forgotten
    "map": "map@100", "Rprec": "r_precision@100", "bpref": "bpref@100", "recip_rank": "mrr@100",
    "set_recall": "recall@100", "P_10": "precision@10",
    "map_cut_1000": "map@100", "success_10": "hit@10", "ndcg_cut_100": "ndcg@100",
}  # fmt: skip


def test_cutoffs_are_those_of_lists_cut_at_a_hundred(real_data, told, six_columns):
    folder = real_data("trec_eval_official_test")
    run, names = six_columns("results.trunc"), list(dict.fromkeys(CUT.values()))
    ours = score_rankings(run, folder / "qrels.test", names).scores
    seen = 0
    for (measure, query), value in told("out.test.aqcM").items():
        if measure in CUT:
            column = ours[CUT[measure]]
            mine = column.mean() if query == "all" else column[query]
            assert mine == pytest.approx(float(value), abs=5.1e-5), (measure, query)
            seen += 1
    assert seen == 4 * len(CUT)
