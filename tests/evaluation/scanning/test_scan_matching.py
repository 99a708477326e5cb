"""Scans whose ids differ, matched by a text: the numbers and notes are those of memory."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.errors import AlignmentError, DataError, ReaderError, UnknownNameError
from rageval_report.evaluation.scanning import answered_queries
from rageval_report.scale import repeated_keys
from rageval_report.scale.pairs import UnorderedIdsError
from tests.evaluation.scanning.conftest import (
    NAMES,
    memory_of,
    scans_of,
    scores_frame,
    write_parquet,
)
from tests.evaluation.scanning.test_scan_compare import assert_same_comparison
from tests.evaluation.scanning.test_scan_properties import (
    COMPARED,
    DIVISIONS,
    LATTICE,
    LIMITS,
    assert_equal_rows,
    table,
)
from tests.evaluation.scanning.test_scan_rank import assert_same_ranking

ENGINES = ["stream", "join", "duckdb"]


def own_ids(frame, prefix):
    """The same rows with ids of their own."""
    return frame.assign(query_id=[f"{prefix}{number:05d}" for number in range(len(frame))])


@pytest.fixture
def frames():
    """Questions in the same order, some on one side only, under ids that differ.

    Of the second pipeline every id is that of another query of the first one.
    """
    first, second, third = (scores_frame(seed=seed, shift=0.06 * bool(seed)) for seed in range(3))
    for frame in (first, second, third):
        frame["question"] = [f"What is {number:04d}?" for number in range(len(frame))]
    return [
        first.drop(index=[3, 500]),
        own_ids(second.drop(index=[8, 12, 13]).iloc[:-2], "q0").assign(
            query_id=lambda rows: [f"q{number + 4:05d}" for number in range(len(rows))]
        ),
        own_ids(third.drop(index=[8, 600]), "y"),
    ]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": "worst", "metrics": ["recall@5", "exact_match"]},
        {"margin": 0.05, "metrics": ["recall@5"], "clusters": "topic"},
    ],
)
def test_a_comparison_by_questions_is_that_of_memory(frames, tmp_path, engine, options):
    expected = compare(*memory_of(frames), on="question", **options)
    assert any("in 'dense' only: 'dense:q00007'" in note for note in expected.notes)
    scanned = compare(*scans_of(frames, tmp_path, engine=engine), on="question", **options)
    assert_same_comparison(scanned, expected, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ranking_by_questions_is_that_of_memory(frames, tmp_path, engine):
    expected = rank(*memory_of(frames), on="question")
    scanned = rank(*scans_of(frames, tmp_path, engine=engine), on="question")
    assert_same_ranking(scanned, expected, engine)
    weights = {"recall@5": 2, "exact_match": 1}
    for found, known in (
        (scanned.weighted(weights, n_resamples=99), expected.weighted(weights, n_resamples=99)),
        (scanned.pareto(n_resamples=99), expected.pareto(n_resamples=99)),
    ):
        assert found.notes == known.notes
        assert found.settings == {**known.settings, "engine": engine}
        pd.testing.assert_frame_equal(found.frame, known.frame, rtol=1e-9)


def test_a_question_that_the_first_pipeline_lacks_counts_once_in_a_ranking(tmp_path):
    data = {"query_id": ["q1", "q2"], "question": ["Who?", "Why?"], "recall": [0.5, 1.0]}
    others = [
        {
            "query_id": ["x1", "x2", "q1"],
            "question": ["Why?", "How?", "When?"],
            "recall": [0, 1, 1],
        },
        {"query_id": ["q9", "x2", "y3"], "question": ["How?", "Why?", "Who?"], "recall": [0, 1, 1]},
    ]
    frames = [pd.DataFrame(each) for each in (data, *others)]
    expected = rank(*memory_of(frames), on="question", metrics="recall")
    # Who?, How? under the id that it has first, and When?, whose id is that of another question.
    note = "3 queries are not in every pipeline, and are left out: 'q1', 'dense:q1', 'x2'"
    assert note in expected.notes
    for engine in ("join", "duckdb"):
        scanned = rank(*scans_of(frames, tmp_path, engine=engine), on="question", metrics="recall")
        assert scanned.notes == expected.notes


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", ["regressions", "improvements"])
def test_changed_queries_have_the_ids_of_the_baseline(frames, tmp_path, engine, method):
    expected = getattr(compare(*memory_of(frames[:2]), on="question"), method)("similarity")
    comparison = compare(*scans_of(frames[:2], tmp_path, engine=engine), on="question")
    path = tmp_path / "changed.parquet"
    found = getattr(comparison, method)("similarity", path=path)
    assert found.attrs.pop("n") == len(expected)
    pd.testing.assert_frame_equal(found, expected)
    written = pd.read_parquet(path).set_index("query_id").loc[expected.index]
    pd.testing.assert_frame_equal(expected, written)


@pytest.mark.parametrize("engine", ENGINES)
def test_slices_gates_pictures_and_pages_of_a_matched_comparison(frames, tmp_path, engine):
    frames[1]["question"] = " " + frames[1]["question"]
    expected = compare(*memory_of(frames[:2]), on="question")
    comparison = compare(*scans_of(frames[:2], tmp_path, engine=engine), on="question")
    found, known = (each.slices("topic", ["recall@5"]) for each in (comparison, expected))
    assert found.notes == known.notes
    pd.testing.assert_frame_equal(found.frame, known.frame, rtol=1e-9)
    rules = ["losses(recall@5) == 0", "mean(recall@5) >= 0.9", "unscored(similarity) <= 0.01"]
    gates = [each.gate(*rules) for each in (comparison, expected)]
    pd.testing.assert_frame_equal(gates[0].frame, gates[1].frame, rtol=1e-9)
    for ours, theirs in zip(*(gate.failing_queries() for gate in gates), strict=True):
        assert ours.title == theirs.title
        assert set(ours.frame.index) == set(theirs.frame.index)
        # Equally bad queries are in the order of the rows.
        pd.testing.assert_frame_equal(ours.frame.sort_index(), theirs.frame.sort_index())
    labels = [label.get_text() for label in comparison.plot("forest").get_yticklabels()]
    assert labels == [label.get_text() for label in expected.plot("forest").get_yticklabels()]
    comparison.report(pictures=False).save(tmp_path / "page.html")
    assert "What is 0007?" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_gates_of_clusters_use_those_of_the_baseline(frames, tmp_path):
    frames = [frame.assign(batch=[f"b{n % 41}" for n in range(len(frame))]) for frame in frames[:2]]
    labels = dict(zip(frames[0]["query_id"], frames[0]["batch"], strict=True))
    frames[1] = frames[1][frames[1]["question"].isin(frames[0]["question"])]
    for clusters in ("batch", labels):
        expected = compare(*memory_of(frames), on="question", clusters=clusters)
        comparison = compare(*scans_of(frames, tmp_path), on="question", clusters=clusters)
        pd.testing.assert_frame_equal(comparison.frame, expected.frame, rtol=1e-9)
        found, known = (each.gate("mean(recall@5) >= 0.5").frame for each in (comparison, expected))
        pd.testing.assert_frame_equal(found, known, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_by_questions_are_those_of_memory(frames, tmp_path, engine, monkeypatch):
    monkeypatch.setattr(answered_queries, "_MOST_LOOKED_UP", 1)
    # A rule that looks at ids sees those of the baseline.
    for correct in (None, lambda rows: rows.index.astype(str) < "q00300"):
        old, new = memory_of(frames[:2])
        first, second = scans_of(frames[:2], tmp_path, engine=engine)
        expected = old.comparative_detailed_summary(new, correct, on="question")
        path = tmp_path / "answers.parquet"
        found = first.comparative_detailed_summary(second, correct, on="question", path=path)
        assert found.attrs["n"] == expected.attrs["n"]
        ids = {name: sorted(expected[name].dropna()) for name in expected}
        assert {name: sorted(found[name].dropna()) for name in found} == ids
        assert "dense:q00007" in ids["only_in_dense"]
        written = pd.read_parquet(path).groupby("outcome")["query_id"].apply(sorted)
        assert written.to_dict() == {name: own for name, own in ids.items() if own}


def test_in_memory_answers_by_questions_are_those_of_equal_ids(frames):
    old, new = memory_of(frames[:2])
    by_question = dict(zip(frames[0]["question"], frames[0]["query_id"], strict=True))
    renamed = frames[1].assign(
        query_id=[by_question.get(text, f"lone {text}") for text in frames[1]["question"]]
    )
    found = old.comparative_detailed_summary(new, on="question")
    expected = old.comparative_detailed_summary(RAGPipelineEvaluation("dense", renamed))
    for name in list(expected)[:-1]:
        assert found[name].dropna().tolist() == expected[name].dropna().tolist()
    assert found.attrs["n"] == expected.attrs["n"]


def test_signs_are_those_of_the_ids_of_the_baseline(frames, tmp_path):
    same = [frames[0], frames[1].merge(frames[0][["question", "query_id"]], on="question")]
    same[1] = same[1].drop(columns="query_id_x").rename(columns={"query_id_y": "query_id"})
    options = {"correction": "westfall-young", "n_resamples": 199}
    by_id, by_text = (
        compare(*scans_of(same, tmp_path), on=on, **options) for on in (None, "question")
    )
    pd.testing.assert_frame_equal(by_id.frame, by_text.frame, check_exact=True)


# -- texts


def test_texts_are_read_as_in_memory(tmp_path):
    """Blanks, forms of Unicode, other names of the column, repeated texts, and missing ones."""
    texts = [f"Why {number}?" for number in range(30)]
    first = pd.DataFrame({"query_id": [f"q{n:02d}" for n in range(30)], "question": texts})
    second = pd.DataFrame({"query_id": [f"x{n:02d}" for n in range(30)], "user_input": texts})
    first.loc[[4, 5, 6], "question"] = "Who?"
    first.loc[[7, 8], "question"] = [None, ""]
    second.loc[[1, 5, 9, 12], "user_input"] = ["Ｗho?", " Who? ", "Who?", "Who?"]
    second.loc[[2, 3, 7], "user_input"] = ["Why\u00a02?", None, "\t"]
    rng = np.random.default_rng(0)
    frames = [each.assign(recall=rng.integers(0, 5, 30) / 4) for each in (first, second)]
    expected = compare(*memory_of(frames), on="question")
    # 30, without the three texts of the first that the second lacks or that are missing, ...
    assert expected.frame["n"].item() == 30 - len({1, 3, 4, 5, 6, 7, 8, 9, 12}) + 3
    for engine in ("auto", "join", "duckdb"):
        folder = tmp_path / engine
        scanned = compare(*scans_of(frames, folder, engine=engine), on="question")
        pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=1e-12)
        found, known = (each.regressions("recall") for each in (scanned, expected))
        found.attrs.pop("n")
        pd.testing.assert_frame_equal(found, known)
        assert set(_plain(scanned.notes)) == set(_plain(expected.notes))


def _plain(notes):
    """Notes without the ids that they name: in memory these are the first ones of the table."""
    return [re.sub(r": '.*", "", note) for note in notes]


@pytest.mark.parametrize("kind", ["int64", "float64", "str", "category"])
@pytest.mark.parametrize("is_csv", [True, False])
def test_numbers_are_matched_as_in_memory(frames, tmp_path, kind, is_csv):
    """Whole numbers, which an empty cell makes floats in one of the tables."""
    frames = [
        frame.assign(item=frame["question"].str[-5:-1].astype("int64").astype(kind))
        for frame in frames[:2]
    ]
    if kind == "float64":
        frames[0].loc[frames[0].index[:5], "item"] = np.nan
        frames[1]["item"] = frames[1]["item"].astype("int64")
    roles = {"item": "detail"}
    memory = [
        RAGPipelineEvaluation(name, frame, roles=roles)
        for name, frame in zip(NAMES, frames, strict=False)
    ]
    expected = compare(*memory, on="item", metrics=LATTICE)
    scans = []
    for name, frame in zip(NAMES, frames, strict=False):
        path = tmp_path / f"{name}.{'csv' if is_csv else 'parquet'}"
        if is_csv:
            frame.to_csv(path, index=False)
        else:
            write_parquet(frame, path)
        scans.append(RAGPipelineEvaluation.scan(path, roles=roles))
    comparison = compare(*scans, on="item", metrics=LATTICE)
    pd.testing.assert_frame_equal(comparison.frame, expected.frame, rtol=1e-9)
    assert comparison.frame["n"].iloc[1] > 600


# -- errors


def test_errors_are_those_of_memory(frames, tmp_path):
    apart = [frames[0], frames[1].assign(question=frames[1]["question"] + "!")]
    bare = [frames[0], frames[1].drop(columns="question")]
    calls = (compare, rank, lambda a, b, on: a.comparative_detailed_summary(b, on=on))
    for number, (wrong, kind) in enumerate(((apart, AlignmentError), (bare, UnknownNameError))):
        for call in calls:
            with pytest.raises(kind) as expected:
                call(*memory_of(wrong), on="question")
            with pytest.raises(kind) as found:
                call(*scans_of(wrong, tmp_path / str(number)), on="question")
            assert str(found.value) == str(expected.value)
    three = [*apart, frames[2]]
    with pytest.raises(AlignmentError, match="no query is in all 3 pipelines; of the ids, 'bm25'"):
        rank(*scans_of(three, tmp_path), on="question")


def test_a_file_without_the_column_is_named(frames, tmp_path):
    folder = tmp_path / "dense"
    write_parquet(frames[1].iloc[:300], folder / "a.parquet")
    write_parquet(frames[1].iloc[300:].drop(columns="question"), folder / "b.parquet")
    with pytest.raises(ReaderError, match=r"b\.parquet.*columns 'question' are missing"):
        RAGPipelineEvaluation.scan(folder)


def test_an_id_that_occurs_twice_is_refused(frames, tmp_path):
    twice = pd.concat([frames[1], frames[1].head(1)])
    for engine in ENGINES:
        with pytest.raises(DataError, match=r"dense: query ids must be unique.*'q00004'"):
            compare(*scans_of([frames[0], twice], tmp_path, engine=engine), on="question")


def test_texts_in_no_order_need_a_join(frames, tmp_path):
    shuffled = [frames[0], *(frame.sample(frac=1, random_state=2) for frame in frames[1:])]
    expected = compare(*memory_of(shuffled[:2]), on="question")
    scans = scans_of(shuffled, tmp_path)
    scanned = compare(*scans[:2], on="question")
    assert scanned.settings["engine"] == "join"
    pd.testing.assert_frame_equal(scanned.frame, expected.frame, rtol=1e-9)
    streams = scans_of(shuffled, tmp_path, engine="stream")
    for call in (
        lambda: compare(*streams[:2], on="question"),
        lambda: rank(*streams, on="question"),
    ):
        with pytest.raises(UnorderedIdsError, match=r"on='question': .* sorted.*engine='join'"):
            call()


def test_very_many_repeated_texts_are_refused(frames, tmp_path, monkeypatch):
    frames[1]["question"] = [f"Why {number % 100}?" for number in range(len(frames[1]))]
    monkeypatch.setattr(repeated_keys, "MOST_REPEATED", 650)
    with pytest.raises(DataError, match=r"dense: more than 650 rows have a text .*collect"):
        compare(*scans_of(frames[:2], tmp_path), on="question")


# -- random divisions


def asked(seed, n, share, gaps, place):
    """A random table with questions, of which some are repeated and some missing."""
    rng = np.random.default_rng(seed)
    frame = table(seed, n, share, gaps)
    number = frame["query_id"].str[1:].astype(int)
    texts = pd.Series([f"Why {each - each % 7 % 2}?" for each in number], dtype=object)
    texts[rng.random(len(texts)) < 0.05] = None
    same = (
        frame["query_id"] if rng.random() < 0.3 else f"{'qxy'[place]}" + frame["query_id"].str[1:]
    )
    return frame.assign(question=texts, query_id=same)


def check_division(frames, divisions, **options):
    """Comparisons and rankings of files, and of the rows of these files in memory."""
    with TemporaryDirectory() as folder:
        scans, memory = [], []
        for name, frame, division in zip(NAMES, frames, divisions, strict=True):
            source = division.write(frame, Path(folder, name))
            scans.append(RAGPipelineEvaluation.scan(source, name=name, **options))
            read = pd.read_csv if division.is_csv else pd.read_parquet
            rows = [read(path) for path in sorted(Path(folder, name).iterdir())]
            memory.append(RAGPipelineEvaluation(name, pd.concat(rows, ignore_index=True)))
        found, expected = (compare(*runs[:2], on="question") for runs in (scans, memory))
        assert _plain(found.notes) == _plain(expected.notes)
        assert_equal_rows(found.frame, expected.frame, COMPARED)
        lost, known = (each.regressions("similarity") for each in (found, expected))
        assert lost.attrs.pop("n") == len(known)
        pd.testing.assert_frame_equal(lost, known)
        rules = ({"recall@5": 0.4, "similarity": 0.2},)
        first, second = (
            runs[0].comparative_detailed_summary(runs[1], *rules, on="question")
            for runs in (scans, memory)
        )
        for name in second:
            assert sorted(first[name].dropna()) == sorted(second[name].dropna())
        ranked, listed = (rank(*runs, on="question", metrics=LATTICE) for runs in (scans, memory))
        assert _plain(ranked.notes) == _plain(listed.notes)
        assert_equal_rows(ranked.frame, listed.frame, [*LIMITS, "gain_of_noise"])


RANDOM = {
    "seed": st.integers(0, 2**16),
    "n": st.integers(40, 90),
    "share": st.sampled_from([1.0, 0.9, 0.6]),
    "gaps": st.sampled_from([0.0, 0.1]),
    "divisions": st.lists(DIVISIONS, min_size=3, max_size=3),
}


@settings(max_examples=8, deadline=None)
@given(**RANDOM, engine=st.sampled_from(["auto", "join", "duckdb"]))
def test_no_division_into_files_moves_a_number(seed, n, share, gaps, divisions, engine):
    frames = [asked(seed + place, n, share, gaps, place) for place in range(3)]
    check_division(frames, divisions, engine=engine)


@settings(max_examples=2, deadline=None)
@given(**RANDOM)
def test_workers_of_a_cluster_match_as_memory_does(scheduler, seed, n, share, gaps, divisions):
    frames = [asked(seed + place, n, share, gaps, place) for place in range(3)]
    check_division(frames, divisions, engine="dask", scheduler=scheduler)
