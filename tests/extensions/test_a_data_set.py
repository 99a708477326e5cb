"""A data set of one's own, added from outside, is loaded through Python and the command line."""

import json
import sys
import types
from importlib import metadata

import pytest
from click.testing import CliRunner

from rageval_report import read_records
from rageval_report.cli import rageval_report
from rageval_report.datasets import DATASETS, dataset_list, load_corpus, load_dataset
from rageval_report.errors import ReaderError, UnknownNameError
from rageval_report.records.datasets import Dataset, DatasetPart

LENGTHS = {"Seine": 777, "Rhine": 1233, "Oder": None}
LINES = "".join(f"{river};{'' if km is None else km}\n" for river, km in LENGTHS.items())


def river_parts(request):
    """The questions of a file with one river per line; the package's own without a path."""
    text = LINES if request.path is None else request.path.read_text(encoding="utf-8")
    return [DatasetPart("rivers", [line.split(";") for line in text.splitlines()], river_record)]


def river_record(row):
    river, km = row
    return {
        "query_id": river.lower(),
        "question": f"How long is the {river}?",
        "reference": [f"{km} km"] if km else None,
        "relevant": {river: 1.0} if km else None,
        "answerable": bool(km),
        "query_type": "factoid",
    }


def river_documents(request):
    yield from ((river, river, f"The {river}: {km} km.") for river, km in LENGTHS.items())


RIVERS = Dataset(
    "rivers", "How long rivers are", "CC0", "3", river_parts, river_documents, homepage="a book"
)


@pytest.fixture(params=["added", "offered"], autouse=True)
def own_data_set(request, monkeypatch):
    """A data set that the package does not have, added or offered by an entry point."""
    monkeypatch.setattr(DATASETS, "_entries", dict(DATASETS._entries))
    monkeypatch.setattr(DATASETS, "_distributions", {})
    if request.param == "added":
        DATASETS.add("rivers", RIVERS)
        return
    plugin = types.ModuleType("plugin_of_data_sets")
    plugin.RIVERS = RIVERS
    monkeypatch.setitem(sys.modules, "plugin_of_data_sets", plugin)
    group, real = "rageval_report.datasets", metadata.entry_points
    points = [metadata.EntryPoint("rivers", "plugin_of_data_sets:RIVERS", group)]
    monkeypatch.setattr(DATASETS, "_group", group)
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda **wanted: points if wanted["group"] == group else real(**wanted),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of the data set, and a pipeline that knows one river."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "rivers.txt").write_text(LINES.replace("Rhine", "Rhone"), encoding="utf-8")
    (tmp_path / "rag_of_rivers.py").write_text(
        "def answer(question):\n    return {'answer': '777 km', 'retrieved': ['Seine']}\n"
    )
    yield tmp_path
    sys.modules.pop("rag_of_rivers", None)


def command(*words):
    result = CliRunner().invoke(rageval_report, list(words))
    assert result.exit_code == 0, result.output
    return result


# -- through Python


def test_it_is_loaded_with_and_without_a_path(folder):
    assert load_dataset("rivers")["reference"].tolist() == [["777 km"], ["1233 km"], None]
    records = load_dataset("rivers", "rivers.txt")
    assert records.index.tolist() == ["seine", "rhone", "oder"]
    assert records["answerable"].tolist() == [True, True, False]


def test_questions_without_an_answer_are_drawn_by_their_share():
    records = load_dataset("rivers", samples=2, unanswerable_ratio=0.5)
    assert sorted(records["answerable"]) == [False, True]


def test_its_corpus_is_loaded():
    assert load_corpus("rivers", ids=["Seine"])["text"].tolist() == ["The Seine: 777 km."]


def test_it_is_in_the_list():
    listed = dataset_list().set_index("dataset")
    assert listed.loc["rivers", "licence"] == "CC0"


def test_a_name_that_nobody_knows_is_answered_with_it():
    with pytest.raises(UnknownNameError, match="Did you mean 'rivers'"):
        load_dataset("rivrs")


def test_a_file_that_does_not_exist_is_refused_before_it_is_asked_for_rows():
    with pytest.raises(ReaderError, match=r"nowhere\.txt"):
        load_dataset("rivers", "nowhere.txt")


# -- through the command line


def test_the_command_line_lists_and_counts_it(folder):
    rows = json.loads(command("datasets", "--format", "json").stdout)["rows"]
    assert [row["questions"] for row in rows if row["dataset"] == "rivers"] == ["3"]
    words = ("datasets", "rivers", "--path", "rivers.txt", "--format", "json")
    counts = json.loads(command(*words).stdout)["rows"]
    assert {row["value"]: row["n"] for row in counts}["with a reference"] == 2


def test_eval_asks_its_questions_and_scores_against_its_gold(folder):
    asked = ("eval", "--callable", "rag_of_rivers:answer", "--datasets", "rivers=rivers.txt")
    command(*asked, "--metric", "recall@1", "-o", "run")
    run = json.loads((folder / "run" / "scores.json").read_text(encoding="utf-8"))
    scores = {query["query_id"]: query["scores"].get("recall@1") for query in run["queries"]}
    assert scores == {"seine": 1.0, "rhone": 0.0, "oder": None}
    assert len(read_records(folder / "run" / "records.jsonl")) == 3
