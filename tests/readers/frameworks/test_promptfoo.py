from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table
from rageval_report.scores.states import states_frame

FILES = Path(__file__).parents[2] / "golden" / "promptfoo"  # promptfoo 0.121.20 wrote them
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))["metrics"]
IN_FULL = pytest.mark.parametrize("name", ["out.json", "out.jsonl"])
EACH = pytest.mark.parametrize("name", ["out.json", "out.jsonl", "out.csv"])


def row(query, *, provider="gpt", success=True, score=1.0, named=None, **more):
    """A result of version 3, with the fields that are always there."""
    return {
        "provider": {"id": f"openai:{provider}", "label": ""},
        "prompt": {"raw": f"Answer: {query}", "label": "Answer: {{question}}"},
        "promptIdx": 0,
        "vars": {"question": query},
        "response": {"output": f"about {query}"},
        "success": success,
        "score": score,
        "namedScores": named or {},
        "failureReason": 0 if success else 1,
        "latencyMs": 120,
        "gradingResult": {"pass": success, "score": score, "reason": "as graded"},
        **more,
    }


def error_row(query, **more):
    return row(query, success=False, score=0, failureReason=2, error="timeout", **more) | {
        "gradingResult": None,
        "response": None,
        "latencyMs": 0,
    }


@pytest.fixture
def read_rows(write):
    def read_rows_(rows, **summary):
        document = {"evalId": "e", "results": {"version": 3, "results": rows, **summary}}
        return read(write(json.dumps(document)))

    return read_rows_


def test_a_row_that_ended_in_an_error_is_unscored_not_zero(read_rows):
    [found] = read_rows([row("a", named={"f1": 1}), error_row("b"), row("c", named={"f1": 0})])
    scores = score_table(found.frame[["question", *found.metric_columns]]).scores
    assert scores.isna().to_numpy()[1].all()
    assert not scores.isna().to_numpy()[[0, 2]].any()
    assert found.frame["error"].tolist()[1] == "timeout"
    assert found.notes == ("1 of 3 rows ended in an error and are unscored",)


def test_a_failed_judge_is_no_zero(read_rows):
    part = {
        "pass": False,
        "score": 0,
        "reason": "could not parse",
        "assertion": {"type": "llm-rubric", "metric": "Tone"},
        "metadata": {"graderError": True},
    }
    grading = {"pass": False, "score": 0.5, "reason": "no", "componentResults": [part]}
    rows = [
        row("a", named={"Tone": 0, "Length": 1}, gradingResult=grading),
        row("b", named={"Tone": 1, "Length": 0}),
    ]
    [found] = read_rows(rows)
    assert np.array_equal(found.frame["Tone"], [np.nan, 1], equal_nan=True)
    assert np.array_equal(found.frame["score"], [np.nan, 1], equal_nan=True)
    assert found.frame["Length"].tolist() == [1, 0]
    assert found.frame["error"].tolist()[0] == "could not parse"


# -- files that promptfoo wrote


@IN_FULL
def test_sums_of_named_scores_are_promptfoo_s(name):
    """A failed grader adds 0 to promptfoo's sum, as it does to ours."""
    for pipeline, evaluation in read_scores(FILES / name).items():
        sums = evaluation.scores[["match", "length", "tone"]].sum()
        told = TOLD[pipeline]["namedScores"]
        assert sums.tolist() == pytest.approx([told["Match"], told["Length"], told["Tone"]])


def test_csv_says_the_same_as_json_rounded_to_two_places():
    in_full, rounded = read_scores(FILES / "out.json"), read_scores(FILES / "out.csv")
    for name, evaluation in rounded.items():
        names = list(evaluation.scores)
        other = in_full[name].scores.loc[evaluation.scores.index, names]
        assert names == ["score", "passed", "match", "length", "tone"]
        assert np.allclose(evaluation.scores, other, rtol=0, atol=0.005, equal_nan=True)
        answers = evaluation.details["answer"].sort_index()
        assert answers.equals(in_full[name].details["answer"].sort_index())


@EACH
def test_an_error_and_a_failed_grader_are_failed_scores(name):
    evaluation = read_scores(FILES / name)["long"]
    states = states_frame(evaluation.scores, evaluation.details)
    states.index = evaluation.details["question"]
    assert states["tone"].to_dict() == {
        "Who wrote Dune?": "scored",
        "Where is Oslo?": "failed",
        "When was Bach born?": "failed",
    }
    assert states["match"].to_dict()["When was Bach born?"] == "scored"


# -- CSV by hand: the forms of other versions

BLOCK = "Status,Score,Named Scores,Grader Reason,Comment"


