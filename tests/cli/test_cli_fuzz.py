"""Whatever stands on the command line or in the file: an answer, or one line that says why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.cli import rageval_report

COMMANDS = ("report", "failures", "compare")


SCORES = "query_id,recall,latency_ms,topic\n" + "".join(
    f"q{i},{i % 4 / 4},{100 + i},{'ab'[i % 2]}\n" for i in range(9)
)


OPTIONS = (
    *("--metric", "--by", "--percentiles", "--interval", "--confidence-level", "--threshold"),
    *("--correct", "--lower", "--bounds", "--test", "--correction", "--missing", "--margin"),
    *("--clusters", "--regressions", "--limit", "--query-id", "--seed", "--reader", "--option"),
)


VALUES = (
    *("recall", "latency_ms", "topic", "mrr", "", "-1", "0", "0.5", "95", "nan", "inf", "1e400"),
    *("p25", "p200", "mean", "25,50", "recall>=0.5", "latency_ms<=1e9", "recall=0:1", "recall=1:0"),
    *("t", "auto", "wilson", "holm", "none", "drop", "worst", "csv", "delimiter=,", "topic=a", "é"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "a.csv").write_text(SCORES)
    (folder / "b.csv").write_text(SCORES.replace(",0.25,", ",0.75,"))
    with chdir(folder):
        yield folder


def assert_an_answer_or_one_line(words: list[str], stdin: bytes | None = None) -> None:
    result = CliRunner().invoke(rageval_report, words, input=stdin)
    assert result.exit_code in (0, 2), (words, result.output)
    if result.exit_code == 2:
        complaints = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
        assert len(complaints) == 1, (words, result.output)
        assert complaints[0].startswith("rageval-report: ")


@settings(max_examples=120)
@given(
    command=st.sampled_from(COMMANDS),
    pairs=st.lists(st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES)), max_size=3),
)
def test_any_options_are_answered_or_refused(place, command, pairs):
    files = ["a.csv", "b.csv"] if command == "compare" else ["a.csv"]
    needed = ["--metric", "recall", "--threshold", "0.5"] if command == "failures" else []
    assert_an_answer_or_one_line(
        [command, *files, *needed, *(word for pair in pairs for word in pair)]
    )
