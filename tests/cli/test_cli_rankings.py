"""Rankings are sources of compare, rank, gate, report, failures and the rest, with --qrels."""

from __future__ import annotations

import csv
import re
import shlex

import pytest

from rageval_report import score_rankings

QUERIES = [f"q{n}" for n in range(8)]


QRELS = {query: {"a": 2, "b": 1} for query in QUERIES}


BM25 = {query: {"x": 3.0, "b": 2.0, "a": 1.0} for query in QUERIES}


DENSE = {query: {"a": 3.0, "x": 2.0, "b": 1.0} for query in QUERIES}


WITH = "--qrels qrels.txt --metric ndcg@10"


def trec(run):
    return "".join(
        f"{query} Q0 {doc} {rank} {score} tag\n"
        for query, docs in run.items()
        for rank, (doc, score) in enumerate(docs.items(), 1)
    )


@pytest.fixture
def runs(folder):
    (folder / "bm25.run").write_text(trec(BM25))
    (folder / "dense.run").write_text(trec(DENSE))
    rows = [(query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items()]
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {doc} {grade}\n" for q, doc, grade in rows))
    return folder


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def mean(run, metric="ndcg@10", **options):
    return float(score_rankings(run, QRELS, metric, **options).scores[metric].mean())


@pytest.fixture
def typed(runs, run):
    """Run a command as a shell would read it, which must succeed; its standard output."""

    def run_line(line, **keywords):
        result = run(*shlex.split(line), **keywords)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run_line


def test_compare_has_the_means_of_score_rankings(typed):
    [row] = rows_of(typed(f"compare bm25.run dense.run {WITH} --format csv"))
    assert float(row["baseline_mean"]) == mean(BM25)
    assert float(row["candidate_mean"]) == mean(DENSE)


def test_metrics_of_rules_are_computed(typed):
    line = "gate dense.run --qrels qrels.txt --rule 'mean(P@1) >= 0.9'"
    assert "dense passes the gate" in typed(line)
    assert "passed: mean(P@1) is 1" in typed(f"{line} --verbose")
    rule = "--rule 'no_regression(mrr, margin=0.01)' --rule 'share_below(ndcg@3, 0.5) <= 50%'"
    line = f"gate dense.run --baseline bm25.run --qrels qrels.txt {rule}"
    assert "dense passes all 2 gates" in typed(line)
    assert typed(f"{line} --verbose").count("passed:") == 2


REFUSED = {
    "no judgments": ("compare bm25.run dense.run", "Pass its judgments: --qrels QRELS --metric"),
    "judgments alone": ("report qrels.txt", "pass them beside a ranking: RUN --qrels QRELS"),
    "scores": (f"report old.csv {WITH}", "--qrels is for a ranking; this file was read as csv"),
    "exchanged": ("report qrels.txt --qrels bm25.run", "expected a ranking"),
    "a run as judgments": ("report bm25.run --qrels dense.run", "are the run and qrels swapped?"),
    "a metric of answers": (
        "report bm25.run --qrels qrels.txt --metric faithfulness",
        "no metric of rankings is named 'faithfulness'",
    ),
    "no such file": (f"report bm25.run {WITH.replace('qrels.txt', 'none.txt')}", "none.txt"),
    "input twice": ("report - --qrels - --metric mrr", "standard input"),
    "input for two": ("rank bm25.run dense.run --qrels - --metric mrr", "standard input"),
    "one name": (f"rank bm25.run ./bm25.run {WITH}", "give each its own name, as NAME=FILE"),
    "twice": (f"report twice.run {WITH}", "line 25: .*appears twice.* --duplicates best"),
}


@pytest.mark.parametrize(("command", "message"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_refused_with_what_to_type(runs, refused, command, message):
    (runs / "twice.run").write_text(trec(BM25) + "q7 Q0 a 4 0.5 tag\n")
    assert re.search(message, refused(command))
