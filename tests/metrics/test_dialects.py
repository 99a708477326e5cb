"""The numbers of other systems.

Witnesses: Haystack's own evaluators (haystack-ai 3.4.0, in ``tests/golden/dialects``); for the
others their formulas, written out below query by query.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from rageval_report import (
    compare,
    read_scores,
    score,
    score_rankings,
)
from rageval_report.errors import DataError
from rageval_report.metrics.trace_results import score_traces
from rageval_report.scores.catalogue.dialects import DIALECT_NAMES

GOLDEN = Path(__file__).parents[1] / "golden" / "dialects"


def made_up(seed, n=60):
    """Records with repeats, without gold, with nothing retrieved, and with failed queries."""
    draw = random.Random(seed)
    rows = []
    for number in range(n):
        pool = [f"d{n}" for n in range(7)]
        relevant = draw.sample(pool, draw.randint(0, 3))
        row = {
            "query_id": f"q{number}",
            "retrieved": [draw.choice(pool) for _ in range(draw.randint(0, 8))],
            "relevant": {doc: draw.choice([0.5, 1.0, 2.0]) for doc in relevant},
            "citations": [draw.choice(pool) for _ in range(draw.randint(0, 3))],
            "answer": draw.choice(["It is Oslo.", "I don't know.", "not in context", "Rome", ""]),
            "reference": ["Is Oslo", "Rome"],
            "answerable": draw.random() < 0.6,
            "latency_ms": float(draw.randint(1, 900)),
            "error": None,
        }
        if draw.random() < 0.1:
            row |= {"retrieved": None, "citations": None, "answer": None, "error": "time-out"}
        rows.append(row)
    return rows


ROWS = made_up(3)


def check(dialect, formulas, rows=ROWS):
    """Each score equals that of a formula of a record; None stands for unscored."""
    evaluation = score(rows, list(formulas), dialect=dialect)
    for column, formula in zip(evaluation.scores, formulas.values(), strict=True):
        expected = np.array([formula(row) for row in rows], dtype=float)
        np.testing.assert_allclose(
            evaluation.scores[column].to_numpy(), expected, rtol=1e-12, err_msg=column
        )
        assert np.isfinite(expected).sum() > 0
    return evaluation


# -- haystack


def test_haystack_equals_its_own_evaluators():
    content = json.loads((GOLDEN / "haystack_dialect.json").read_text(encoding="utf-8"))
    results = content["results"]
    evaluation = score(content["rows"], list(results), dialect="haystack")
    for name, result in results.items():
        np.testing.assert_allclose(
            evaluation.scores[name].to_numpy(), result["individual_scores"], rtol=1e-12
        )
        assert evaluation.get_aggregated_scores(name) == pytest.approx(result["score"])
    ranked = [row for row in content["rows"] if row["relevant"]]
    run = {row["query_id"]: row["retrieved"] for row in ranked}
    qrels = {row["query_id"]: row["relevant"] for row in ranked}
    rankings = score_rankings(run, qrels, ["document_map", "multi_hit"], dialect="haystack")
    for name in rankings.scores:
        np.testing.assert_array_equal(
            rankings.scores[name], evaluation.scores.loc[rankings.scores.index, name]
        )


# -- ragbench


def gold_of(row):
    return set(row["relevant"])


def is_out(row):
    """Without gold ragbench has null since August 2026; a failed question has no value."""
    return not row["relevant"] or row["retrieved"] is None


def ragbench_recall(row):
    return (
        None if is_out(row) else len(gold_of(row) & set(row["retrieved"][:3])) / len(gold_of(row))
    )


def ragbench_precision(row):
    if is_out(row):
        return None
    first = set(row["retrieved"][:5])
    return len(gold_of(row) & first) / min(5, len(first)) if first else 0.0


def ragbench_mrr(row):
    if is_out(row):
        return None
    ranks = [1 / rank for rank, doc in enumerate(row["retrieved"], 1) if doc in row["relevant"]]
    return ranks[0] if ranks else 0.0


def ragbench_ndcg(row):
    if is_out(row):
        return None
    gains = [row["relevant"].get(doc, 0.0) for doc in row["retrieved"][:10]]
    ideal = sorted(row["relevant"].values(), reverse=True)[:10]
    total, best = (
        sum(gain / math.log2(place + 2) for place, gain in enumerate(values))
        for values in (gains, ideal)
    )
    return total / best


def ragbench_abstains(row):
    return not row["answer"] or "don't know" in row["answer"].lower()


def ragbench_accuracy(row):
    return None if row["error"] else ragbench_abstains(row) == (not row["answerable"])


def ragbench_false_positive(row):
    return None if row["error"] or not row["answerable"] else ragbench_abstains(row)


def ragbench_false_negative(row):
    return None if row["error"] or row["answerable"] else not ragbench_abstains(row)


def ragbench_citation_precision(row):
    if not row["relevant"] or row["citations"] is None:
        return None
    cited = set(row["citations"])
    return len(cited & gold_of(row)) / len(cited) if cited else 0.0


def test_ragbench_equals_its_formulas():
    evaluation = check(
        "ragbench",
        {
            "recall_at_3": ragbench_recall,
            "precision_at_5": ragbench_precision,
            "mrr": ragbench_mrr,
            "ndcg_at_10": ragbench_ndcg,
            "unanswerable_accuracy": ragbench_accuracy,
            "abstention_false_positive_rate": ragbench_false_positive,
            "abstention_false_negative_rate": ragbench_false_negative,
            "citation_precision": ragbench_citation_precision,
            "latency_ms": lambda row: row["latency_ms"],
        },
    )
    assert evaluation.scores["ndcg@10"].max() > 1.0  # a repeated chunk gains again


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 40])
def test_percentiles_are_those_of_ragbench(n):
    rows = made_up(5, n)
    table = score(rows, "latency_ms", dialect="ragbench").find_thresholds(percentiles=(50, 95))
    latencies = sorted(row["latency_ms"] for row in rows)
    row = table.frame.iloc[0]
    assert row["p95"] == latencies[min(int(n * 0.95), n - 1)]
    assert row["p50"] == latencies[int(n / 2)]
    assert table.settings["percentile_method"] == "upper"


# -- datapizza


def datapizza_out(row):
    """Without gold datapizza's functions raise an error."""
    return not row["relevant"] or row["retrieved"] is None