def test_a_csv_row_with_a_cell_too_many_is_refused_with_its_line(write):
    lines = [f"q,[gpt] a,{BLOCK}", "why?,so,PASS,1.00,,,", "who?,so,PASS,1.00,,,,"]
    with pytest.raises(ReaderError, match=r"line 3: expected 7 fields, as in the header; found 8"):
        read(write("\n".join(lines)))


# -- the CSV before 0.104, with the results of a provider in one cell

OLD = json.loads((FILES / "old_expected.json").read_text(encoding="utf-8"))["providers"]


@pytest.mark.parametrize("provider", ["fixed", "short"])
def test_cells_of_the_older_csv_are_those_of_the_json(provider):
    assert recognise(Source(FILES / "old.csv")) == "promptfoo"
    [run] = [file for file in read(FILES / "old.csv") if file.pipeline == provider]
    for row in run.frame.to_dict(orient="records"):
        cell = OLD[provider][row["question"]]
        if cell["error"] is not None:
            assert row["score_state"] == row["passed_state"] == "failed"
            assert row["error"] == cell["error"]
            continue
        # JavaScript's toFixed rounds the binary 0.255 up.
        assert row["score"] == pytest.approx(cell["score"], abs=0.005 + 1e-9)
        assert row["passed"] == cell["passed"]
        named = cell["named"].get("Tone, kind")
        assert row["Tone, kind"] == named or named is None


OLD_FORMS = {  # after the sources of 0.24.2, 0.70.1 and 0.103.3
    "0.24.2": ("[a] Say {{q}}", "[PASS] (1.51) Yes (no)", "[FAIL] (0.25) too long\n---\nYes yes"),
    "0.70.1": (
        "[a] Say {{q}}",
        "[PASS] (1.51, tone (x): 0.50)\n\nYes (no)\n\nPass Reason: fine",
        "[FAIL] (0.25, tone (x): 0.00)\n\ntoo long\n---\nYes yes\n\nFail Reason: too long",
    ),
}


@pytest.mark.parametrize("version", OLD_FORMS)
@pytest.mark.parametrize("first", [True, False])
def test_other_versions_of_the_older_csv(write, version, first):
    title, passed, failed = OLD_FORMS[version]
    rows = [("q", title), ("one", passed), ("two", failed)]
    text = "".join(
        ",".join(f'"{cell}"' for cell in (row[::-1] if first else row)) + "\n" for row in rows
    )
    path = write(text)
    assert recognise(Source(path)) == "promptfoo"
    [run] = read(path)
    assert run.pipeline == "a"
    assert run.frame["score"].tolist() == [1.51, 0.25]
    assert run.frame["passed"].tolist() == [1, 0]
    assert run.frame["answer"].tolist() == ["Yes (no)", "Yes yes"]
    assert run.frame["reason"].tolist()[1] == "too long"
    if version == "0.70.1":
        assert run.frame["tone (x)"].tolist() == [0.5, 0]


def test_sums_beside_their_metrics_do_not_count_in_corrections(write):
    named = [row(query, named={"Recall": 0.5}) for query in "ab"]
    plain = [row(query) for query in "ab"]
    for rows, outside in ((named, {"score", "passed"}), (plain, set())):
        path = write(json.dumps({"evalId": "e", "results": {"version": 3, "results": rows}}))
        [run] = read_scores(path).values()
        assert {one.name for one in run.metrics.values() if not one.in_family} == outside
        [run] = read_scores(path, metrics=["score", "latency_ms"]).values()
        assert run.metrics["score"].in_family


def test_repeats_of_a_test_are_one_query_and_no_smaller_p_value(read_rows):
    """8 tests, ten times each; one of them changes, so the exact sign-flip p is 1, not 2 ** -10."""
    rows = [
        row(f"Q{test}?", provider=name, success=test > 1 or (test == 1 and name == "b"), testIdx=n)
        for n, test in enumerate([*range(8)] * 10)
        for name in "ab"
    ]
    a, b = (
        RAGPipelineEvaluation(file.pipeline, file.frame, metrics=file.metrics)
        for file in read_rows(rows)
    )
    assert a.details["n_repeats"].tolist() == [10] * 8
    result = compare(a, b, metrics="passed", test="sign-flip").frame.iloc[0]
    assert result[["n", "difference", "pvalue"]].tolist() == [8, 0.125, 1]


def test_repeats_that_differ_are_shares(read_rows):
    [file] = read_rows([row("a"), row("a", success=False), row("b")])
    assert file.frame["passed"].tolist() == [0.5, 1]
    assert file.metrics["passed"]["kind"] == "proportion"
