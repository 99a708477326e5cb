"""Random small tables: scans say what memory says, and the order of rows and files is nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scale_tables import KINDS, assert_equal, assert_same, random_table, save_and_scan

from rageval_report import compare, rank
from rageval_report.errors import DataError

pytest.importorskip("duckdb")

FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)

tables = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**20),
        "n": st.integers(2, 40),
        "kinds": st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True),
        "gaps": st.sampled_from([0.0, 0.1, 0.5]),
    }
)
missing = st.sampled_from(["drop", "worst", "bounds"])
clusters = st.sampled_from([None, "document"])


def runs_and_scans(
    drawn: dict[str, Any], names: list[str], folder: str
) -> tuple[list[Any], list[Any]]:
    """Pipelines in memory, and scans of their files; each has half of the scores of the first."""
    rng = np.random.default_rng(drawn["seed"])
    options = {name: drawn[name] for name in ("n", "kinds", "gaps")}
    first = random_table(rng, **options)
    others = [
        random_table(rng, **options, like=first).iloc[rng.integers(0, 2) :] for _ in names[1:]
    ]
    return save_and_scan(dict(zip(names, [first, *others], strict=True)), Path(folder))


def both(ask: Any, runs: list[Any], scans: list[Any]) -> list[Any] | None:
    """What memory and scans say; None if both refuse."""
    answers: list[Any] = []
    for sides in (runs, scans):
        try:
            answers.append(ask(*sides))
        except DataError as exc:
            answers.append(type(exc))
    if isinstance(answers[0], type) or isinstance(answers[1], type):
        assert answers[0] == answers[1]
        return None
    return answers


@FEW
@given(drawn=tables, by_document=clusters)
def test_one_pipeline(drawn: dict[str, Any], by_document: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs, scans = runs_and_scans(drawn, ["only"], folder)
        metric = drawn["kinds"][0]
        for ask in (
            lambda run: run.evaluation_report(clusters=by_document),
            lambda run: run.find_thresholds(),
            lambda run: run.slices("topic", clusters=by_document),
            lambda run: run.gate(f"mean({metric}) >= 0.5", f"n({metric}) >= 3"),
        ):
            if answers := both(ask, runs, scans):
                assert_equal(answers[1].frame, answers[0].frame)
                assert sorted(answers[1].notes) == sorted(answers[0].notes)
        if answers := both(lambda run: run.failures(metric, "median"), runs, scans):
            assert_equal(answers[1].frame.sort_index(), answers[0].frame.sort_index())


@FEW
@given(drawn=tables, treatment=missing, by_document=clusters)
def test_two_pipelines(drawn: dict[str, Any], treatment: str, by_document: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs, scans = runs_and_scans(drawn, ["old", "new"], folder)
        metric = drawn["kinds"][0]
        options: dict[str, Any] = {"missing": treatment, "clusters": by_document}
        for ask in (
            lambda *sides: compare(*sides, **options),
            lambda *sides: compare(*sides[::-1], **options),
            lambda *sides: compare(*sides, **options).slices("topic"),
            lambda *sides: compare(*sides, **options).gate(f"losses({metric}) <= 2"),
        ):
            if answers := both(ask, runs, scans):
                assert_same(answers[1], answers[0])


@FEW
@given(drawn=tables, treatment=missing, by_document=clusters, order=st.permutations("abc"))
def test_three_pipelines(
    drawn: dict[str, Any], treatment: str, by_document: str | None, order: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        runs, scans = runs_and_scans(drawn, order, folder)
        answers = both(
            lambda *sides: rank(*sides, missing=treatment, clusters=by_document), runs, scans
        )
        if answers:
            assert_same(answers[1], answers[0])
            assert_same(answers[1].pairs, answers[0].pairs)
