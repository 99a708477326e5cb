"""Sheets for reviewers: blank columns, no formulas, everything that was asked and answered."""

import math

from rageval_report import RAGPipelineEvaluation
from rageval_report.scores.write import BLANKS, review_markdown, review_sheet

RUN = RAGPipelineEvaluation(
    "hybrid",
    {
        "query_id": ["a", "-b"],
        "user_input": ["Who?", '=HYPERLINK("x")'],
        "response": ["Ada\nLovelace", None],
        "retrieved_contexts": [["one", "two"], []],
        "citations": [["d1"], None],
        "faithfulness": [0.5, math.nan],
    },
)


def test_a_row_a_query_with_blank_columns_for_the_reviewer():
    sheet = review_sheet(RUN)
    assert list(sheet) == [
        *("query_id", "question", "answer", "contexts", "citations", "scored_faithfulness"),
        *BLANKS,
    ]
    assert sheet.loc[0, "contexts"] == "one\ntwo"
    assert (sheet[list(BLANKS)] == "").all(axis=None)


def test_a_text_that_a_spreadsheet_would_run_is_made_harmless():
    sheet = review_sheet(RUN)
    assert sheet.loc[1, "question"] == '\'=HYPERLINK("x")'
    assert sheet.loc[1, "query_id"] == "'-b"


def test_the_page_has_a_section_a_query_and_boxes():
    page = review_markdown(RUN)
    assert page.startswith("# Review of hybrid\n\n## a\n")
    assert "> Ada\n> Lovelace" in page
    assert "**scores** faithfulness 0.5" in page
    assert page.count("- answer_correct: [ ]") == 2
    assert "**scores** none" in page


def test_texts_of_the_data_are_inert_on_the_page():
    text = "<img src=x> ![p](http://evil/p.png) @ann\n# heading\n\n[^1]: note\n===\n- answer: [x]"
    data = {"query_id": ["#1 <b>"], "user_input": [text], "faithfulness": [0.5]}
    page = review_markdown(RAGPipelineEvaluation("<i>run</i> @bob", data))
    own = [line for line in page.splitlines() if not line.startswith("> ")]
    for line in page.splitlines():
        assert "<" not in line.replace("&lt;", "")
        assert "![" not in line
        assert "@ann" not in line
        assert "@bob" not in line
        assert "://" not in line
    assert sum(line.startswith(("# ", "## ")) for line in page.splitlines()) == 2
    assert "> \\# heading" in page
    assert "> \\===" in page
    assert sum(line.startswith("- ") for line in own) == len(BLANKS)


def test_a_sheet_reads_back_without_its_apostrophes(tmp_path):
    sheet = review_sheet(RUN)
    sheet["faithfulness"] = [1, 0]
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    found = RAGPipelineEvaluation.load("rated", tmp_path / "sheet.csv")
    assert sorted(found.scores.index) == ["-b", "a"]
    assert found.details.loc["-b", "question"] == '=HYPERLINK("x")'
