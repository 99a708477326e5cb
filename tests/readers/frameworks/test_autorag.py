"""A project of AutoRAG 0.3.27 (tests/golden/autorag), and the public one of its repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import read
from rageval_report.scores import score_table

pytest.importorskip("pyarrow")

GOLDEN = Path(__file__).parents[2] / "golden" / "autorag"
NODE = GOLDEN / "0/retrieve_node_line/lexical_retrieval"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())["scores"]
METRICS = list(EXPECTED[0])
IDS = [f"q-{place}" for place in range(6)]


def read_one(path):
    [found] = read(path, reader="autorag")
    return found


@pytest.fixture
def alone(tmp_path):
    """A copy of one file, alone in a folder."""

    def alone_(path):
        folder = tmp_path / "alone"
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(path, folder / path.name))

    return alone_


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("module", [0, 1])
def test_scores_are_those_that_autorag_computed(module, metric):
    found = read_one(NODE / f"{module}.parquet")
    assert found.frame[metric].tolist() == EXPECTED[module][metric]
    assert found.metric_columns == tuple(METRICS)


def test_ids_are_those_of_the_best_file_beside():
    found = read_one(NODE / "0.parquet")
    assert found.frame["query_id"].tolist() == IDS
    assert found.notes == (
        "the ids are those of best_1.parquet, row by row, as AutoRAG aligns them",
    )


def test_ids_are_those_of_the_project_where_there_is_no_best_file(tmp_path):
    project = tmp_path / "project"
    shutil.copytree(GOLDEN, project)
    node = project / "0/retrieve_node_line/lexical_retrieval"
    (node / "best_1.parquet").unlink()
    found = read_one(node / "0.parquet")
    assert found.frame["query_id"].tolist() == IDS
    assert "those of qa.parquet" in found.notes[0]


def test_a_summary_stands_for_the_modules_beside_it():
    found = read(NODE / "summary.csv", reader="autorag")
    assert [one.pipeline for one in found] == ["BM25", "BM25 #2"]
    means = pd.read_csv(NODE / "summary.csv")
    for place, one in enumerate(found):
        for metric in METRICS:
            assert one.frame[metric].mean() == pytest.approx(means[metric][place], rel=1e-12)


def test_a_summary_does_not_lead_out_of_its_folder(alone):
    path = alone(NODE / "summary.csv")
    shutil.copy(NODE / "best_1.parquet", path.parent.parent / "best_1.parquet")
    path.write_text(path.read_text().replace("0.parquet", "../best_1.parquet"))
    with pytest.raises(ReaderError, match="are missing from this folder"):
        read_one(path)


# -- the public project


def test_bleu_is_in_percent(real_data):
    node = real_data("autorag_result_project/0/post_retrieve_node_line/generator")
    found = read_one(node / "best_0.parquet")
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    assert table.metrics["bleu"].bounds == (0.0, 100.0)
    assert table.metrics["prompt_maker_bleu"].bounds == (0.0, 100.0)
    assert table.metrics["rouge"].known_as != "rouge_1"


def test_titles_keep_the_node_that_a_metric_is_named_after(real_data):
    node = real_data("autorag_result_project/0/post_retrieve_node_line/generator")
    found = read_one(node / "best_0.parquet")
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    titles = {name: metric.title for name, metric in table.metrics.items()}
    assert len(set(titles.values())) == len(titles)
    assert titles["bleu"] == "BLEU (0 to 100)"
    assert titles["prompt_maker_bleu"] == "Prompt Maker BLEU (0 to 100)"
    assert titles["prompt_maker_rouge"] == "Prompt Maker ROUGE"


@pytest.mark.parametrize("name", ["summary.csv", "retrieve_node_line/summary.csv"])
def test_a_summary_of_nodes_says_where_to_look(real_data, name):
    path = real_data("autorag_result_project/0") / name
    with pytest.raises(ReaderError, match=r"summary of the nodes .*'lexical_retrieval'"):
        read_one(path)