def datapizza_precision(row):
    return None if datapizza_out(row) else len(set(row["retrieved"][:5]) & gold_of(row)) / 5


def datapizza_recall(row):
    found = set((row["retrieved"] or [])[:5]) & gold_of(row)
    return None if datapizza_out(row) else len(found) / len(gold_of(row))


def datapizza_f1(row):
    if datapizza_out(row):
        return None
    exact, complete = datapizza_precision(row), datapizza_recall(row)
    return 2 * exact * complete / (exact + complete) if exact + complete else 0.0


def datapizza_hybrid(row):
    if datapizza_out(row):
        return None
    docs, n = row["retrieved"], len(row["retrieved"])
    ranks = [docs.index(doc) + 1 for doc in gold_of(row) if doc in docs]
    scores = [1.0 if n == 1 else 1 - math.log(rank) / math.log(n) for rank in ranks]
    return 0.5 * len(ranks) / len(gold_of(row)) + 0.5 * sum(scores) / len(gold_of(row))


def test_datapizza_equals_its_formulas():
    check(
        "datapizza",
        {
            "precision_at_5_exact": datapizza_precision,
            "recall_at_5_exact": datapizza_recall,
            "f1_at_5_exact": datapizza_f1,
            "hybrid_log_rank_score_exact": datapizza_hybrid,
        },
    )


# -- wfgy


def wfgy_refuses(row):
    return (row["answer"] or "").strip().lower() == "not in context"


def wfgy_hit(row):
    cited, found = set(row["citations"] or ()), set(row["retrieved"] or ())
    return cited <= found and (bool(cited & gold_of(row)) if row["relevant"] else not cited)


def wfgy_contains(row):
    claim = (row["answer"] or "").strip().lower()
    return any(len(text) >= 5 and text.lower() in claim for text in row["reference"])


def test_wfgy_equals_its_formulas():
    evaluation = check(
        "wfgy",
        {
            "precision": lambda row: (
                None
                if wfgy_refuses(row)
                else row["answerable"] and wfgy_hit(row) and wfgy_contains(row)
            ),
            "chr": lambda row: None if wfgy_refuses(row) else row["answerable"] and wfgy_hit(row),
            "under_refusal": lambda row: None if row["answerable"] else not wfgy_refuses(row),
            "over_refusal": lambda row: wfgy_refuses(row) if row["answerable"] else None,
            "recall@3": lambda row: (
                gold_of(row) <= set((row["retrieved"] or [])[:3]) if row["answerable"] else None
            ),
        },
    )
    assert {metric.greater_is_better for metric in evaluation.metrics.values()} == {True, False}
    assert not evaluation.metrics["over_refusal"].greater_is_better


# -- all of them


CHOICES = {
    "ragbench": "mrr",
    "haystack": "document_mrr",
    "datapizza": "recall_at_5_exact",
    "wfgy": "over_refusal",
}


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_dialect_stands_in_the_signature_and_in_a_note(dialect):
    evaluation = score(ROWS, CHOICES[dialect], dialect=dialect)
    report = evaluation.evaluation_report()
    assert f"dialect:{dialect}" in report.signature
    assert evaluation.config["dialect"] == dialect
    assert any(note.startswith("dialect: names and rules of") for note in report.notes)
    other = score(ROWS, CHOICES[dialect], dialect=dialect, name="other")
    assert f"dialect:{dialect}|" in compare(evaluation, other).signature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duplicates": "best"}, 'duplicates="best" contradicts dialect="ragbench".*"keep"'),
        ({"no_relevant": "zero"}, 'no_relevant="zero" contradicts dialect="ragbench".*"skip"'),
        ({"level": "document"}, 'level="document" contradicts dialect="ragbench".*"chunk"'),
    ],
)
def test_an_option_that_contradicts_the_dialect_is_refused(options, message):
    with pytest.raises(DataError, match=message):
        score(ROWS, "mrr", dialect="ragbench", **options)
    agreeing = {"duplicates": "keep", "no_relevant": "skip", "level": "chunk"}
    score(ROWS, "mrr", dialect="ragbench", **agreeing)


@pytest.mark.parametrize(
    ("dialect", "metric"),
    [("haystack", "recall@5"), ("haystack", "precision"), ("datapizza", "ndcg@10"),
     ("wfgy", "mrr"), ("ragbench", "map"), ("ragbench", "recall")],
)  # fmt: skip
def test_a_metric_that_the_system_does_not_have_is_refused(dialect, metric):
    with pytest.raises(DataError, match=f'dialect="{dialect}" has no metric {metric!r}'):
        score(ROWS, metric, dialect=dialect)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "skip"}, "with its own missing, undefined and refusals"),
        ({"undefined": "null"}, "with its own missing, undefined and refusals"),
        ({"dialect": "haystack"}, 'dialect must be "wfgy" for traces.*"haystack"'),
    ],
)
def test_traces_refuse_what_contradicts_their_scorer(options, message):
    with pytest.raises(DataError, match=message):
        score_traces(GOLD, TRACE, **{"dialect": "wfgy", **options})


# -- judges


# -- paths that have no dialect
