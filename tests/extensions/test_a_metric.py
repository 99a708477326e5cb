"""A metric of one's own, added from outside, through Python and the command line."""

import json
import subprocess
import sys
import types
from dataclasses import replace
from importlib import metadata

import numpy as np
import pytest
from click.testing import CliRunner

from rageval_report import (
    METRICS,
    Metric,
    compare,
    score,
    score_rankings,
)
from rageval_report.cli import rageval_report
from rageval_report.errors import DataError, RagevalWarning, UnknownNameError

ROWS = [
    {"query_id": "q1", "answer": "Two words", "reference": "x", "retrieved": ["a", "b"]},
    {"query_id": "q2", "answer": "Just three words", "reference": "x", "retrieved": ["b"]},
]
ROWS = [{**row, "relevant": ["b"]} for row in ROWS]
ANSWER_WORDS = [2.0, 3.0]  # counted by hand


def count_words(answers, k):
    """One score per query, from the view "answers"."""
    return np.array([np.nan if text is None else len(text.split()) for text in answers.answer])


def is_late(hits, k):
    """Whether the first relevant document is missing from the first k, from the view "rankings"."""
    early = np.zeros(hits.n_queries)
    early[hits.relevant_query[hits.relevant_rank < (k or 1)]] = 1.0
    return 1.0 - early


WORDS = Metric(
    "answer_words",
    title="Answer Words",
    greater_is_better=False,
    aliases=("wordiness",),
    compute=count_words,
    needs="answers",
)
LATE = Metric("late", kind="binary", greater_is_better=False, compute=is_late, needs="rankings")


def count_characters(answers, k):
    """A new metric under the name of a known one."""
    return np.array([0.0 if text is None else float(len(text)) for text in answers.answer])


@pytest.fixture
def metrics(monkeypatch):
    """The table of metrics, as it is before anybody has looked for entry points."""
    monkeypatch.setattr(METRICS, "_entries", dict(METRICS._entries))
    monkeypatch.setattr(METRICS, "_distributions", {})
    monkeypatch.setattr(METRICS, "_group", "rageval_report.metrics")
    return METRICS


@pytest.fixture
def offer(metrics, monkeypatch):
    """Offer metrics as another distribution does, by entry points; "broken" cannot be loaded."""
    plugin = types.ModuleType("plugin_of_metrics")
    plugin.WORDS, plugin.LATE, plugin.count_words = WORDS, LATE, count_words
    monkeypatch.setitem(sys.modules, "plugin_of_metrics", plugin)
    real = metadata.entry_points

    def offer_(**attributes):
        points = [
            metadata.EntryPoint(name, f"plugin_of_metrics:{attribute}", "rageval_report.metrics")
            for name, attribute in attributes.items()
        ]
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda group: points if group == "rageval_report.metrics" else real(group=group),
        )

    return offer_


@pytest.fixture(params=["added", "offered"])
def own_metrics(request, metrics, offer):
    """Two metrics that the package does not have, added by a line or offered by entry points."""
    if request.param == "added":
        metrics.add("answer_words", WORDS)
        metrics.add("late", LATE)
    else:
        offer(answer_words="WORDS", late="LATE")


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def run_and_qrels(tmp_path):
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 b 1 1 x\n")
    (tmp_path / "qrels.txt").write_text("q1 0 b 1\nq2 0 b 1\n")
    return tmp_path / "bm25.run", tmp_path / "qrels.txt"


def command(*arguments):
    return CliRunner().invoke(rageval_report, ["score", *map(str, arguments)])


def means_of(result):
    """The means in the report that the command line prints as JSON, by metric."""
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    return {row["metric"]: row["mean"] for row in rows}


# -- through Python


@pytest.mark.usefixtures("own_metrics")
@pytest.mark.parametrize("name", ["answer_words", "Answer Words", "wordiness"])
def test_it_is_computed_from_records_by_any_of_its_names(name):
    evaluation = score(ROWS, [name])
    [column] = evaluation.scores
    assert evaluation.scores[column].tolist() == ANSWER_WORDS
    assert not evaluation.metrics[column].greater_is_better


