"""A table that was saved reads back as the same evaluation, in every format."""

import gzip
import hashlib
import json
import math
import re
import shutil
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from rageval_report import Metric, RAGPipelineEvaluation, compare, read_scores, score_rankings
from rageval_report.errors import DataError, ReaderError
from rageval_report.scores import score_table
from rageval_report.scores.saved_columns import SavedColumn, are_same, python_value
from rageval_report.scores.saved_tables import (
    TABLE_FORMAT,
    parse_table_description,
    row_digest,
    sealed_description,
)

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
    ("object", st.dates() | st.none()),
    ("object", st.datetimes(timezones=st.just(timezone(timedelta(hours=2)))) | st.none()),
    ("object", st.decimals(allow_nan=False, allow_infinity=False, places=3, max_value=99)),
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
        assert are_same(python_value(after.tolist()), python_value(before.tolist())), label
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
    @settings(max_examples=40)
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


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_comparison_of_any_two_evaluations_is_the_same_after_saving(tmp_path_factory, suffix):
    @given(st.integers(0, 2**32), st.sampled_from(METRICS))
    @settings(max_examples=10)
    def check(seed, metric):
        rng = np.random.default_rng(seed)
        low, high = metric.bounds if metric.bounds and metric.bounds[0] > -10 else (0, 1)
        low, high = (low, high) if metric.kind != "real" else (-3, 5)
        folder = tmp_path_factory.mktemp("pair")
        runs = []
        for name in ("old", "new"):
            cells = np.where(rng.random(9) < 0.1, np.nan, rng.uniform(low, high, 9))
            cells = np.round(cells) if metric.kind in ("binary", "ordinal") else cells
            rows = {"query_id": [f"q{n}" for n in range(9)], "n_seen": rng.integers(0, 9, 9)}
            table = score_table(
                rows | {metric.name: cells}, known={metric.name: metric}, only=[metric.name]
            )
            runs.append(RAGPipelineEvaluation.from_table(name, table))
        again = [saved_and_loaded(run, folder / run.name, suffix) for run in runs]
        pd.testing.assert_frame_equal(compare(*again).frame, compare(*runs).frame, check_exact=True)

    check()


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
def test_a_rule_that_is_a_function_is_named_in_a_note(tmp_path, evaluation, suffix):
    ruled = RAGPipelineEvaluation.from_table("x", evaluation._table, correct=is_best)
    again = saved_and_loaded(ruled, tmp_path, suffix)
    assert again.correct_rule is None
    assert "the function 'is_best'" in " ".join(again.notes)


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


def test_a_rule_whose_metrics_are_not_read_becomes_a_note(tmp_path, evaluation):
    ruled = RAGPipelineEvaluation.from_table("x", evaluation._table, correct=("faithfulness", 0.8))
    path = ruled.save(tmp_path / "scores.csv")
    again = RAGPipelineEvaluation.load(None, path, columns=["stars"])
    assert (list(again.metrics), again.correct_rule) == (["stars"], None)
    assert "pass correct=..." in again.notes[0]


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


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_metric_without_any_score_stays_a_metric(tmp_path, suffix):
    rows = {"query_id": ["a"], "mine": [math.nan], "recall": [0.5]}
    table = score_table(rows, known={"mine": Metric("mine")}, only=["mine", "recall"])
    evaluation = RAGPipelineEvaluation.from_table("x", table)
    assert_equal(saved_and_loaded(evaluation, tmp_path, suffix), evaluation)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_a_value_that_no_file_can_hold_is_read_as_text_and_noted(tmp_path, suffix):
    rows = {"query_id": ["a"], "recall": [0.5], "range": [pd.Interval(0, 1)]}
    again = saved_and_loaded(RAGPipelineEvaluation("x", rows), tmp_path, suffix)
    assert again.details["range"].tolist() == ["(0, 1]"]
    assert any("'range'" in note and "read as texts" in note for note in again.notes)


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


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("0.25", "0.5"),
        lambda text: text + "new,6,,scored,,1,0.5,1\n",
        lambda text: "query_id,recall\na,1\nb,0\n",
        lambda text: "query_id;stars\na;1\nb;4\n",
    ],
)
def test_a_companion_of_another_text_is_noted_and_not_used(tmp_path, evaluation, change):
    path = evaluation.save(tmp_path / "scores.csv")
    text = path.read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    (tmp_path / "alone").mkdir()
    alone = shutil.copy(path, tmp_path / "alone" / "scores.csv")
    again, plain = (RAGPipelineEvaluation.load(None, one) for one in (path, alone))
    assert again.metrics == plain.metrics
    assert again.name == "scores"
    note = again.notes[0]
    assert "scores.csv.meta.json is not used: it describes another text" in note
    assert "the metrics were 'exact_match', 'faithfulness', 'stars'" in note
    assert again.notes[1:] == plain.notes


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
    "value": lambda document: document | {"details": {"topic": {"blank": {"$x": 1}}}},
    "date": lambda document: document | {"details": {"topic": {"blank": {"$date": "x"}}}},
    "created": lambda document: document | {"created": "yesterday"},
    "correct": lambda document: document | {"correct": [1, 2]},
    "id": lambda document: document | {"id": "key"},
    "notes": lambda document: document | {"notes": "none"},
}


