import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.render.markdown import LONGEST, MARKER, pull_request_comment
from rageval_report.results import Result

COLUMNS = ["rule", "value", "ci_low", "ci_high", "n", "n_unscored", "passed", "state", "why"]


def gates(*told, notes=(), title="Gates of v1") -> Result:
    rows = [
        (rule, 0.7, 0.6, 0.8, 10, 1, state == "passed", state, f"{rule} is 0.7")
        for rule, state in told
    ]
    return Result(title, pd.DataFrame(rows, columns=COLUMNS), {"seed": 0}, notes)


def queries(n=3, text="Why?", title="3 queries below 0.8 on recall") -> Result:
    index = pd.Index([f"q{i}" for i in range(n)], name="query_id")
    frame = pd.DataFrame({"recall": [0.1] * n, "question": [text] * n}, index=index)
    return Result(title, frame, {"rule": "mean(recall) >= 0.8"})


GOOD, BAD, UNKNOWN = (
    ("n(a) >= 1", "passed"),
    ("mean(a) >= 0.8", "failed"),
    ("n(b)", "not evaluated"),
)


def test_the_heading_counts_what_failed():
    assert "### ❌ Gates of v1: 2 of 3 failed" in pull_request_comment(gates(GOOD, BAD, UNKNOWN))
    assert "### ✅ Gates of v1: all 1 passed" in pull_request_comment(gates(GOOD))


def test_the_first_line_is_the_marker():
    assert pull_request_comment(gates(GOOD)).splitlines()[0] == MARKER


def test_what_failed_stands_first_with_its_sign_and_its_reason():
    told = pull_request_comment(gates(GOOD, UNKNOWN, BAD))
    rows = [line for line in told.splitlines() if line.startswith("| ")][1:]
    assert [row.split("|")[1].strip() for row in rows] == ["❌", "⚠️", "✅"]
    assert "- mean(a) &gt;= 0.8 is 0.7" in told
    assert "- n(a)" not in told


def test_the_failing_queries_are_folded_away():
    told = pull_request_comment(gates(BAD), [queries()])
    fold = re.search(r"<details><summary>(.*)</summary>\n\n(.*?)\n\n</details>", told, re.S)
    assert fold[1] == "3 queries below 0.8 on recall (mean(recall) &gt;= 0.8)"
    assert [line.split("|")[1].strip() for line in fold[2].splitlines()[2:]] == ["q0", "q1", "q2"]


def test_many_queries_are_cut_and_counted():
    told = pull_request_comment(gates(BAD), [queries(500)])
    assert len(re.findall(r"\n\| q\d", told)) == 20
    assert "... and 480 more rows" in told


def test_notes_are_folded_away_too():
    told = pull_request_comment(gates(BAD, notes=("be careful",)))
    assert "<details><summary>Notes</summary>\n\n- be careful\n\n</details>" in told


def test_a_comment_never_exceeds_its_room():
    many = [queries(200, "long " * 400, f"{i} queries") for i in range(300)]
    told = pull_request_comment(gates(*[BAD] * 400, notes=("note " * 100,) * 400), many)
    assert len(told) <= LONGEST < 65_000
    assert told.count("<details>") == told.count("</details>") > 2


def test_what_has_no_room_is_counted():
    told = pull_request_comment(gates(BAD), [queries(), queries(), queries()], longest=900)
    assert len(told) <= 900
    assert "1 more table of queries is left out because there is no room." in told


def test_all_rules_are_there_where_there_is_room():
    told = pull_request_comment(gates(*[(f"n(a) >= {i}", "passed") for i in range(100)]))
    assert told.count("✅") == 101


@pytest.mark.parametrize(
    ("text", "live"),
    [
        ("ask @octocat", "@octocat"),
        ("fixes #12", "#12"),
        ("owner/repo#12", "#12"),
        ("GH-12", "GH-12"),
        ("https://example.com", "https://"),
        ("www.example.com", "www.example"),
        ("<script>alert(1)</script>", "<script"),
        ("</details>", "\n</details>\nx"),
        ("![x](http://a/b.png)", "![x]("),
        ("[x](javascript:alert(1))", "[x]("),
        ("a | b", " | b |"),
    ],
)
def test_texts_of_queries_are_only_texts(text, live):
    told = pull_request_comment(gates(BAD), [queries(1, text)])
    [row] = [line for line in told.splitlines() if line.startswith("| q0")]
    assert live not in row.removesuffix(" |") + "\n"
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


def test_a_metric_with_a_cutoff_is_no_mention():
    assert "mean(recall@5)" in pull_request_comment(gates(("mean(recall@5) >= 0.8", "failed")))


def test_a_pipelines_name_cannot_mention_anybody():
    assert "@team" not in pull_request_comment(gates(BAD, title="Gates of @team"))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.text(max_size=30), st.sampled_from(["passed", "failed"])), min_size=1),
    st.text(max_size=60),
    st.integers(1500, 5000),
)
def test_any_texts_keep_their_places_and_the_room(told, text, longest):
    comment = pull_request_comment(gates(*told), [queries(3, text)], longest=longest)
    assert len(comment) <= longest
    assert comment.count("<details>") == comment.count("</details>")
    assert "<script" not in comment
