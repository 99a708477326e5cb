"""Readers and metrics of other distributions: tiny packages on the disk, as pip would put them."""

import math
import sys

import pytest

from rageval_report import METRICS, RAGPipelineEvaluation, read_scores, score
from rageval_report.errors import RagevalError, RagevalWarning
from rageval_report.readers import READERS

READER = """
import pandas as pd
from rageval_report.readers import Reader, ScoreFile


def recognise(source):
    return 0.95 if source.head.startswith(b"STARS") else 0.0


def read(source):
    rows = [line.split("*") for line in source.text.splitlines()[1:]]
    stars = [len(row) - 1 for row in rows]
    frame = pd.DataFrame({"query_id": [row[0] for row in rows], "stars": stars})
    return [ScoreFile(frame, source.stem, metrics={"stars": {"kind": "ordinal", "bounds": (0, 5)}})]


STARS = Reader("stars", "stars after ids", recognise, read)
"""
METRIC = """
import numpy as np
from rageval_report import Metric


def n_words(answers, k):
    return np.array([np.nan if one is None else len(one.split()) for one in answers.answer])


BREVITY = Metric(
    "brevity", greater_is_better=False, aliases=("wordiness",), compute=n_words, needs="answers"
)
"""
BROKEN = "raise RuntimeError('half installed')\n"


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A package of that name, with its entry points, for the length of a test."""
    for table in (READERS, METRICS):
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_distributions", {})
    monkeypatch.setattr(READERS, "_group", "rageval_report.readers")
    monkeypatch.setattr(METRICS, "_group", "rageval_report.metrics")
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def install_(name, source, entry_points):
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)

    yield install_
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_reader_of_another_distribution_recognises_and_reads_its_files(install, write):
    install("starfiles", READER, "[rageval_report.readers]\nstars = starfiles:STARS\n")
    path = write("STARS\na***\nb*****\n", "run.txt")
    [(name, run)] = read_scores(path).items()
    assert name == "run"
    assert run.scores["stars"].tolist() == [3.0, 5.0]
    assert run.metrics["stars"].bounds == (0.0, 5.0)


def test_a_broken_reader_of_another_distribution_stops_nobody(install, write):
    install("halfway", BROKEN, "[rageval_report.readers]\nhalf = halfway:READER\n")
    path = write("query_id,recall\na,0.5\n", "run.csv")
    blame = r"the plug-in reader 'half' of halfway 1\.0 cannot be loaded: RuntimeError: half inst"
    with pytest.warns(RagevalWarning, match=blame):
        assert list(read_scores(path)) == ["run"]


def test_a_broken_reader_that_is_chosen_by_name_is_blamed(install, write):
    install("halfway", BROKEN, "[rageval_report.readers]\nhalf = halfway:READER\n")
    blame = r"the plug-in reader 'half' of halfway 1\.0 cannot be loaded: RuntimeError: half inst"
    with pytest.raises(RagevalError, match=blame):
        read_scores(write("query_id,recall\na,0.5\n", "run.csv"), reader="half")


def test_a_reader_that_breaks_on_a_file_is_passed_over_aloud(install, write):
    source = READER.replace('source.head.startswith(b"STARS")', "1 / 0")
    install("starfiles", source, "[rageval_report.readers]\nstars = starfiles:STARS\n")
    path = write("query_id,recall\na,0.5\n", "run.csv")
    blame = r"'stars' of starfiles 1\.0 failed and is skipped: ZeroDivisionError"
    with pytest.warns(RagevalWarning, match=blame):
        assert list(read_scores(path)) == ["run"]


def test_a_broken_metric_of_another_distribution_stops_nobody(install):
    install("halfway", BROKEN, "[rageval_report.metrics]\nhalf = halfway:METRIC\n")
    with pytest.warns(RagevalWarning, match=r"plug-in metric 'half' of halfway 1\.0 cannot"):
        table = RAGPipelineEvaluation("run", {"query_id": ["a"], "unheard_of": [12.0]})
    assert list(table.scores) == ["unheard_of"]


def test_a_metric_of_another_distribution_is_known_in_tables_and_computed(install):
    install("brevity", METRIC, "[rageval_report.metrics]\nbrevity = brevity:BREVITY\n")
    table = RAGPipelineEvaluation("run", {"query_id": ["a"], "wordiness": [12.0]})
    assert not table.metrics["wordiness"].greater_is_better
    rows = [{"query_id": "a", "answer": "two words", "reference": "x"}, {"query_id": "b"}]
    numbers = score(rows, ["brevity"]).scores["brevity"].tolist()
    assert numbers[0] == 2.0
    assert math.isnan(numbers[1])