@pytest.mark.usefixtures("own_metrics")
def test_it_is_computed_from_rankings_with_cutoffs_in_every_form(run_and_qrels):
    as_dicts = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}}, {"q1": {"b": 1}, "q2": {"b": 1}}
    for run, qrels in (as_dicts, run_and_qrels):
        scores = score_rankings(run, qrels, ["late@1", "late@2"]).scores
        assert scores["late@1"].tolist() == [1.0, 0.0]  # q1 has its document at rank 2
        assert scores["late@2"].tolist() == [0.0, 0.0]
    assert score(ROWS, "late@1").scores["late@1"].tolist() == [1.0, 0.0]


@pytest.mark.usefixtures("own_metrics")
def test_its_direction_holds_in_a_comparison():
    wordier = [{**row, "answer": row["answer"] + " and more"} for row in ROWS]
    result = compare(score(ROWS, "answer_words"), score(wordier, "answer_words", name="wordier"))
    [row] = result.to_frame().to_dict("records")
    assert row["difference"] == 2.0
    assert row["improvement"] == -2.0


def test_it_may_replace_a_metric_of_the_package(metrics):
    known = metrics["exact_match"]
    own = replace(known, bounds=(0, 99), kind="real", compute=count_characters)
    metrics.add("exact_match", own)
    assert score(ROWS, "em").scores["em"].tolist() == [9.0, 16.0]


# -- through the command line


@pytest.mark.usefixtures("own_metrics")
def test_the_command_line_computes_it_from_records(records):
    result = command("--records", records, "--metric", "answer_words", "--format", "json")
    assert means_of(result) == {"answer_words": 2.5}


@pytest.mark.usefixtures("own_metrics")
def test_the_command_line_computes_it_from_rankings(run_and_qrels):
    run, qrels = run_and_qrels
    result = command("--run", run, "--qrels", qrels, "--metric", "late@1", "--format", "json")
    assert means_of(result) == {"late@1": 0.5}


# -- names that nobody knows, and offers that do not work


@pytest.mark.usefixtures("own_metrics")
def test_an_unknown_name_lists_it_among_the_known_ones(records, run_and_qrels):
    with pytest.raises(UnknownNameError, match="Did you mean 'answer_words'") as raised:
        score(ROWS, "answer_wrods")
    assert {"answer_words", "recall", "faithfulness"} <= set(raised.value.known)
    with pytest.raises(UnknownNameError, match=r"named 'lates@2'\. Did you mean 'late'"):
        score_rankings(*run_and_qrels, "lates@2")
    result = command("--records", records, "--metric", "answer_wrods")
    assert result.exit_code == 2
    assert "Did you mean 'answer_words'" in result.stderr


def test_an_offer_that_cannot_be_loaded_stops_nobody(offer):
    offer(broken="NOWHERE", answer_words="WORDS")
    with pytest.warns(RagevalWarning, match="plug-in metric 'broken' of .* cannot be loaded"):
        evaluation = score(ROWS, "answer_words")
    assert evaluation.scores["answer_words"].tolist() == ANSWER_WORDS


def test_an_offer_that_is_not_a_metric_says_what_it_must_be(offer):
    offer(answer_words="count_words")
    with pytest.raises(DataError, match=r"\['answer_words'\] must be a Metric; got <function"):
        score(ROWS, "answer_words")


TYPO = """
import sys
sys.modules["tenacity"] = sys.modules["httpx2"] = None  # as if the extra http were not installed
from rageval_report import score
from rageval_report.errors import UnknownNameError
try:
    score([{"query_id": "q", "answer": "x", "reference": "x"}], "faithfulnes")
except UnknownNameError as exc:
    print(exc)
"""


def test_a_typo_does_not_ask_for_an_extra():
    """In a process of its own, which has not loaded the judges."""
    done = subprocess.run([sys.executable, "-c", TYPO], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no metric is named 'faithfulnes'. Did you mean 'faithfulness'?" in done.stdout
