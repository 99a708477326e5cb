"""Traces as results: gates, figures, doubts."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from rageval_report.errors import DataError, GateError
from rageval_report.metrics import score_traces

GOLD = [
    {"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]},
    {"qid": "b", "answerable": True, "gold_claim_substr": ["Lisbon"]},
    {"qid": "c", "answerable": False},
]


def trace(qid, claim):
    return {"qid": qid, "answer_json": {"claim": claim, "citations": []}}


GOOD = [trace("a", "Paris."), trace("b", "Lisbon."), trace("c", "not in context")]
BAD = [trace("a", "Rome."), trace("b", "Lisbon."), trace("c", "It is Bern.")]


def test_a_pipeline_that_passes_its_gates_has_passed():
    result = score_traces(GOLD, GOOD, gates="precision=0.8,under=0.05", name="good")
    assert result.passed
    assert "passed" in result.title
    result.raise_for_failure()


def test_a_gate_that_fails_is_named_with_its_value():
    result = score_traces(GOLD, BAD, gates={"precision": 0.8, "under": 0.05})
    assert not result.passed
    with pytest.raises(GateError, match=r"precision: 0\.3333 is not >= 0\.8"):
        result.raise_for_failure()


def traces_of(n, ending):
    """Questions whose gold is retrieved under its own name with an ending."""
    gold = [
        {"qid": f"a{i}", "answerable": True, "gold_claim_substr": ["Paris"]}
        | {"gold_citations": [f"doc{i}"]}
        for i in range(n)
    ]
    traces = [
        {"qid": f"a{i}", "retrieved_ids": [f"doc{i}{ending}"]}
        | {"answer_json": {"claim": "It is Paris.", "citations": [f"doc{i}{ending}"]}}
        for i in range(n)
    ]
    return gold, traces


@pytest.mark.parametrize("ending", [".md", "#2", "_chunk_1"])
def test_gold_that_is_retrieved_under_another_form_is_the_first_note(ending):
    result = score_traces(*traces_of(6, ending))
    assert result.notes[0].startswith("Doubt: 0 of 6 gold ids")
    assert f"'doc0{ending}'" in result.notes[0]
    assert "gold_citations" in result.notes[0]
    with pytest.raises(DataError, match="ids_differ"):
        score_traces(*traces_of(6, ending), strict=True)
    allowed = score_traces(*traces_of(6, ending), strict=True, allow="ids_differ")
    assert not allowed.notes[0].startswith("Doubt")


N = 40  # questions with an answer; as many without one

QUESTIONS = [
    {
        "qid": f"q{n}",
        "answerable": True,
        "gold_claim_substr": [f"answer {n:03}"],
        "gold_citations": [f"p{n}"],
    }
    for n in range(N)
] + [{"qid": f"u{n}", "answerable": False} for n in range(N)]


def answer(n, claim=None, cites=None, found=True):
    retrieved = [f"p{n}"] if found else [f"x{n}"]
    cited = retrieved if cites is None else cites
    return {
        "qid": f"q{n}",
        "retrieved_ids": retrieved,
        "answer_json": {"claim": claim or f"It is answer {n:03}.", "citations": cited},
    }


def refusal(name, found=True):
    retrieved = [f"p{name[1:]}"] if found else [f"x{name}"]
    said = {"claim": "not in context", "citations": []}
    return {"qid": name, "retrieved_ids": retrieved, "answer_json": said}


RIGHT = [answer(n) for n in range(N)]
REFUSED = [refusal(f"u{n}") for n in range(N)]


def test_each_figure_has_its_count_and_the_exact_interval():
    traces = [answer(n, "It is so.") for n in range(13)] + RIGHT[13:] + REFUSED[:30]
    frame = score_traces(QUESTIONS, traces, missing="skip").frame.set_index("figure")
    # SciPy 1.11 or later: binomtest(...).proportion_ci(method="exact").
    for figure, right, n in [("precision", 27, 40), ("chr", 40, 40), ("under_refusal", 0, 30)]:
        limits = binomtest(right, n).proportion_ci(0.95, method="exact")
        assert frame.loc[figure, "n"] == n
        assert frame.loc[figure, ["ci_low", "ci_high"]].tolist() == pytest.approx(
            [limits.low, limits.high], abs=1e-12
        )
    assert frame.loc["chr_all", "n"] == 40
