"""A project of AutoRAG 0.3.27 (tests/golden/autorag), and the public one of its repository."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.readers.frameworks.autorag import AUTORAG
from rageval_report.scores import score_table

pytest.importorskip("pyarrow")

GOLDEN = Path(__file__).parents[2] / "golden" / "autorag"
NODE = GOLDEN / "0/retrieve_node_line/lexical_retrieval"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())["scores"]
METRICS = list(EXPECTED[0])
IDS = [f"q-{place}" for place in range(6)]


def read_one(path):
    [found] = read(path, reader=AUTORAG)
    return found


@pytest.fixture
def alone(tmp_path):
    """A copy of one file, alone in a folder."""

    def alone_(path):
        folder = tmp_path / "alone"
        folder.mkdir(exist_ok=True)
        return Path(shutil.copy(path, folder / path.name))

    return alone_


@pytest.mark.parametrize("name", ["0.parquet", "1.parquet", "best_1.parquet", "summary.csv"])
def test_files_of_a_node_are_recognised(name):
    assert recognise(Source(NODE / name)) == "autorag"


def test_another_table_is_not(write):
    assert AUTORAG.recognise(Source(write("qid,query,recall\na,b,1\n"))) == 0.0


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


def test_a_module_without_ids_says_what_is_lacking(alone):
    with pytest.raises(ReaderError, match=r"contains no query ids.*6 rows"):
        read_one(alone(NODE / "0.parquet"))


def test_a_file_of_questions_with_other_rows_does_not_fit(alone):
    path = alone(NODE / "0.parquet")
    best = pd.read_parquet(NODE / "best_1.parquet")
    best.head(5).to_parquet(path.with_name("best_0.parquet"))
    with pytest.raises(ReaderError, match="contains no query ids"):
        read_one(path)


def test_a_best_file_has_its_ids(alone):
    found = read_one(alone(NODE / "best_1.parquet"))
    assert found.frame["query_id"].tolist() == IDS
    assert found.notes == ()


def test_texts_and_rankings_are_details():
    first = read_one(NODE / "best_1.parquet").frame.iloc[0]
    assert (first["question"], first["reference"]) == ("What is 0?", ["It is 0."])
    assert first["relevant"] == [["d0"], ["d6", "d7"]]
    assert len(first["retrieved"]) == len(first["contexts"]) == 10
    assert first["retrieve_scores"][:2] == [1.0, 0.9]


def test_a_summary_stands_for_the_modules_beside_it():
    found = read(NODE / "summary.csv", reader=AUTORAG)
    assert [one.pipeline for one in found] == ["BM25", "BM25 #2"]
    means = pd.read_csv(NODE / "summary.csv")
    for place, one in enumerate(found):
        for metric in METRICS:
            assert one.frame[metric].mean() == pytest.approx(means[metric][place], rel=1e-12)


def test_a_module_is_named_as_its_summary_names_it():
    assert read_one(NODE / "1.parquet").pipeline == "BM25 #2"
    assert read_one(NODE / "best_1.parquet").pipeline == "BM25 #2"


def test_without_a_summary_a_module_is_named_after_its_folder(alone):
    assert read_one(alone(NODE / "best_1.parquet")).pipeline == "alone/best_1"


def test_a_blank_name_of_a_file_is_no_file(tmp_path):
    node = tmp_path / "node"
    shutil.copytree(NODE, node)
    summary = pd.read_csv(node / "summary.csv")
    summary.loc[0, ["filename", "module_name"]] = None
    summary.to_csv(node / "summary.csv", index=False)
    assert [file.pipeline for file in read(node / "summary.csv", reader=AUTORAG)] == ["BM25"]


def test_a_summary_alone_names_the_files_with_the_queries(alone):
    with pytest.raises(
        ReaderError, match=r"means over all queries; the queries are in '0\.parquet', '1\.parquet'"
    ):
        read_one(alone(NODE / "summary.csv"))


def test_a_summary_does_not_lead_out_of_its_folder(alone):
    path = alone(NODE / "summary.csv")
    shutil.copy(NODE / "best_1.parquet", path.parent.parent / "best_1.parquet")
    path.write_text(path.read_text().replace("0.parquet", "../best_1.parquet"))
    with pytest.raises(ReaderError, match="are missing from this folder"):
        read_one(path)


def test_a_module_that_cannot_be_read_is_told(tmp_path):
    node = tmp_path / "node"
    shutil.copytree(NODE, node)
    (node / "0.parquet").write_bytes(b"PAR1 cut")
    [found] = read(node / "summary.csv", reader=AUTORAG)
    assert found.pipeline == "BM25 #2"
    assert "0.parquet" in found.notes[-1]


def test_questions_alone_hold_no_scores():
    with pytest.raises(ReaderError, match="the file has no scores, only 'qid', 'query'"):
        read_one(GOLDEN / "data/qa.parquet")


def test_a_table_of_no_node_is_refused(write):
    with pytest.raises(ReaderError, match=r"expected a file of AutoRAG; pass"):
        read_one(write("a,b\n1,2\n"))


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


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("retrieve_node_line", "lexical_retrieval"),
        ("retrieve_node_line", "semantic_retrieval"),
        ("retrieve_node_line", "hybrid_retrieval"),
        ("post_retrieve_node_line", "generator"),
    ],
)
def test_means_are_those_of_the_summaries(real_data, line, node):
    folder = real_data(f"autorag_result_project/0/{line}/{node}")
    told = pd.read_csv(folder / "summary.csv").iloc[0]
    [found] = read(folder / "summary.csv", reader=AUTORAG)
    assert found.pipeline == told["module_name"]
    for metric in found.metric_columns:
        assert found.frame[metric].mean() == pytest.approx(told[metric], rel=1e-12)


def test_numbers_a_token_are_left_out_and_told(real_data):
    folder = real_data("autorag_result_project/0/post_retrieve_node_line/generator")
    found = read_one(folder / "0.parquet")
    assert "generated_tokens" not in found.frame
    assert "'generated_tokens', 'generated_log_probs'" in found.notes[0]


@pytest.mark.parametrize("name", ["summary.csv", "retrieve_node_line/summary.csv"])
def test_a_summary_of_nodes_says_where_to_look(real_data, name):
    path = real_data("autorag_result_project/0") / name
    with pytest.raises(ReaderError, match=r"summary of the nodes .*'lexical_retrieval'"):
        read_one(path)


def test_expansions_of_queries_have_no_scores(real_data):
    folder = real_data("autorag_result_project/0/pre_retrieve_node_line/query_expansion")
    with pytest.raises(ReaderError, match="in AutoRAG the next node scores them"):
        read_one(folder / "0.parquet")
    assert len(read_one(folder / "best_0.parquet").frame) == 10
