"""Dialects beyond records: rankings in files, traces, judges, and the paths that have none.

Witnesses: `score_rankings` and `score` in the same dialect, whose own witnesses are in
``test_dialects.py``, and arithmetic by hand.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from rageval_report import (
    compare,
    read_scores,
    score,
    score_rankings,
)
from rageval_report.errors import DataError
from rageval_report.judges import ScriptedChat
from rageval_report.metrics.trace_results import score_traces

# The last document of q1 is a repeat, and q3 has no gold that is relevant.
RUN = "\n".join(
    [
        *("q1 Q0 a 1 3.0 t", "q1 Q0 b 2 2.0 t", "q1 Q0 c 3 2.0 t", "q1 Q0 a 4 1.0 t"),
        *("q2 Q0 x 1 1.0 t", "q2 Q0 y 2 0.5 t", "q3 Q0 z 1 1.0 t"),
    ]
)
QRELS = "\n".join(["q1 0 c 1", "q1 0 d 1", "q2 0 y 2", "q3 0 z 0"])


@pytest.fixture
def files(tmp_path):
    run, qrels = tmp_path / "bm25.run", tmp_path / "qrels.txt"
    run.write_text(RUN + "\n", encoding="utf-8")
    qrels.write_text(QRELS + "\n", encoding="utf-8")
    return run, qrels


# -- rankings in files


@pytest.mark.parametrize(
    ("dialect", "metrics"),
    [
        ("haystack", ["document_mrr", "single_hit", "document_recall_multi_hit"]),
        ("haystack", ["mrr", "ndcg"]),
        ("datapizza", ["precision_at_5_exact", "recall@1", "f1_at_3_exact"]),
        ("datapizza", "hybrid_log_rank_score_exact"),
    ],
)
def test_a_ranking_that_is_read_has_the_scores_of_score_rankings(files, dialect, metrics):
    run, qrels = files
    [read] = read_scores(run, qrels=qrels, metrics=metrics, dialect=dialect).values()
    scored = score_rankings(run, qrels, metrics, dialect=dialect)
    assert list(read.scores) == list(scored.scores)
    np.testing.assert_array_equal(read.scores, scored.scores.loc[read.scores.index])
    assert read.config["dialect"] == dialect
    report = read.evaluation_report()
    assert f"dialect:{dialect}" in report.signature
    assert any(note.startswith("dialect: names and rules of") for note in report.notes)
    for name, metric in read.metrics.items():
        assert metric.title == scored.metrics[name].title


@pytest.mark.parametrize(
    ("dialect", "first"), [("haystack", "document_mrr"), ("datapizza", "precision_at_1_exact")]
)
def test_without_names_the_metrics_are_those_of_the_system(files, dialect, first):
    run, qrels = files
    [read] = read_scores(run, qrels=qrels, dialect=dialect).values()
    assert next(iter(read.scores)) == first
    assert any("no metrics were named" in note and first in note for note in read.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "docid"}, 'ties="docid" contradicts dialect="haystack"'),
        ({"duplicates": "best"}, 'duplicates="best" contradicts dialect="haystack"'),
        ({"relevance_level": "2"}, "relevance_level=2 contradicts"),
        ({"dialect": "ragbench"}, 'dialect must be "datapizza" or "haystack" for rankings'),
        ({"dialect": "wfgy"}, 'dialect must be "datapizza" or "haystack" for rankings'),
        ({"metrics": ["recall@5"]}, 'dialect="haystack" has no metric'),
        ({"metrics": ["exact_match"]}, "cannot be computed from rankings"),
    ],
)
def test_a_ranking_refuses_what_contradicts_its_dialect(files, options, message):
    run, qrels = files
    with pytest.raises(DataError, match=message):
        read_scores(run, qrels=qrels, **{"metrics": ["mrr"], "dialect": "haystack", **options})


# -- traces

GOLD = [
    {"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"], "gold_citations": ["d1"]},
    {"qid": "b", "answerable": True, "gold_claim_substr": ["Oslo fjord"], "gold_citations": ["d2"]},
    {"qid": "c", "answerable": False, "gold_claim_substr": [], "gold_citations": []},
    {"qid": "d", "answerable": True, "gold_claim_substr": ["Rome"], "gold_citations": ["d4"]},
]
TRACES = [
    ("a", "It is Paris.", ["d1"], ["d1", "d9"]),
    ("b", "not in context", [], ["d2"]),
    ("c", "It is Bern.", [], ["d3"]),
    ("d", "It is Rome, Italy.", ["d9"], ["d9", "d4"]),
]
TRACE = [
    {"qid": q, "retrieved_ids": retrieved, "answer_json": {"claim": claim, "citations": cited}}
    for q, claim, cited, retrieved in TRACES
]


def test_traces_in_the_dialect_of_their_scorer_have_its_names_and_figures():
    plain, theirs = score_traces(GOLD, TRACE, k=2), score_traces(GOLD, TRACE, k=2, dialect="wfgy")
    assert theirs.frame.equals(plain.frame)
    evaluation = theirs.evaluation
    names = ["precision", "chr", "under_refusal", "over_refusal", "recall@2"]
    assert list(evaluation.scores) == names
    figures = theirs.frame.set_index("figure")["value"]
    for name, figure in zip(names, [*names[:4], "recall@k"], strict=True):
        assert evaluation.get_aggregated_scores(name) == pytest.approx(figures[figure])
    assert not evaluation.metrics["over_refusal"].greater_is_better
    assert evaluation.config == {"dialect": "wfgy"}
    assert "dialect:wfgy" in theirs.signature
    assert "dialect:wfgy" in evaluation.evaluation_report().signature
    assert "dialect" not in plain.signature
    assert "answered_precision" in plain.evaluation.scores


def test_traces_and_records_agree_in_the_dialect():
    rows = [
        {
            "query_id": gold["qid"],
            "answerable": gold["answerable"],
            "reference": gold["gold_claim_substr"],
            "relevant": gold["gold_citations"],
            "answer": claim,
            "citations": cited,
            "retrieved": retrieved,
        }
        for gold, (_, claim, cited, retrieved) in zip(GOLD, TRACES, strict=True)
    ]
    names = ["precision", "chr", "under_refusal", "over_refusal", "recall_at_2"]
    records = score(rows, names, dialect="wfgy")
    traces = score_traces(GOLD, TRACE[::-1], k=2, dialect="wfgy").evaluation
    np.testing.assert_array_equal(traces.scores[list(records.scores)], records.scores)
    compared = compare(records, traces.with_name("traces"))
    assert not any("same rules" in note for note in compared.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "skip"}, 'missing="skip" contradicts dialect="wfgy".*missing="answered"'),
        ({"undefined": "null"}, 'undefined="null" contradicts dialect="wfgy"'),
        ({"refusal_pattern": "no idea"}, "refusal_pattern=.*not in context"),
        ({"dialect": "haystack"}, 'dialect must be "wfgy" for traces.*score.records'),
        ({"dialect": "ragbench"}, 'dialect must be "wfgy" for traces.*score.records'),
    ],
)
def test_traces_refuse_what_contradicts_their_scorer(options, message):
    with pytest.raises(DataError, match=message):
        score_traces(GOLD, TRACE, **{"dialect": "wfgy", **options})


# -- judges


def judged_in(dialect):
    rows = [{"query_id": n, "question": "Where?", "answer": f"Here {n}."} for n in range(4)]
    marks = [1, 5, 4, 2]
    replies = [json.dumps({"reasoning": "So.", "score": mark}) for mark in marks]
    return score(
        rows,
        "answer_relevancy",
        chat=ScriptedChat(replies),
        judging={"concurrency": 1},
        dialect=dialect,
    )


def test_judged_metrics_alone_keep_the_dialect_and_its_percentiles():
    plain, theirs = judged_in(None), judged_in("ragbench")
    assert theirs.scores.equals(plain.scores)
    assert theirs.config["dialect"] == "ragbench"
    assert "dialect:ragbench" in theirs.evaluation_report().signature
    assert any("metrics of the judge are our own" in note for note in theirs.notes)
    values = sorted(plain.scores["answer_relevancy"])
    assert theirs.find_thresholds().frame["p50"].tolist() == [values[2]]  # sorted[int(n / 2)]
    assert plain.find_thresholds().frame["p50"].tolist() == [(values[1] + values[2]) / 2]
    assert "dialect" not in plain.config


# -- paths that have no dialect
