"""A table that was saved reads back as the same evaluation, in every format."""

import gzip
import json
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from rageval_report import Metric, RAGPipelineEvaluation, compare, score_rankings
from rageval_report.errors import DataError
from rageval_report.scores import score_table
from rageval_report.scores.saved_columns import plain_value

SUFFIXES = ["csv", "tsv", "jsonl", "parquet", "json"]
TABLES = SUFFIXES[:-1]
HARD = [
    *("", " ", "None", "NA", "null", "nan", "NaN", "007", "1e5", "1.50", "0,5", "true", "True"),
    *(
        'He said "no"',
        "a\rb",
        "line\r\nbreak\nend",
        "tab\t,;|",
        "=1+1",
        "-",
        "@x",
        "#",
        "{}",
        "[1]",
    ),
    *('{"a": 1', "🦶 ümlaut \u2028 x", "mean", "total", "rageval_report", "2026-01-01", '"'),
]
TEXTS = st.sampled_from(HARD) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
# Numbers of every exponent, both zeros and the smallest ones.
UNIT_SCORES = st.floats(0, 1) | st.sampled_from([-0.0, 5e-324, 0.1 + 0.2, 1 / 3])
OBJECTS = st.recursive(
    st.none() | TEXTS | st.booleans() | st.integers() | st.floats() | st.just(pd.NA),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1))
METRICS = [
    Metric("stars", kind="ordinal", bounds=(1, 5), title="Stars, of 5"),
    Metric("noise_db", kind="real", greater_is_better=False, title="Noise"),
    Metric("share%", kind="proportion", title="Noise", group="generation"),
    Metric("recall@5", kind="proportion", known_as="recall@5"),
    Metric("exact_match", kind="binary"),
    Metric("faithfulness", kind="proportion", bounds=(0, 1), description='"quoted", é\n'),
    Metric("my own", kind="real", bounds=(-1e300, 5), source="x", aliases=("mine", "ours")),
    Metric("n_retrieved", kind="real", group="performance"),
]
BY_NAME = {metric.name: metric for metric in METRICS}


def scores_of(metric, draw, n):
    if metric.kind == "binary":
        score = st.sampled_from([0.0, 1.0, -0.0])
    elif metric.kind == "proportion":
        score = draw(st.sampled_from([UNIT_SCORES, st.sampled_from([0.0, 1.0])]))
    elif metric.bounds:
        score = st.floats(*metric.bounds)
    else:
        score = st.floats(allow_nan=False, allow_infinity=False)
    return draw(st.lists(st.just(math.nan) | score, min_size=n, max_size=n))


DETAILS = [
    ("object", TEXTS | st.none()),
    ("object", OBJECTS),
    ("object", st.none() | st.lists(TEXTS, max_size=3)),
    ("object", st.none() | st.booleans()),
    ("object", st.none() | st.integers(-(2**40), 2**40)),
    ("str", TEXTS | st.none()),
    ("string", TEXTS | st.none()),
    ("int64", st.integers(-(2**63), 2**63 - 1)),
    ("uint8", st.integers(0, 255)),
    ("float64", st.floats()),
    ("float32", st.floats(width=32)),
    ("bool", st.booleans()),
    ("boolean", st.booleans() | st.none()),
    ("Int64", st.integers(-(2**63), 2**63 - 1) | st.none()),
    ("category", st.sampled_from(["a", "b", "NA"]) | st.none()),
    ("datetime64[ns]", MOMENTS | st.none()),
    ("datetime64[us, UTC]", MOMENTS | st.none()),
    ("timedelta64[ns]", st.timedeltas(timedelta(-9), timedelta(9)) | st.none()),
]
# pyarrow has no type for texts beside numbers, and the file is refused.
FOR_PARQUET = [pair for position, pair in enumerate(DETAILS) if position != 1]


