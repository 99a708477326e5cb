"""Metrics of rankings against pytrec_eval-terrier 0.5.11 and ranx 0.3.21, which need not be there.

What the files hold and how they were made stands in the README of this folder.
"""

import pytest

from rageval_report import score_rankings

STEMS = {
    "P": "precision", "recall": "recall", "success": "hit", "ndcg_cut": "ndcg", "map_cut": "map",
    "map": "map", "ndcg": "ndcg", "recip_rank": "mrr", "Rprec": "r_precision", "bpref": "bpref",
    "set_P": "precision", "set_recall": "recall",
}  # fmt: skip
RANX = {
    "hit_rate@5": "hit@5", "mrr@3": "mrr@3", "ndcg_burges@5": "ndcg_exp@5",
    "ndcg_burges@10": "ndcg_exp@10", "r-precision": "r_precision",
}  # fmt: skip
DL19 = ["BM25", "D_BERT_KD_TASB", "SPLADE_P_P_ENSEMBLE_DISTIL"]


def our_name(measure):
    """The name of a measure of trec_eval here: "ndcg_cut_10" is "ndcg@10"."""
    stem, _, last = measure.rpartition("_")
    return f"{STEMS[stem]}@{last}" if last.isdigit() else STEMS[measure]


def by_measure(by_query):
    """From query to measure to value, to measure to query to value."""
    measures = next(iter(by_query.values()))
    return {name: {query: row[name] for query, row in by_query.items()} for name in measures}


def assert_all_equal(ours, theirs, name_of):
    for measure, expected in theirs.items():
        column = ours[name_of(measure)]
        assert {query: column[query] for query in expected} == expected, measure


@pytest.mark.parametrize("level", [1, 2])
def test_every_value_is_pytrec_evals_to_the_last_bit(golden, level):
    told = golden("rankings_pytrec_eval.json")
    theirs = by_measure(told["values"][str(level)])
    assert len(theirs) == 21
    asked = list(dict.fromkeys(map(our_name, theirs)))
    paths = golden("rankings.run"), golden("rankings.qrels")
    ours = score_rankings(*paths, asked, relevance_level=level).scores
    assert len(ours) == 13
    assert_all_equal(ours, theirs, our_name)


def test_what_pytrec_eval_leaves_out_is_a_zero_that_is_told(golden):
    run = score_rankings(golden("rankings.run"), golden("rankings.qrels"), ["map", "bpref"])
    left_out = set(run.scores.index) - set(golden("rankings_pytrec_eval.json")["values"]["1"])
    assert left_out == {"q3"}
    assert run.scores.loc["q3"].tolist() == [0.0, 0.0]
    notes = " ".join(run.evaluation_report().notes)
    assert "1 of 13 judged queries is missing from the run and scores 0: 'q3'" in notes
    assert "1 query of the run is not judged and is ignored: 'q5'" in notes


def test_where_ties_stand_alike_ranx_agrees(golden):
    theirs = golden("rankings_ranx.json")["values"]
    ours = score_rankings(
        golden("rankings.run"),
        golden("rankings.qrels"),
        list(dict.fromkeys(RANX.get(measure, measure) for measure in theirs)),
    ).scores
    assert len(theirs) == 14
    for measure, expected in theirs.items():
        column = ours[RANX.get(measure, measure)]
        assert {query: column[query] for query in expected} == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", DL19)
def test_real_runs_have_pytrec_evals_values_to_the_last_bit(golden, real_data, name):
    folder = real_data("trec_dl19")
    theirs = by_measure(golden("trec_dl19_pytrec_eval.json")["values"][name])
    ours = score_rankings(
        folder / f"run.{name}.dl19.txt",
        folder / "qrels.dl19-passage.txt",
        [our_name(measure) for measure in theirs],
    ).scores
    assert len(ours) == 43
    assert_all_equal(ours, theirs, our_name)


MEANS = {  # as the README of the data has them: nDCG@10, MAP, MRR, recall@100, P@10
    "BM25": (0.5058, 0.2993, 0.8245, 0.4531, 0.6186),
    "BM25_RM3": (0.5216, 0.3402, 0.8100, 0.4821, 0.6512),
    "D_BERT_KD_TASB": (0.7210, 0.3953, 0.9510, 0.5158, 0.8093),
    "OPEN_AI_ADA2": (0.7035, 0.4004, 0.9186, 0.5256, 0.8070),
    "SPLADE_P_P_ENSEMBLE_DISTIL": (0.7308, 0.4382, 0.9729, 0.5549, 0.8093),
    "BM25+gpt-3.5-turbo-rerank.rep1": (0.6799, 0.3572, 0.9690, 0.4531, 0.7721),
    "BM25+gpt-3.5-turbo-rerank.rep2": (0.6737, 0.3579, 0.9684, 0.4531, 0.7721),
    "BM25+gpt-3.5-turbo-rerank.rep3": (0.6827, 0.3593, 0.9684, 0.4531, 0.7860),
    "BM25+vicuna-13b-rerank": (0.4517, 0.2780, 0.6123, 0.4531, 0.5930),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_means_of_nine_real_runs_are_the_known_ones(real_data, name):
    folder = real_data("trec_dl19")
    ours = score_rankings(
        folder / f"run.{name}.dl19.txt",
        folder / "qrels.dl19-passage.txt",
        ["nDCG@10", "MAP", "MRR", "recall@100", "P@10"],
    )
    assert ours.scores.mean().tolist() == pytest.approx(MEANS[name], abs=5.1e-5)
