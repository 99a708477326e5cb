"""Ground truth for judged sets, and the evaluation of ADR-013 from end to end."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import score
from rageval_report.datasets import load_dataset
from rageval_report.errors import JudgeError, RagevalWarning
from rageval_report.golden import golden_records, ground_truth, highly_relevant
from rageval_report.http import RequestError
from rageval_report.judges.chats import ScriptedChat


def records_of(n_high):
    grades = {**{f"h{n}": 2.0 for n in range(n_high)}, "low": 1.0}
    return pd.DataFrame({"question": ["Is milk healthy?"], "relevant": [grades]}, index=["q1"])


def busy_server():
    return RequestError("busy", url="http://host", failure="status", status=503)


TEXTS = {"low": "Low.", **{f"h{n}": f"Text {n}." for n in range(9)}}


def test_the_context_is_the_first_five_highly_relevant_documents_that_are_there():
    texts = {name: text for name, text in TEXTS.items() if name != "h1"}
    chat = ScriptedChat(["  It is. \n"])
    [item] = ground_truth(records_of(7), texts, chat)
    shown = [n for n in range(9) if f"Text {n}." in chat.asked[0].user]
    assert shown == [0, 2, 3, 4, 5]
    assert "Low." not in chat.asked[0].user
    assert item.references == ("It is.",)
    assert item.metadata["context_documents"] == ["h0", "h2", "h3", "h4", "h5"]


def test_queries_without_highly_relevant_documents_are_left_out_and_said():
    both = pd.concat([records_of(1), records_of(0).set_axis(["q2"])])
    with pytest.warns(RagevalWarning, match="1 queries have no highly relevant document"):
        items = ground_truth(both, TEXTS, lambda _: "It is.")
    assert [item.query_id for item in items] == ["q1"]


@pytest.mark.parametrize("reply", ["", JudgeError("busy")])
def test_a_query_whose_reply_failed_is_left_out_and_said(reply):
    both = pd.concat([records_of(1), records_of(2).set_axis(["q2"])])
    chat = ScriptedChat(lambda message: reply if "Text 1." in message.user else "It is.")
    with pytest.warns(RagevalWarning, match=r"no answer was written for 'q2"):
        assert len(ground_truth(both, TEXTS, chat)) == 1


def test_highly_relevant_queries_of_nfcorpus_are_those_that_pandas_counts(real_data):
    folder = real_data("beir_nfcorpus_qrels")
    with pytest.warns(RagevalWarning, match="no questions"):
        found = highly_relevant(load_dataset("beir", folder))
    table = pd.read_csv(folder / "qrels/test.tsv", sep="\t")
    counted = table[table["score"] == 2].groupby("query-id").size()
    assert found["highly_relevant_count"].to_dict() == counted.to_dict()


def test_the_evaluation_of_adr_013():
    """All queries are scored before anything is gated; retrieval and generation are told apart.

    q1 finds 2 of 2, q2 10 of 14 (all that ten places hold), q3 none of 1, by arithmetic.
    """
    truths = ground_truth(
        pd.concat([records_of(n).set_axis([f"q{i}"]) for i, n in enumerate((2, 9, 1), 1)]),
        TEXTS,
        lambda _: "It is.",
    )
    more = {f"m{n}": 2.0 for n in range(5)}
    records = golden_records(truths)
    records["relevant"] = [
        {**grades, **more} if one == "q2" else grades for one, grades in records["relevant"].items()
    ]
    answered = records.assign(
        retrieved=[["h1", "h0"], [f"h{n}" for n in range(9)] + ["m0"], ["x"]],
        answer=["It is.", "It is not.", "It is."],
    )
    run = score(answered, ["recall@10", "reachable_recall@10", "exact_match"])
    assert run.scores["recall@10"].tolist() == pytest.approx([1.0, 10 / 14, 0.0])
    assert run.scores["reachable_recall@10"].tolist() == [1.0, 1.0, 0.0]
    table = pd.crosstab(run.scores["reachable_recall@10"] >= 0.8, run.scores["exact_match"] == 1)
    assert table.to_dict() == {False: {False: 0, True: 1}, True: {False: 1, True: 1}}


@pytest.mark.parametrize("failure", [ConnectionRefusedError("refused"), busy_server()])
def test_a_chat_that_is_down_for_a_while_makes_no_smaller_set(tmp_path, failure):
    both = pd.concat([records_of(1), records_of(2).set_axis(["q2"])])
    is_down = [True]

    def reply(message):
        return failure if is_down[0] and "Text 1." in message.user else "It is."

    journal = tmp_path / "truth.journal"
    with pytest.raises(JudgeError, match=r"1 of 2 queries have no reference yet.*'q2'"):
        ground_truth(both, TEXTS, ScriptedChat(reply), journal=journal)
    is_down[0] = False
    chat = ScriptedChat(reply)
    assert [item.query_id for item in ground_truth(both, TEXTS, chat, journal=journal)] == [
        "q1",
        "q2",
    ]
    assert len(chat.asked) == 1  # the other reply was kept
