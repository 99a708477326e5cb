"""Gold and traces: the figures are the metrics' business; here is what is made of them."""

import pytest

from rageval_report import compare
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


def test_each_gate_stands_beside_its_figure():
    frame = score_traces(GOLD, BAD, gates={"precision": 0.8}).frame.set_index("figure")
    assert frame.loc["precision", "threshold"] == 0.8
    assert frame.loc["precision", "value"] == pytest.approx(1 / 3)  # a right one of three answers
    assert not frame.loc["precision", "passed"]


def test_two_traces_are_compared_question_by_question():
    good = score_traces(GOLD, GOOD, gates={}, name="good").evaluation
    bad = score_traces(GOLD, BAD, gates={}, name="bad").evaluation
    frame = compare(bad, good, metrics="hallucinated_answer").frame
    assert (frame["n"].iloc[0], frame["difference"].iloc[0]) == (1, -1.0)


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
