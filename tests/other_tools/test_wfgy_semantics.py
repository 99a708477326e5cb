"""The gold and trace scorer of WFGY: its figures by hand, row by row, and what is mended here."""

from __future__ import annotations

import pytest

from rageval_report.analysis.noise import stability
from rageval_report.metrics import score_traces


def gold(qid, *, answerable=True, says=("right",), cites=("g",)):
    fields = {"gold_claim_substr": says and list(says), "gold_citations": list(cites)}
    return {"qid": qid, "answerable": answerable, **fields}


def trace(qid, claim="it is right", cites=("g",), found=("g", "x", "y")):
    answer = {"claim": claim, "citations": list(cites)}
    return {"qid": qid, "retrieved_ids": list(found), "answer_json": answer}


def unanswerable(qid):
    return gold(qid, answerable=False, says=(), cites=())


def figures(golds, traces, **options):
    report = score_traces(golds, traces, **options).report()
    return {name: report[name] for name in ("precision", "chr", "under_refusal", "over_refusal")}


# -- refusal, containment and hits


@pytest.mark.parametrize(
    ("claim", "is_refusal"),
    [
        ("not in context", True),
        ("  Not In Context \n", True),
        ("not in context.", False),
        ("", False),
        ("it is not in context", False),
    ],
)
def test_a_refusal_is_exactly_its_words(claim, is_refusal):
    report = score_traces([gold("a")], [trace("a", claim, ())]).report()
    assert (report["refused"], report["answered"]) == ((1, 0) if is_refusal else (0, 1))


@pytest.mark.parametrize(
    ("claim", "says", "precision"),
    [
        ("It is RIGHT.", ["right"], 1.0),
        ("It is wrong.", ["right"], 0.0),
        ("It is wrong.", ["right", "wrong"], 1.0),  # one of them suffices
        ("It is rig.", ["rig"], 0.0),  # shorter than five characters, so it never matches
        ("Anything.", [], 1.0),  # nothing is asked for
        ("Anything.", None, 1.0),  # null is no list: there it is false, here it asks for nothing
    ],
)
def test_containment_is_one_substring_of_five_characters_or_more(claim, says, precision):
    assert figures([gold("a", says=says)], [trace("a", claim)])["precision"] == precision


@pytest.mark.parametrize(
    ("gold_cites", "cites", "found", "hit"),
    [
        (["g"], ["g"], ["g", "x"], 1.0),
        (["g", "h"], ["g", "x"], ["g", "x"], 1.0),  # one shared suffices
        (["g"], ["g", "z"], ["g", "x"], 0.0),  # z was not retrieved
        (["g"], ["x"], ["g", "x"], 0.0),
        (["g"], [], ["g"], 0.0),
        ([], [], ["x"], 1.0),  # no gold and nothing cited
        ([], ["x"], ["x"], 0.0),
    ],
)
def test_a_hit_cites_gold_that_was_retrieved(gold_cites, cites, found, hit):
    found_figures = figures([gold("a", cites=gold_cites)], [trace("a", cites=cites, found=found)])
    assert found_figures["chr"] == hit


# -- the figures


def test_precision_and_hits_are_of_answerable_questions_over_all_answers():
    """Answers: a right with a hit, b wrong with a hit, u invented; c is refused."""
    golds = [gold("a"), gold("b"), gold("c"), unanswerable("u")]
    traces = [
        trace("a"),
        trace("b", "it is wrong"),
        trace("c", "not in context", ()),
        trace("u", cites=()),
    ]
    assert figures(golds, traces) == {
        "precision": round(1 / 3, 4),
        "chr": round(2 / 3, 4),
        "under_refusal": 1.0,  # 1 of 1 unanswerable questions is answered
        "over_refusal": round(1 / 3, 4),  # 1 of 3 answerable questions is refused
    }


