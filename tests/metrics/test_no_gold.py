"""Questions without gold or without an answer: not applicable, by every way of scoring.

Five questions, of which q4 has no answer and q5 no relevant documents:

====  =========  =========  ========  ====
id    gold       retrieved  recall@2  mrr
====  =========  =========  ========  ====
q1    a          a b        1         1
q2    a b        c b        1/2       1/2
q3    d          a b        0         0
q4    none       a b        n/a       n/a
q5    none       c a        n/a       n/a
====  =========  =========  ========  ====

so that recall@2 and MRR are both (1 + 1/2 + 0) / 3 = 1/2, and with 0 for the last two 3/10.
"""

from __future__ import annotations

import pytest

from rageval_report import read_scores, score, score_rankings

METRICS = ["recall@2", "mrr"]
GOLD = {"q1": ["a"], "q2": ["a", "b"], "q3": ["d"], "q4": [], "q5": []}
RETRIEVED = {
    "q1": ["a", "b"],
    "q2": ["c", "b"],
    "q3": ["a", "b"],
    "q4": ["a", "b"],
    "q5": ["c", "a"],
}
ANSWERS = {"q1": "One.", "q2": "Two.", "q3": "No.", "q4": "I don't know.", "q5": "Five."}
REASONS = {
    "q4": "the question has no answer, so nothing is relevant to it",
    "q5": "the query has no relevant documents",
}
NOTE = (
    "2 of 5 queries have no relevant documents; retrieval metrics do not apply to them: 'q4', 'q5'"
)


def rows(**changes):
    return [
        {
            "query_id": name,
            "question": f"Question {name}?",
            "relevant": gold,
            "retrieved": RETRIEVED[name],
            "answer": ANSWERS[name],
            "reference": ANSWERS[name],
            "answerable": name != "q4",
            **changes.get(name, {}),
        }
        for name, gold in GOLD.items()
    ]


def check(evaluation, reasons=REASONS):
    assert evaluation.scores["recall@2"].tolist()[:3] == [1, 1 / 2, 0]
    for metric in METRICS:
        assert evaluation.get_aggregated_scores(metric) == pytest.approx(1 / 2)
        assert evaluation.states[metric].tolist() == ["scored"] * 3 + ["not applicable"] * 2
        found = evaluation.details[f"{metric}_reason"].tolist()
        assert found[3:] == [reasons["q4"], reasons["q5"]]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"q4": {"relevant": None}, "q5": {"relevant": None}},  # unknown gold
        {"q4": {"relevant": ["a"]}, "q5": {"relevant": {"a": 0}}},  # gold of an unanswerable one
        {"q4": {"relevant": {"a": 0, "b": -1}}, "q5": {"relevant": {}}},
    ],
)
def test_records(changes):
    evaluation = score(rows(**changes), METRICS)
    check(evaluation)
    assert NOTE in evaluation.notes


def write_ranking(folder):
    run, qrels = folder / "bm25.run", folder / "qrels.txt"
    lines = [f"{query} Q0 {doc} {n} {-n} tag" for query, docs in RETRIEVED.items()
             for n, doc in enumerate(docs, 1)]  # fmt: skip
    run.write_text("\n".join(lines) + "\n")
    judged = [f"{query} 0 {doc} 1" for query, docs in GOLD.items() for doc in docs]
    qrels.write_text("\n".join([*judged, "q4 0 a 0", "q5 0 c 0"]) + "\n")
    return run, qrels


def test_files_of_rankings(tmp_path):
    run, qrels = write_ranking(tmp_path)
    expected = dict.fromkeys(("q4", "q5"), REASONS["q5"])
    check(score_rankings(run, qrels, METRICS), expected)
    check(read_scores(run, qrels=qrels, metrics=METRICS)["bm25"], expected)


def test_zero_is_an_option_by_every_way(tmp_path):
    run, qrels = write_ranking(tmp_path)
    evaluations = [
        score(rows(), METRICS, no_relevant="zero"),
        score_rankings(RETRIEVED, GOLD, METRICS, no_relevant="zero"),
        read_scores(run, qrels=qrels, metrics=METRICS, no_relevant="zero")["bm25"],
    ]
    for evaluation in evaluations:
        assert evaluation.scores["mrr"].tolist() == [1, 1 / 2, 0, 0, 0]
        assert evaluation.get_aggregated_scores("mrr") == pytest.approx(3 / 10)


# -- refusals


def test_a_right_refusal_is_no_failure_and_counts_as_correct():
    names = [*METRICS, "exact_match", "token_f1", "citation_recall", "citation_hit"]
    changes = {"q4": {"relevant": ["a"], "reference": "There is no answer.", "citations": []}}
    table = [{"citations": [], **row} for row in rows(**changes)]
    evaluation = score(table, names)
    for metric in names:
        assert "q4" not in evaluation.failures(metric, 0.5).frame.index
    assert (
        evaluation.scores.loc["q4", ["exact_match", "token_f1", "citation_hit"]].tolist() == [1] * 3
    )
    assert evaluation.states.loc["q4", "citation_recall"] == "not applicable"
    assert evaluation.evaluation_report()["nr_correct_queries"] == 5


def test_a_question_without_an_answer_has_no_reference_to_compare_with():
    rows = [
        {"query_id": "a", "answer": "Oslo", "reference": ["Oslo"], "answerable": True},
        {"query_id": "b", "answer": "No.", "reference": [], "answerable": False},
        {"query_id": "c", "answer": "No.", "reference": [], "answerable": True},
        {"query_id": "d", "answer": "No.", "reference": ["No."], "answerable": False},
        {"query_id": "e", "answer": "No.", "reference": []},
    ]
    evaluation = score(rows, ["exact_match", "token_f1", "rouge_l"])
    for name in ("exact_match", "token_f1", "rouge_l"):
        states = evaluation.states[name].to_dict()
        assert states == {
            "a": "scored",
            "b": "not applicable",
            "c": "missing",
            "d": "scored",
            "e": "missing",
        }
        assert evaluation.scores[name].isna().tolist() == [False, True, True, False, True]
    assert "no reference for one" in evaluation.details.loc["b", "exact_match_reason"]