def rewrite_description(path, change):
    """The saved file with another description, as another version could have written it."""
    import pyarrow.parquet as pq

    def changed(document):
        after = change(document)
        return after if isinstance(after, str) else sealed_description(after)

    if path.suffix == ".parquet":
        table = pq.read_table(path)
        metadata = table.schema.metadata
        document = changed(json.loads(metadata[b"rageval_report"]))
        text = document if isinstance(document, str) else json.dumps(document)
        pq.write_table(table.replace_schema_metadata(metadata | {b"rageval_report": text}), path)
    elif path.suffix == ".jsonl":
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        record = json.loads(first)
        document = changed(record["rageval_report"])
        record["rageval_report"] = {"format": "rageval_report table"} | (
            {} if isinstance(document, str) else document
        )
        path.write_text("\n".join([json.dumps(record), *lines]), encoding="utf-8")
    else:
        companion = path.with_name(path.name + ".meta.json")
        document = changed(json.loads(companion.read_text(encoding="utf-8")))
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
def test_fields_that_are_not_known_are_ignored(tmp_path, evaluation, suffix):
    path = evaluation.save(tmp_path / f"scores.{suffix}")

    def change(document):
        metrics = {
            name: fields | {"is_known": True} for name, fields in document["metrics"].items()
        }
        return document | {"metrics": metrics, "colour": "blue"}

    rewrite_description(path, change)
    assert_equal(RAGPipelineEvaluation.load(None, path), evaluation)


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


# -- the digests of rows


def changed_row(rows, n, **cells):
    return [row | cells if place == n else row for place, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("change", "ids"),
    [
        (lambda rows: changed_row(rows, 1, exact_match=1.0), "1 of 4 rows .*: '1e5'; "),
        (lambda rows: changed_row(rows, 2, topic="none"), "1 of 4 rows .*: 'NaN'; "),
        (lambda rows: changed_row(rows, 3, query_id="nul"), "1 of 4 rows .*: 'nul'; "),
        (lambda rows: [row | {"tone": 0.25} for row in rows], "3 of 4 rows .*: '1e5', 'NaN'"),
        (lambda rows: [*rows, rows[1] | {"query_id": "new"}], "1 of 5 rows .*: 'new'; "),
        (lambda rows: changed_row(rows, 0, faithfulness=None), "1 of 4 rows .*: '007'; "),
    ],
)
def test_json_lines_whose_rows_were_changed_are_read_without_their_description(
    tmp_path, evaluation, change, ids
):
    path = evaluation.save(tmp_path / "scores.jsonl")
    plain = tmp_path / "plain.jsonl"
    shutil.copy(path, plain)
    rewrite_rows(plain, lambda rows: [dict(list(row.items())[: len(rows[1])]) for row in rows])
    for one in (path, plain):
        rewrite_rows(one, change)
    again, other = (RAGPipelineEvaluation.load(None, one) for one in (path, plain))
    note = again.notes[0]
    assert re.search(rf"in line 1 is not used: {ids}", note), note
    assert "then the metrics were 'exact_match', 'faithfulness', 'stars'" in note
    # As a table of any program, which is what a .csv that was edited is read as.
    assert again.metrics == other.metrics
    pd.testing.assert_frame_equal(again.scores, other.scores)
    pd.testing.assert_frame_equal(again.details, other.details)


