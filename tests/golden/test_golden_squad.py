"""SQuAD 2.0's official evaluator on two real systems: its own figures, and the published ones."""

import json

import pytest

from rageval_report import score

SYSTEMS = ["BERT", "nlnet"]
PUBLISHED = {  # to three places: exact, F1, exact where there is an answer, and where there is none
    "BERT": (74.519, 77.580, 71.875, 76.786),
    "nlnet": (73.558, 74.723, 76.042, 71.429),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return request.param


@pytest.fixture
def scores(real_data, system):
    """The scores of the records, and which questions have an answer."""
    folder = real_data("squad_v2_sample")
    sample = json.loads((folder / "dev-v2.0.sample.json").read_text(encoding="utf-8"))
    said = json.loads((folder / f"predictions.{system}.json").read_text(encoding="utf-8"))
    records = [
        {
            "query_id": asked["id"],
            "answer": said[asked["id"]],
            "reference": [answer["text"] for answer in asked["answers"]] or [""],
            "answerable": not asked["is_impossible"],
        }
        for article in sample["data"]
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    ]
    evaluation = score(records, ["exact_match_squad", "token_f1"], name=system)
    return evaluation.scores, evaluation.details["answerable"].astype(bool)


def test_the_figures_are_the_evaluators(golden, scores, system):
    told = golden("squad_evaluator.json")["values"][system]
    table, answerable = scores
    parts = {"": answerable | True, "HasAns_": answerable, "NoAns_": ~answerable}
    for part, chosen in parts.items():
        means = 100 * table[chosen].mean()
        assert int(chosen.sum()) == told[f"{part}total"]
        assert means["exact_match_squad"] == pytest.approx(told[f"{part}exact"], abs=1e-12)
        assert means["token_f1"] == pytest.approx(told[f"{part}f1"], abs=1e-12)


def test_the_figures_are_the_published_ones(scores, system):
    table, answerable = scores
    exact = 100 * table["exact_match_squad"]
    ours = (
        exact.mean(),
        100 * table["token_f1"].mean(),
        exact[answerable].mean(),
        exact[~answerable].mean(),
    )
    assert ours == pytest.approx(PUBLISHED[system], abs=5.1e-4)
