"""trec_eval's own test output, results of pytrec_eval 0.5.11 and means of BEIR 2.2.0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.readers.frameworks.trec_eval import PYTREC_EVAL, TREC_EVAL
from rageval_report.readers.rankings import RANKINGS

GOLDEN = Path(__file__).parents[2] / "golden"
DUMP = json.loads((GOLDEN / "trec_eval" / "pytrec_eval.json").read_text())
OUTPUT = """num_ret               \t301\t500
map                   \t301\t0.0324
P_5                   \t301\t0.2000
relstring             \t301\t'0001 10'
map                   \t302\t0.5000
num_q                 \tall\t2
map                   \tall\t0.2662
"""


@pytest.fixture
def read_output(write):
    def read_output_(text):
        [found] = read(write(text, "bm25.txt"), reader=TREC_EVAL)
        return found

    return read_output_


# -- trec_eval -q


def test_a_value_stands_at_its_query(read_output):
    found = read_output(OUTPUT)
    assert found.frame["query_id"].tolist() == ["301", "302"]
    assert found.frame["map"].tolist() == [0.0324, 0.5]
    assert found.frame["P_5"].tolist()[0] == 0.2
    assert found.frame["P_5"].isna().tolist() == [False, True]


def test_counts_and_strings_are_no_metrics(read_output):
    found = read_output(OUTPUT)
    assert found.metric_columns == ("map", "P_5")
    assert found.frame["relstring"].tolist()[0] == "'0001 10'"


def test_the_pipeline_is_the_file_s_name_and_the_run_s_own_is_told(read_output):
    found = read_output(OUTPUT + "runid\tall\tSTANDARD\n")
    assert found.pipeline == "bm25"
    assert found.notes[-1] == "the run calls itself 'STANDARD'"


def test_means_alone_say_how_to_get_the_queries(read_output):
    with pytest.raises(
        ReaderError, match=r"contains only means over all queries \('map'\); run .* -q"
    ):
        read_output("map\tall\t0.25\n")


def test_two_outputs_in_one_file_are_refused_with_the_line(read_output):
    with pytest.raises(ReaderError, match="line 8: 'map' of query '301' appears twice"):
        read_output(OUTPUT + "map\t301\t0.1\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("map\t303\n", "line 8: expected a measure, a query and a value; got"),
        ("map\t303\thigh\n", "line 8: the value of 'map' must be a number; got 'high'"),
    ],
)
def test_a_wrong_line_is_named(read_output, line, told):
    with pytest.raises(ReaderError, match=told):
        read_output(OUTPUT + line)


NUMBERS = st.floats(0, 1).map(lambda number: round(number, 4))
MEASURES = st.sampled_from(["map", "P_5", "ndcg_cut_10", "recip_rank"])
QUERIES = st.text("abc019-_", min_size=1, max_size=6).filter(lambda text: text != "all")


@settings(max_examples=60)
@given(st.dictionaries(st.tuples(QUERIES, MEASURES), NUMBERS, min_size=1))
def test_whatever_is_printed_is_read_back(tmp_path_factory, cells):
    lines = [f"{measure:22}\t{query}\t{value:6.4f}\n" for (query, measure), value in cells.items()]
    path = tmp_path_factory.mktemp("out") / "out"
    path.write_text("".join(lines))
    [found] = read(path, reader=TREC_EVAL)
    frame = found.frame.set_index("query_id")
    for (query, measure), value in cells.items():
        assert frame.loc[query, measure] == value
    assert frame.notna().sum().sum() == len(cells)


# -- pytrec_eval


def test_values_are_those_of_pytrec_eval_cell_by_cell():
    [found] = read(GOLDEN / "trec_eval/pytrec_eval.json", reader=PYTREC_EVAL)
    frame = found.frame.set_index("query_id")
    assert {query: frame.loc[query].to_dict() for query in DUMP} == DUMP
    assert "num_rel_ret" not in found.metric_columns
    assert "ndcg_cut_10" in found.metric_columns


def test_a_measure_that_some_queries_lack_is_told(write):
    [found] = read(write('{"a": {"map": 1}, "b": {"bpref": 0}}'), reader=PYTREC_EVAL)
    assert found.notes == ("some queries have no 'map', 'bpref'",)


# -- runs, judgments, means


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("q1 Q0 d1 1 0.9 bm25\nq1 Q0 d2 2 0.5 bm25\n", "a TREC run"),
        ("q1\tQ0\td1\t1\t0.9\tbm25 and more words\n", "a TREC run"),
        ("q1 0 d1 2\nq1 0 d2 0\n", "TREC judgments"),
        ("# a comment\nq1 Q0 d1 -1\n", "TREC judgments"),
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "a table of judgments"),
        ("query_id,doc_id,relevance\nq1,d1,1\n", "a table of judgments"),
        ("qid,docno,score,rank\nq1,d1,0.5,1\n", "a table of rankings"),
        ('{"q1": {"d1": 0.5}, "q2": {"d7": 0.25}}', "rankings or judgments as JSON"),
        ('{"NDCG@10": 0.3, "Recall@100": 0.25}', "BEIR's means over all queries"),
    ],
)
def test_rankings_are_known_and_need_judgments(write, text, what):
    path = write(text)
    assert recognise(Source(path)) == "rankings"
    with pytest.raises(ReaderError) as caught:
        read(path, reader=RANKINGS)
    message = str(caught.value)
    assert f"this looks like {what}, without scores of queries" in message
    if "means" not in what:
        assert 'metrics=["ndcg@10"])' in message
        assert "on the command line" in message
        assert "--qrels QRELS --metric ndcg@10" in message


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,score,faithfulness\nq1,d1,1,1\n",
        "query_id,score\nq1,1\n",
        '{"q1": {"faithfulness": 0.5}, "q2": {"faithfulness": 1}}',
        '{"q1": {"d1": 0.5}}',
        "one two three four\n",
        '[{"query_id": "q1", "recall": 1}]',
    ],
)
def test_scores_are_not_taken_for_rankings(write, text):
    assert RANKINGS.recognise(Source(write(text))) == 0.0