def test_json_lines_that_were_sorted_and_filtered_are_checked_row_by_row(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda rows: [rows[3], rows[0]])
    again = RAGPipelineEvaluation.load(None, path)
    assert again.metrics == evaluation.metrics
    assert again.notes == (
        *evaluation.notes,
        "the file was written with 4 rows and has 2 now; those that are left are as they were "
        "written",
    )
    rewrite_rows(path, lambda rows: changed_row(rows, 0, stars=2.0))
    assert "1 of 2 rows" in RAGPipelineEvaluation.load(None, path).notes[0]


def test_json_lines_that_another_program_wrote_anew_keep_their_description(tmp_path, evaluation):
    # jq writes 1 for 1.0, and some programs leave out members that are null.
    def plain(row):
        return {
            name: int(cell) if isinstance(cell, float) and cell.is_integer() else cell
            for name, cell in row.items()
            if cell is not None
        }

    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda rows: [plain(row) for row in rows])
    assert_equal(RAGPipelineEvaluation.load(None, path), evaluation)


def test_json_lines_without_a_column_keep_what_still_holds(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(
        path,
        lambda rows: [
            {name: cell for name, cell in row.items() if name != "topic"} for row in rows
        ],
    )
    again = RAGPipelineEvaluation.load(None, path)
    assert again.metrics == evaluation.metrics
    note = "the columns 'topic' were removed after the file was written, so that its rows cannot"
    assert any(note in one for one in again.notes)


def test_json_lines_of_an_earlier_version_have_no_digests_of_rows(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")

    def without(document):
        document = {name: part for name, part in document.items() if name != "row_digests"}
        return sealed_description(document | {"description_digest": ""})

    rewrite_description(path, without)
    rewrite_rows(path, lambda rows: changed_row(rows, 1, tone=0.75))
    again = RAGPipelineEvaluation.load(None, path)
    assert again.metrics == evaluation.metrics
    assert again.details["tone"].tolist() == [0.25, 0.75, 0.75, 1.0]


def test_the_digest_of_a_row_is_that_of_its_json(tmp_path):
    rows = {"query_id": ["a"], "recall": [0.5], "topic": ["é"]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.jsonl")
    document = json.loads(path.read_text(encoding="utf-8"))["rageval_report"]
    text = b'["a","\\u00e9",0.5]'  # by hand: the id, the details, the metrics
    digest = hashlib.blake2b(len(text).to_bytes(8, "big") + text, digest_size=16).hexdigest()
    assert document["row_digests"] == digest[:16]
    assert row_digest({"x": -0.0}, ["x"]) != row_digest({"x": 0.0}, ["x"])
    assert row_digest({"x": 1}, ["x"]) == row_digest({"x": 1.0}, ["x"])
    assert row_digest({"x": "1"}, ["x"]) != row_digest({"x": 1}, ["x"])
    assert row_digest({"x": True}, ["x"]) != row_digest({"x": 1}, ["x"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rageval_report": {', '"rageval_repord": {'),
        ('"format": "rageval_report table"', '"format": "rageval_report tablf"'),
        ('"format": "rageval_report table"', '"fornat": "rageval_report table"'),
        ('"description_digest"', '"description_digesd"'),
        ('"row_digests": "', '"row_digestt": "'),
    ],
)
def test_a_description_of_json_lines_whose_marks_are_damaged_is_noted(
    tmp_path, evaluation, old, new
):
    path = evaluation.save(tmp_path / "scores.jsonl")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    again = RAGPipelineEvaluation.load(None, path)
    is_used = again.name == evaluation.name
    # Under another key the whole description can still be used.
    assert is_used or "line 1 is not used" in again.notes[0]
    assert is_used == (new in ('"rageval_repord": {', '"description_digesd"'))


def test_the_pages_of_a_parquet_file_have_checksums(tmp_path):
    import pyarrow.parquet as pq

    rows = {"query_id": ["a", "b"], "recall": [0.5, 1.0], "topic": ["here", "there"]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.parquet")
    data = path.read_bytes()
    place = data.index(np.float64(0.5).tobytes())
    path.write_bytes(data[:place] + np.float64(0.75).tobytes() + data[place + 8 :])
    # Without the checksum the number is read: nothing else in the file is wrong.
    assert pq.read_table(path).column("recall").to_pylist() == [0.75, 1.0]
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(path, page_checksum_verification=True)
    for columns in (None, ["recall"]):
        with pytest.raises(ReaderError, match=r"this Parquet file is damaged: .*CRC"):
            RAGPipelineEvaluation.load(None, path, columns=columns)


def test_the_page_of_a_list_has_a_checksum_too(tmp_path):
    rows = {"query_id": ["a", "b"], "recall": [0.5, 1.0], "contexts": [["here"], ["there"]]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.parquet")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"there", b"thera", 1))
    with pytest.raises(ReaderError, match=r"this Parquet file is damaged: .*CRC"):
        RAGPipelineEvaluation.load(None, path)


def test_a_parquet_file_whose_metadata_are_lost_says_so(tmp_path):
    import pyarrow.parquet as pq

    rows = {"query_id": ["a", "b"], "recall": [0.5, 1.0]}
    path = RAGPipelineEvaluation("hybrid", rows).save(tmp_path / "scores.parquet")
    data = path.read_bytes()
    place = data.index(b"\x18\x06pandas") - 2  # the mark of the list of metadata
    path.write_bytes(data[:place] + b"\x1d" + data[place + 1 :])
    try:
        pq.read_schema(path)
    except OSError:  # of old versions of pyarrow, which do not pass over such metadata
        with pytest.raises(ReaderError, match="this Parquet file cannot be opened"):
            RAGPipelineEvaluation.load(None, path)
        return
    again = RAGPipelineEvaluation.load(None, path)
    assert again.scores["recall"].tolist() == [0.5, 1.0]
    assert (
        "the description of this table in its metadata is not used: the metadata is damaged"
        in again.notes[0]
    )


def test_joined_json_lines_use_neither_description(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(
        path, lambda rows: rows + [row | {"query_id": row["query_id"] + "b"} for row in rows]
    )
    again = RAGPipelineEvaluation.load(None, path)
    assert again.notes[0].startswith("lines 1 and 5 both describe a table")
    assert again.n_queries == 8


def test_json_lines_without_ids_are_read_as_any_table(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.jsonl")
    rewrite_rows(path, lambda rows: [{"id": row.pop("query_id")} | row for row in rows])
    assert "tone" in RAGPipelineEvaluation.load(None, path).metrics


def test_a_parquet_file_that_was_filtered_keeps_its_description(tmp_path, evaluation):
    import pyarrow.parquet as pq

    path = evaluation.save(tmp_path / "scores.parquet")
    pq.write_table(pq.read_table(path).slice(1, 2).drop_columns(["stars"]), path)
    again = RAGPipelineEvaluation.load(None, path)
    assert list(again.metrics) == ["exact_match", "faithfulness"]
    assert again.details["topic"].fillna("-").tolist() == ["-", "None"]
    assert "lacks now" in " ".join(again.notes)


# -- saving


def test_a_companion_that_is_somebody_elses_is_not_replaced(tmp_path, evaluation):
    other = tmp_path / "scores.csv.meta.json"
    other.write_text('{"owner": "me"}', encoding="utf-8")
    with pytest.raises(DataError, match=r"scores\.csv\.meta\.json would be replaced"):
        evaluation.save(tmp_path / "scores.csv")
    assert other.read_text(encoding="utf-8") == '{"owner": "me"}'
    assert not (tmp_path / "scores.csv").exists()


def test_the_companion_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("query_id,recall\na,1\nb,0.5\n", encoding="utf-8")
    (tmp_path / "scores.csv.meta.json").write_text('{"owner": "me"}', encoding="utf-8")
    assert RAGPipelineEvaluation.load(None, path).notes == ()


def test_a_saved_table_replaces_its_companion(tmp_path, evaluation):
    path = evaluation.save(tmp_path / "scores.csv")
    ranked("old", 3).save(path)
    assert list(RAGPipelineEvaluation.load(None, path).metrics) == ["ndcg@10"]
    with pytest.raises(DataError, match="exists already"):
        evaluation.save(path, force=False)


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


def test_a_companion_is_not_read_as_a_table(tmp_path, evaluation):
    evaluation.save(tmp_path / "scores.csv")
    with pytest.raises(ReaderError, match="holds no scores; read the table itself"):
        read_scores(tmp_path / "scores.csv.meta.json")


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


FORMULAS = ["=1+1", "'=1+1", "-5", "'-x", "@a", None, " =2", "- item\n- item", "it's"]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_with_neutralised_formulas_reads_back_as_the_same_evaluation(tmp_path, suffix):
    rows = {"query_id": [f"={n}" for n in range(len(FORMULAS))], "=note": FORMULAS}
    rows |= {"lists": [["=x"]] * len(FORMULAS), "recall": [0.5] * len(FORMULAS)}
    run = RAGPipelineEvaluation("hybrid", rows)
    path = run.save(tmp_path / f"run.{suffix}", neutralise_formulas=True)
    cells = pd.read_csv(path, sep="\t" if suffix == "tsv" else ",", dtype=str)  # a second reader
    texts = [str(cell) for cell in [*cells, *cells.melt()["value"].dropna()]]
    assert not [text for text in texts if text.strip()[0] in "=+-@" and text != "-5"]
    back = RAGPipelineEvaluation.load("hybrid", path)
    pd.testing.assert_frame_equal(back.scores, run.scores)
    pd.testing.assert_frame_equal(back.details, run.details)
    assert back.notes == run.notes


def test_without_its_description_a_table_says_that_its_apostrophes_are_read(tmp_path):
    rows = {"query_id": ["-a", "b"], "answer": ["=1+1", "it's"], "recall": [0.5, 1.0]}
    path = RAGPipelineEvaluation("hybrid", rows).save(tmp_path / "r.csv", neutralise_formulas=True)
    (tmp_path / "r.csv.meta.json").unlink()
    back = RAGPipelineEvaluation.load("hybrid", path)
    assert list(back.scores.index) == ["'-a", "b"]
    assert any("2 cells begin with an apostrophe before =" in note for note in back.notes)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "json"])
def test_formulas_are_neutralised_for_spreadsheets_alone(tmp_path, suffix):
    run = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    with pytest.raises(DataError, match=r"neutralise_formulas is for \.csv and \.tsv"):
        run.save(tmp_path / f"run.{suffix}", neutralise_formulas=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "part",
    [
        *({"name": 5}, {"dtype": None}, {"cells": 1}, {"cells": "other"}, {"exceptions": "x"}),
        *({"exceptions": [["a"]]}, {"exceptions": [["a", "q1"]]}, {"exceptions": [["a", [1]]]}),
        *({"exceptions": ["a"]}, {"categories": "abc"}, {"changed": "1"}, {"changed": 1.5}),
    ],
)
def test_a_description_of_another_type_is_refused(part):
    with pytest.raises(DataError, match="the description of detail 'topic' is not valid"):
        SavedColumn.of_document(part, "topic")
    with pytest.raises(DataError, match="detail 'topic' must be an object; got 'x'"):
        SavedColumn.of_document("x", "topic")


def test_what_a_description_leaves_out_has_its_usual_value():
    column = SavedColumn.of_document({}, "topic")
    assert (column.name, column.cells, column.n_changed) == ("topic", "plain", 0)
    assert (column.exceptions, column.categories, column.is_ordered) == ((), None, False)
    column = SavedColumn.of_document(
        {"exceptions": [["a", ["q1"]]], "categories": ["x", "y"], "ordered": True, "changed": 2},
        "t",
    )
    assert (column.exceptions, column.categories) == ((("a", ("q1",)),), ("x", "y"))
    assert (column.is_ordered, column.n_changed) == (True, 2)
    again = SavedColumn.of_document(column.to_document(), "t")
    assert again.to_document() == column.to_document()


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1"])
def test_the_version_of_a_description_is_an_integer_from_1_on(version):
    document = {"format": TABLE_FORMAT, "format_version": version}
    with pytest.raises(DataError, match=r"format_version must be an integer >= 1; got"):
        parse_table_description(document)