def test_recall_asks_for_all_gold_of_a_question_and_not_for_an_answer():
    golds = [gold("a", cites=["g", "h"]), gold("b", cites=["g"]), unanswerable("u")]
    traces = [
        trace("a", found=["g", "x", "h"]),
        trace("b", "not in context", (), found=["x", "g"]),
    ]
    recalls = [score_traces(golds, traces, k=k).report()["recall@k"] for k in (1, 2, 3)]
    assert recalls == [0.0, 0.5, 1.0]


def test_everything_refused_and_an_empty_trace_have_its_conventions():
    golds = [gold("a"), gold("b")]
    refused = [trace(name, "not in context", ()) for name in "ab"]
    assert figures(golds, refused) == {
        "precision": 1.0,
        "chr": 1.0,
        "under_refusal": 0.0,
        "over_refusal": 1.0,
    }
    report = score_traces([gold("a"), unanswerable("u")], []).report()
    assert [report[name] for name in ("precision", "chr", "under_refusal", "over_refusal")] == [
        *(0.0, 0.0, 1.0, 0.0)
    ]
    assert report["missing_qids"] == ["a", "u"]


def test_a_missing_trace_is_a_wrong_answer_unless_it_is_left_out_or_a_refusal():
    golds, traces = [gold("a"), gold("b")], [trace("a")]
    assert figures(golds, traces)["precision"] == 0.5
    assert figures(golds, traces, missing="skip")["precision"] == 1.0
    assert figures(golds, traces, missing="refusal")["over_refusal"] == 0.5


# -- gates


def test_gates_compare_unrounded_figures():
    """2 of 3 are right: 0.66666... is shown as 0.6667 and is below it."""
    golds = [gold(name) for name in "abc"]
    traces = [trace("a"), trace("b"), trace("c", "it is wrong")]
    result = score_traces(golds, traces, gates="precision=0.6667")
    report = result.report()
    assert report["precision"] == 0.6667
    assert report["pass"] is False
    assert report["gate_results"]["precision"]["passed"] is False


def test_the_shipped_gates_are_its_own():
    report = score_traces([gold("a")], [trace("a")]).report()
    assert report["gates"] == {"precision": 0.80, "chr": 0.75, "under": 0.05, "over": 0.10}
    assert report["pass"] is True
    assert report["k"] == 5


def test_gates_are_inclusive_read_leniently_and_may_ask_for_recall():
    golds, traces = [gold("a"), gold("b")], [trace("a"), trace("b", "it is wrong")]
    result = score_traces(golds, traces, gates=" precision = 0.5 , recall=1 ")
    assert result.report()["pass"] is True
    with pytest.raises(KeyError, match="Did you mean 'precision'"):
        score_traces(golds, traces, gates="precison=0.5")


def test_an_empty_gold_set_does_not_pass():
    report = score_traces([], []).report()
    assert report["pass"] is False


# -- files


def test_the_last_trace_holds_and_lines_without_a_known_id_are_ignored():
    traces = [trace("a", "it is wrong"), trace("z"), trace("a"), {"answer_json": {"claim": "x"}}]
    assert figures([gold("a")], traces)["precision"] == 1.0
    later = {**trace("a"), "q_id": "a"}
    del later["qid"]
    assert figures([gold("a")], [later])["precision"] == 1.0


def test_a_negative_k_is_an_error():
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        score_traces([gold("a")], [trace("a")], k=-1)


# -- repeated runs


def test_repeated_runs_show_refusals_citations_and_distances():
    """By hand: three runs of one question; two of them refuse, the third differs by one letter."""
    claims = ["not in context", "not in context", "not in contest"]
    cites = [["g", "x"], ["g"], ["g", "y"]]
    runs = [
        score_traces([gold("a")], [trace("a", claim, cited)], name=f"run {number}").evaluation
        for number, (claim, cited) in enumerate(zip(claims, cites, strict=True))
    ]
    row = stability(runs).frame.loc["a"]
    assert row["refusal_agreement"] == pytest.approx(2 / 3)
    assert row["citation_stability"] == pytest.approx(1 / 3)  # g of g, x and y
    assert row["answer_distance"] == pytest.approx(1 / 14)  # the median of 0, 1/14 and 1/14