@st.composite
def evaluations(draw, details=tuple(DETAILS), name=None):
    """Evaluations with any metrics, details of any type, and ids that look like other things."""
    n = draw(st.integers(1, 5))
    ids = draw(st.lists(TEXTS.filter(str.strip), min_size=n, max_size=n, unique=True))
    metrics = draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=3, unique=True))
    columns = {metric.name: pd.Series(scores_of(metric, draw, n)) for metric in metrics}
    names = draw(
        st.lists(
            (TEXTS | st.sampled_from(["question", "recall@5_state", "error", "n_judged"])).filter(
                lambda text: text not in BY_NAME and text != "query_id"
            ),
            max_size=3,
            unique=True,
        )
    )
    for label in names:
        dtype, cells = draw(st.sampled_from(details))
        values = draw(st.lists(cells, min_size=n, max_size=n))
        columns[label] = pd.Series(values, dtype=dtype)
    order = draw(st.permutations(list(columns)))
    frame = pd.DataFrame(
        {"query_id": pd.Series(ids, dtype=object)} | {x: columns[x] for x in order}
    )
    listed = {metric.name: metric for metric in metrics}
    # Without `only`, details of numbers would be taken for metrics.
    try:
        table = score_table(frame, known=listed, only=list(listed), totals="keep")
    except DataError:  # rows that are comments, rules or units, by their ids alone
        reject()
    return RAGPipelineEvaluation.from_table(
        name or draw(TEXTS.filter(str.strip)),
        table,
        config={"top_k": 5},
        created=draw(st.none() | st.just(datetime(2026, 8, 1, 9, 30, tzinfo=UTC))),
    )


def assert_equal(again, evaluation):
    assert again.name == evaluation.name
    assert again.metrics == evaluation.metrics
    assert list(again.metrics) == list(evaluation.metrics)
    pd.testing.assert_index_equal(again.scores.index, evaluation.scores.index, exact=False)
    ours, theirs = evaluation.scores.to_numpy(), again.scores.to_numpy()
    np.testing.assert_array_equal(theirs, ours)
    np.testing.assert_array_equal(np.signbit(theirs), np.signbit(ours))
    assert list(again.details) == list(evaluation.details)
    for label in evaluation.details:
        before, after = evaluation.details[label], again.details[label]
        assert str(after.dtype) == str(before.dtype), label
        assert json.dumps(plain_value(after.tolist())) == json.dumps(plain_value(before.tolist()))
    pd.testing.assert_frame_equal(again.states, evaluation.states)
    assert (again.config, again.created, again.correct_rule) == (
        *(evaluation.config, evaluation.created, evaluation.correct_rule),
    )
    assert again.notes == evaluation.notes


