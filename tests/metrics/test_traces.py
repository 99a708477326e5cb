"""The gold and trace scorer: the worked figures of the reference page, and counts by hand.

The reference's own script was also run beside this one on 1,500 random pairs of files, and every
key that it prints was equal; the property test counts the same things with plain loops.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.metrics.traces import parse_gates, read_gold, read_traces, score_gold_and_traces

KEYS = ["precision", "chr", "under_refusal", "over_refusal", "recall@k"]


def gold(qid, *, answerable=True, says=("right",), cites=("g",), **more):
    fields = {"gold_claim_substr": list(says), "gold_citations": list(cites)}
    return {"qid": qid, "answerable": answerable, **fields, **more}


def trace(qid, claim="it is right", cites=("g",), found=("g", "x", "y")):
    answer = {"claim": claim, "citations": list(cites)}
    return {"qid": qid, "retrieved_ids": list(found), "answer_json": answer}


def unanswerable(qid):
    return gold(qid, answerable=False, says=(), cites=())


def refusal(qid):
    return trace(qid, "not in context", ())


def figures(*args, **options):
    report = score_gold_and_traces(*args, **options).report()
    return [report[key] for key in KEYS]


# Three questions as on the reference's page: the second question's gold stands at rank 2.
SMALL = (
    [
        gold("A1", says=["rejects null keys"], cites=["p1#2"], question="Null keys?"),
        unanswerable("A2"),
        gold("A3", says=["only domain example.com"], cites=["pB#1"]),
    ],
    [
        trace("A1", "X rejects null keys.", ["p1#2"], ["p1#1", "p1#2", "p2#1"]),
        trace("A2", "not in context", [], ["p1#1", "p2#1"]),
        trace("A3", "Only domain example.com is allowed.", ["pB#1"], ["pB#1", "p1#2"]),
    ],
)
TWELVE = (
    [*(gold(f"a{n}") for n in range(1, 9)), *(unanswerable(f"u{n}") for n in range(1, 5))],
    [
        *(trace(f"a{n}") for n in (1, 2, 3)),
        trace("a4", "it is wrong"),
        refusal("a5"),
        trace("a6", cites=["x"], found=["x", "y", "g"]),
        refusal("u1"),
        refusal("u2"),
        trace("u3"),
        trace("u4"),
    ],
)


# -- the figures of the reference


@pytest.mark.parametrize(
    ("files", "k", "expected"),
    [
        (SMALL, 5, [1.0, 1.0, 0.0, 0.0, 1.0]),
        (SMALL, 1, [1.0, 1.0, 0.0, 0.0, 0.5]),
        ((SMALL[0], []), 5, [0.0, 0.0, 1.0, 0.0, 0.0]),
        (TWELVE, 2, [0.3333, 0.4444, 0.5, 0.125, 0.625]),
        (TWELVE, 3, [0.3333, 0.4444, 0.5, 0.125, 0.75]),
        (([gold("a"), gold("b")], [refusal("a"), refusal("b")]), 5, [1.0, 1.0, 0.0, 1.0, 1.0]),
    ],
)
def test_the_worked_figures_are_those_of_the_reference(files, k, expected):
    assert figures(*files, k=k) == expected


ids = st.sampled_from("abcd")
claims = st.sampled_from(["it is RIGHT", "wrong", "", " Not in context", "not in context."])
rows = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from([[], ["right"], ["rig"], ["rig", "wrong"]]),
        st.lists(ids, max_size=2, unique=True),
        st.one_of(st.none(), st.tuples(claims, st.lists(ids, max_size=2), st.lists(ids))),
    ),
    min_size=1,
    max_size=8,
)


@given(rows, st.integers(1, 4))
@settings(max_examples=60)
def test_the_figures_are_counts_over_counts(items, k):
    golds = [
        gold(str(n), answerable=is_one, says=says, cites=cites)
        for n, (is_one, says, cites, _) in enumerate(items)
    ]
    traces = [trace(str(n), *item[3]) for n, item in enumerate(items) if item[3] is not None]
    told = dict.fromkeys(["S", "A", "U", "right", "hit", "under", "over", "found"], 0)
    for is_one, says, cites, done in items:
        claim, cited, found = done or ("", [], [])
        is_answer = claim.strip().lower() != "not in context"
        holds = not says or any(len(text) >= 5 and text in claim.lower() for text in says)
        hit = set(cited) <= set(found) and (bool(set(cited) & set(cites)) if cites else not cited)
        told["S"] += is_answer
        told["A"] += is_one
        told["U"] += not is_one
        told["hit"] += is_one and is_answer and hit
        told["right"] += is_one and is_answer and hit and holds
        told["under"] += is_answer and not is_one
        told["over"] += is_one and not is_answer
        told["found"] += is_one and set(cites) <= set(found[:k])
    scored = score_gold_and_traces(golds, traces, k=k)
    pairs = [("right", "S", 1.0), ("hit", "S", 1.0), ("under", "U", 0.0), ("over", "A", 0.0)]
    for figure, (part, whole, empty) in zip(KEYS, [*pairs, ("found", "A", 0.0)], strict=True):
        assert scored.figures[figure] == (told[part] / told[whole] if told[whole] else empty)


# -- quirks of the reference


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("skip", [3 / 7, 4 / 7, 2 / 4, 1 / 6, 5 / 6]),
        ("refusal", [3 / 7, 4 / 7, 2 / 4, 3 / 8, 5 / 8]),
    ],
)
def test_missing_traces_may_be_left_out_or_be_refusals(missing, expected):
    found = score_gold_and_traces(*TWELVE, k=2, missing=missing).figures
    assert [found[key] for key in KEYS] == expected


def test_short_substrings_never_match_and_are_said():
    scored = score_gold_and_traces([gold("a", says=["righ"])], [trace("a")])
    assert scored.figures["precision"] == 0
    assert any(
        "shorter than 5 characters, which never match: 1 ('a')" in one for one in scored.notes
    )


def test_a_refusal_with_a_full_stop_is_an_answer_unless_a_pattern_says_otherwise():
    files = [gold("a")], [trace("a", "Not in context.")]
    assert score_gold_and_traces(*files).counts["refused"] == 0
    assert score_gold_and_traces(*files, refusal_pattern="^not in context").counts["refused"] == 1
    with pytest.raises(DataError, match=r"must be a regular expression; got '\('"):
        score_gold_and_traces(*files, refusal_pattern="(")


def test_what_is_not_defined_may_be_null_and_then_passes_no_gate():
    files = [gold("a")], [trace("a")]
    assert score_gold_and_traces(*files).passed
    note = "under_refusal applies to no question; it is 0 by convention"
    assert score_gold_and_traces(*files).notes[-1] == note
    scored = score_gold_and_traces(*files, undefined="null")
    assert scored.report()["under_refusal"] is None
    assert scored.report()["gate_results"]["under"] == {
        "value": None,
        "threshold": 0.05,
        "passed": False,
    }
    assert not scored.passed


# -- gates


def test_gates_compare_unrounded_figures_and_say_why_they_failed():
    files = [gold("a"), gold("b"), gold("c")], [trace("a"), trace("b"), trace("c", "wrong")]
    scored = score_gold_and_traces(*files, gates="precision=0.6667")
    assert scored.report()["precision"] == 0.6667
    assert not scored.passed  # 0.66666... is below
    row = scored.gates.iloc[0]
    assert row[["gate", "figure", "rule", "threshold", "n"]].tolist() == [
        *("precision", "precision", ">=", 0.6667, 3)
    ]
    assert row["value"] == 2 / 3
    assert not row["passed"]


@pytest.mark.parametrize(
    "gates",
    [
        " precision = .8 ,under=5e-2, recall@k=1,",
        {"precision": 0.8, "under_refusal": 0.05, "recall@10": 1},
    ],
)
def test_gates_are_read_leniently(gates):
    assert parse_gates(gates) == {"precision": 0.8, "under": 0.05, "recall": 1.0}


@pytest.mark.parametrize(
    ("gates", "error", "told"),
    [
        ("precison=0.8", UnknownNameError, "no gate is named 'precison'. Did you mean 'precision'"),
        (
            "precision=80",
            DataError,
            "'precision' must be .* between 0 and 1, such as 0.8; got '80'",
        ),
        ("precision", DataError, "must be a number between 0 and 1"),
        ("chr=nan", DataError, "must be a number between 0 and 1"),
        ({"chr": True}, DataError, "must be a number between 0 and 1"),
        ("over=0.1,over_refusal=0.2", DataError, "'over' appears twice"),
        (["over=0.1"], DataError, "gates must be a text"),
    ],
)
def test_gates_that_make_no_sense_are_refused(gates, error, told):
    with pytest.raises(error, match=told):
        parse_gates(gates)


# -- files


def written(path, *lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


GOOD = json.dumps(gold("a"))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"qid": "b", "answerable"', "the record is cut"),
        ('{"qid" "b"}', "this is not JSON: .* at character"),
        ('"b"', "expected one JSON object per line; got '\"b\"'"),
        ('{"answerable": true}', "field 'qid' is missing"),
        (
            '{"qid": 1.5, "answerable": true}',
            "field 'qid' must be a text or an integer; got 1.5",
        ),
        ('{"qid": "b"}', "field 'answerable' must be true or false; got None"),
        ('{"qid": "b", "answerable": "false"}', "'answerable' must be true or false; got 'false'"),
        ('{"qid": "b", "answerable": 1}', "field 'answerable' must be true or false; got 1"),
        (
            '{"qid": "b", "answerable": true, "gold_citations": "p1"}',
            "field 'gold_citations' must be a list of ids; got 'p1'",
        ),
        (
            '{"qid": "b", "answerable": true, "gold_claim_substr": ["x", 3]}',
            r"field 'gold_claim_substr' must be a list of texts; got \['x', 3\]",
        ),
        ('{"qid": "b", "answerable": true, "question": []}', "field 'question' must be a text"),
        (GOOD, "field 'qid' must be unique; 'a' is already at 1"),
        pytest.param("[" * 100_000, "is cut|nested too deeply", id="nested"),
    ],
)
def test_a_fault_in_the_gold_names_file_line_and_field(tmp_path, line, told):
    path = written(tmp_path / "gold.jsonl", GOOD, "", line)
    with pytest.raises(ReaderError, match=told) as caught:
        read_gold(path)
    assert caught.value.line == 3
    assert str(caught.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ({"answer_json": "not in context"}, "field 'answer_json' must be an object; got 'not in"),
        ({"answer_json": {"claim": 3}}, "field 'claim' must be a text; got 3"),
        ({"answer_json": {"citations": "p1"}}, "field 'citations' must be a list of ids"),
        ({"retrieved_ids": [None]}, r"field 'retrieved_ids' must be a list of ids; got"),
        ({"retrieved_ids": {"p1": 1}}, "field 'retrieved_ids' must be a list of ids"),
    ],
)
def test_a_fault_in_a_trace_names_file_line_and_field(tmp_path, item, told):
    path = written(tmp_path / "trace.jsonl", json.dumps({"qid": "a", **item}))
    with pytest.raises(ReaderError, match=told) as caught:
        read_traces(path)
    assert caught.value.line == 1
    with pytest.raises(DataError, match=f"^item 1: {told}"):
        read_traces([{"qid": "a", **item}])


def test_traces_of_another_shape_are_refused_with_the_keys_found(tmp_path):
    line = {"qid": "a", "answer": "Paris", "retrieved": ["p1"], "abstained": False}
    path = written(tmp_path / "trace.jsonl", "", json.dumps(line))
    keys = "'qid', 'answer', 'retrieved', 'abstained'"
    told = f"a trace must have 'retrieved_ids', .* got the keys {keys}"
    with pytest.raises(ReaderError, match=told) as caught:
        read_traces(path)
    assert caught.value.line == 2
    with pytest.raises(DataError, match=f"^item 1: {told}"):
        read_traces([line])