def saved_and_loaded(evaluation, folder, suffix):
    path = evaluation.save(folder / f"scores.{suffix}")
    return RAGPipelineEvaluation.load(None, path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_evaluation_reads_back_equal(tmp_path_factory, suffix):
    details = FOR_PARQUET if suffix == "parquet" else DETAILS

    @given(evaluations(tuple(details)))
    @settings(max_examples=20)
    def check(evaluation):
        assert_equal(saved_and_loaded(evaluation, tmp_path_factory.mktemp("x"), suffix), evaluation)

    check()


# -- the same report and the same comparison


def ranked(name, seed):
    """Ten questions ranked by hand: documents in a fixed random order, two of them relevant."""
    rng = np.random.default_rng(seed)
    qrels = {f"q{n}": {f"d{n}": 1, f"d{n + 1}": 1} for n in range(10)}
    run = {
        query: {f"d{doc}": float(place) for place, doc in enumerate(rng.permutation(12)[:6])}
        for query in qrels
    }
    return score_rankings(run, qrels, ["ndcg@10"], name=name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_saved_ranking_keeps_its_metric_and_the_p_values_of_a_comparison(tmp_path, suffix):
    # score_rankings gives one metric and details of numbers, such as n_retrieved.
    runs = [ranked("old", 1), ranked("new", 2)]
    again = [
        RAGPipelineEvaluation.load(None, run.save(tmp_path / f"{run.name}.{suffix}"))
        for run in runs
    ]
    assert [list(run.metrics) for run in again] == [["ndcg@10"], ["ndcg@10"]]
    for run, loaded in zip(runs, again, strict=True):
        assert_equal(loaded, run)
    before, after = compare(*runs), compare(*again)
    pd.testing.assert_frame_equal(after.frame, before.frame, check_exact=True)
    assert after.signature == before.signature


RULES = ["exact_match", ("faithfulness", 0.8), {"faithfulness": 0.8, "exact_match": 1.0}]


@pytest.fixture
def evaluation():
    rows = {
        "query_id": ["007", "1e5", "NaN", "null"],
        "exact_match": [1, 0, None, 1],
        "faithfulness": [0.25, None, 1.0, 1.0],
        "stars": [1, 5, 2, 3],
        "tone": [0.25, 0.5, 0.75, 1.0],
        "topic": ["", None, "None", "NA"],
        "faithfulness_state": ["scored", "failed", "scored", "scored"],
        "faithfulness_reason": [None, "timeout", "", "NA"],
    }
    metrics = {
        "exact_match": {},
        "faithfulness": {},
        "stars": {"bounds": (1, 5), "kind": "ordinal", "greater_is_better": False},
    }
    table = score_table(rows, known=metrics, only=list(metrics))
    return RAGPipelineEvaluation.from_table("hybrid v2", table, config={"model": "m"})


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rule", RULES)
def test_the_rule_for_a_correct_answer_is_kept(tmp_path, evaluation, suffix, rule):
    ruled = RAGPipelineEvaluation.from_table("x", evaluation._table, correct=rule)
    again = saved_and_loaded(ruled, tmp_path, suffix)
    assert again.correct_rule == rule
    assert again.correct.tolist() == ruled.correct.tolist()


def is_best(rows):
    return rows["stars"] == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_the_caller_says_outweighs_the_file(tmp_path, evaluation, suffix):
    ruled = RAGPipelineEvaluation.from_table("x", evaluation._table, correct="exact_match")
    path = ruled.save(tmp_path / f"scores.{suffix}")
    load = RAGPipelineEvaluation.load
    assert list(load(None, path, metrics=["tone", "stars"]).metrics) == ["stars", "tone"][::-1]
    assert load("y", path).name == "y"
    assert load(None, path, correct=("stars", 2)).correct_rule == ("stars", 2)
    turned = load(None, path, metrics={"stars": "higher"})
    assert turned.metrics["stars"].greater_is_better
    assert turned.metrics["stars"].bounds == (1, 5)
    only = load(None, path, metrics=["stars"])
    assert only.correct_rule is None or only.correct_rule == "exact_match"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_detail_named_like_a_metric_the_ids_or_the_key_comes_back(tmp_path, suffix):
    frame = pd.DataFrame(
        {
            "key": ["a", "b"],
            "query_id": ["x", "y"],
            "Recall": [1.0, 0.5],
            "recall": ["all", "half"],
            "recall_detail": ["n", "o"],
            "rageval_report": [1, 2],
        }
    )
    evaluation = RAGPipelineEvaluation("x", frame, query_id="key", metrics=["Recall"])
    assert_equal(saved_and_loaded(evaluation, tmp_path, suffix), evaluation)


# -- other programs read the files too


def test_other_programs_read_the_json_lines(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    frame = pd.read_json(path, lines=True)
    assert len(frame) == 4
    assert frame["faithfulness"].mean() == 0.75  # (0.25 + 1 + 1) / 3
    assert frame["tone"].tolist() == [0.25, 0.5, 0.75, 1.0]
    keys = [set(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    assert keys[0] - keys[1] == {"rageval_report"}
    assert keys[1] == keys[2] == keys[3]


def test_other_programs_read_the_parquet_file(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.parquet")
    frame = pd.read_parquet(path)
    assert list(frame) == ["query_id", *evaluation.details, *evaluation.scores]
    assert frame["stars"].tolist() == [1, 5, 2, 3]


# -- files that changed


def test_a_table_without_its_companion_is_read_as_any_table(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.csv")
    (tmp_path / "scores.csv.meta.json").unlink()
    again = RAGPipelineEvaluation.load(None, path)
    assert again.name == "scores"
    assert "tone" in again.metrics


@pytest.mark.parametrize("change", ["crlf", "bom", "gzip", "gzip with its name"])
def test_a_copy_with_other_line_ends_or_packed_keeps_its_companion(tmp_path, change):
    rows = {"query_id": ["a", "b"], "recall": [0.5, 1.0], "n_seen": [1, 2]}
    table = score_table(rows, only=["recall"])
    evaluation = RAGPipelineEvaluation.from_table("x", table)
    path = evaluation.save(tmp_path / "scores.csv")
    companion = tmp_path / "scores.csv.meta.json"
    data = path.read_bytes()
    if change == "crlf":
        path.write_bytes(data.replace(b"\n", b"\r\n"))
        companion.write_bytes(companion.read_bytes().replace(b"\n", b"\r\n"))
    elif change == "bom":
        path.write_bytes(b"\xef\xbb\xbf" + data)
    else:
        path = tmp_path / "scores.csv.gz"
        path.write_bytes(gzip.compress(data))
        if change == "gzip with its name":
            companion.rename(tmp_path / "scores.csv.gz.meta.json")
    assert_equal(RAGPipelineEvaluation.load(None, path), evaluation)


DAMAGES = {
    "no JSON": lambda document: "{",
    "blank": lambda document: "",
    "newer": lambda document: document | {"format_version": 2, "version": "9.9"},
    "no version": lambda document: document | {"format_version": None},
    "a list of metrics": lambda document: document | {"metrics": ["stars"]},
    "no metrics": lambda document: document | {"metrics": {}},
    "a metric that is a text": lambda document: document | {"metrics": {"stars": "high"}},
    "bounds": lambda document: document | {"metrics": {"stars": {"bounds": [5, 1]}}},
    "bounds of text": lambda document: document | {"metrics": {"stars": {"bounds": "01"}}},
    "kind": lambda document: document | {"metrics": {"stars": {"kind": "stars"}}},
    "title": lambda document: document | {"metrics": {"stars": {"title": 5}}},
    "direction": lambda document: document | {"metrics": {"stars": {"greater_is_better": "no"}}},
    "a detail": lambda document: document | {"details": {"topic": None}},
    "cells": lambda document: document | {"details": {"topic": {"cells": "pickle"}}},
    "exceptions": lambda document: document | {"details": {"topic": {"exceptions": [[1]]}}},
    "created": lambda document: document | {"created": "yesterday"},
    "correct": lambda document: document | {"correct": [1, 2]},
    "id": lambda document: document | {"id": "key"},
    "notes": lambda document: document | {"notes": "none"},
}


def rewrite_description(path, change):
    """The saved file with another description, as another version could have written it."""
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        table = pq.read_table(path)
        metadata = table.schema.metadata
        document = change(json.loads(metadata[b"rageval_report"]))
        text = document if isinstance(document, str) else json.dumps(document)
        pq.write_table(table.replace_schema_metadata(metadata | {b"rageval_report": text}), path)
    elif path.suffix == ".jsonl":
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        record = json.loads(first)
        document = change(record["rageval_report"])
        record["rageval_report"] = {"format": "rageval_report table"} | (
            {} if isinstance(document, str) else document
        )
        path.write_text("\n".join([json.dumps(record), *lines]), encoding="utf-8")
    else:
        companion = path.with_name(path.name + ".meta.json")
        document = change(json.loads(companion.read_text(encoding="utf-8")))
        text = document if isinstance(document, str) else json.dumps(document)
        companion.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("suffix", TABLES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_description_is_noted_with_the_way_on(tmp_path, evaluation, suffix, damage):
    path = evaluation.save(tmp_path / f"scores.{suffix}")
    rewrite_description(path, DAMAGES[damage])
    again = RAGPipelineEvaluation.load(None, path)
    assert "tone" in again.metrics
    assert list(again.scores.index) == list(evaluation.scores.index)
    assert "rageval_report" not in again.details
    note = again.notes[0]
    assert "is not used" in note
    assert "metrics=[...]" in note
    assert ("update rageval_report" in note) == (damage == "newer")


@pytest.mark.parametrize("suffix", TABLES)
def test_a_description_loads_no_code(tmp_path, evaluation, suffix):
    path = evaluation.save(tmp_path / f"scores.{suffix}")

    def change(document):
        fields = document["metrics"]["stars"] | {"compute": "os:system", "is_computed": True}
        return document | {"metrics": document["metrics"] | {"stars": fields}}

    rewrite_description(path, change)
    assert RAGPipelineEvaluation.load(None, path).metrics["stars"].compute is None


def rewrite_rows(path, change):
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = change([json.loads(line) for line in lines])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_json_lines_in_another_order_keep_their_description(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda rows: rows[::-1])
    again = RAGPipelineEvaluation.load(None, path)
    assert again.metrics == evaluation.metrics
    assert again.details["topic"].fillna("-").tolist() == ["NA", "None", "-", ""]


def test_json_lines_with_fewer_rows_and_another_column_say_so(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda rows: [row | {"mood": 0.5} for row in rows[:3]])
    again = RAGPipelineEvaluation.load(None, path)
    assert again.metrics == evaluation.metrics
    assert "mood" in again.details
    text = " ".join(again.notes)
    assert "'mood' were added after the file was written" in text
    assert "written with 4 rows and has 3 now" in text


def test_a_cell_that_was_edited_is_read_as_it_is_now(tmp_path):
    rows = {"query_id": ["a", "b"], "recall": [1, 0], "asked": [date(2026, 8, 1), "x"]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda lines: [row | {"asked": "today"} for row in lines])
    assert RAGPipelineEvaluation.load(None, path).details["asked"].tolist() == ["today", "today"]


# -- saving


def test_a_companion_that_is_somebody_elses_is_not_replaced(tmp_path, evaluation):
    other = tmp_path / "scores.csv.meta.json"
    other.write_text('{"owner": "me"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"scores\.csv\.meta\.json would be replaced"):
        evaluation.save(tmp_path / "scores.csv")
    assert other.read_text(encoding="utf-8") == '{"owner": "me"}'
    assert not (tmp_path / "scores.csv").exists()


def test_a_nul_character_is_refused_by_delimited_text_only(tmp_path):
    evaluation = RAGPipelineEvaluation("x", {"query_id": ["a"], "recall": [1], "note": ["\0"]})
    with pytest.raises(DataError, match=r"scores\.csv: a cell holds a NUL character"):
        evaluation.save(tmp_path / "scores.csv")
    assert list(tmp_path.iterdir()) == []
    assert_equal(saved_and_loaded(evaluation, tmp_path, "jsonl"), evaluation)


def test_a_metric_named_like_the_ids_is_refused(tmp_path):
    frame = pd.DataFrame({"key": ["a"], "query_id": [1.0]})
    evaluation = RAGPipelineEvaluation("x", frame, query_id="key", metrics=["query_id"])
    for suffix in TABLES:
        with pytest.raises(DataError, match="a metric is named 'query_id'"):
            evaluation.save(tmp_path / f"scores.{suffix}")


def test_decimals_and_big_numbers_keep_every_digit(tmp_path):
    rows = {
        "query_id": ["a", "b"],
        "recall": [0.1 + 0.2, -0.0],
        "price": [Decimal("1.10"), Decimal("99999999999999999999.123")],
        "big": pd.Series([2**70, 1], dtype=object),
    }
    table = score_table(rows, only=["recall"])
    evaluation = RAGPipelineEvaluation.from_table("x", table)
    for suffix in ("csv", "jsonl", "json"):
        assert_equal(saved_and_loaded(evaluation, tmp_path, suffix), evaluation)
