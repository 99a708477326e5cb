"""The sentences of benchmarks/results/coverage.md agree with its tables."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "benchmarks" / "results" / "coverage.md").read_text(encoding="utf-8")
MEANS = "Coverage of 95 % intervals of one mean"
REJECTIONS = "Rejections of a true null hypothesis"
TIES = "Metrics whose differences tie"
CLAIMS = "Claims of non-inferiority"
DIFFERENCES = "Coverage of 95 % intervals of a mean difference"
GATES = "Gates that open"
CORRECTED = "Coverage of 95 % intervals of a mean corrected"
Table = list[dict[str, str]]


def section(start: str) -> str:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    (found,) = (each for each in sections if each.startswith(start))
    return found


def tables(start: str) -> list[Table]:
    """The tables of a section; of columns with the same head the last one counts."""
    found = []
    for text in re.findall(r"(?:^\|.*\n)+", section(start), re.MULTILINE):
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
        found.append([dict(zip(lines[0], cells, strict=True)) for cells in lines[2:]])
    return found


def shares(table: Table, column: str) -> list[float]:
    """In percent; NaN where a method is not for such scores."""
    cells = (row[column].partition(" ")[0] for row in table)
    return [math.nan if cell in ("", "–") else float(cell) for cell in cells]


def share_named(start: str, pattern: str) -> float:
    """The share in the sentence on the worst cells; {} stands for it in the pattern."""
    text = re.escape(pattern).replace(r"\{\}", r"([\d.]+)")
    (found,) = re.findall(text, section(start))
    return float(found)


def test_the_page_says_how_it_is_made_and_by_which_versions():
    assert (
        "python benchmarks/simulate_coverage.py --datasets 1000 --seed 0 "
        "-o benchmarks/results/coverage.md"
    ) in PAGE
    for peer in ("scipy", "statsmodels", "arch", "ranx", "autorank", "evalstats"):
        assert re.search(rf"\b{peer} \d+\.\d+", PAGE)


@pytest.mark.parametrize(
    ("default", "empty_for_others"),
    [("clopper-pearson", None), ("gaffke", "clopper-pearson"), ("studentised", "gaffke")],
)
def test_the_worst_cell_of_each_default_interval_is_named(default, empty_for_others):
    table = [row for row in tables(MEANS)[0] if not empty_for_others or not row[empty_for_others]]
    assert share_named(MEANS, f"{{}} % for `{default}` (") == np.nanmin(shares(table, default))


def test_the_worst_cell_of_each_peer_is_named():
    table = tables(MEANS)[1]
    peers = [column for column in table[0] if ", " in column and not column.startswith("width")]
    assert len(peers) >= 6
    for peer in [*peers, "evalstats"]:
        assert share_named(MEANS, f"{{}} % for `{peer}` (") == np.nanmin(shares(table, peer))


def test_the_default_beside_the_peers_is_that_of_the_first_table():
    ours, peers = tables(MEANS)
    for row, beside in zip(ours, peers, strict=True):
        default = row["clopper-pearson"] or row["gaffke"] or row["studentised"]
        assert (row["data"], row["n"], default) == (beside["data"], beside["n"], beside["default"])


def test_the_worst_cell_of_each_test_is_named():
    (table,) = tables(REJECTIONS)
    for test in [column for column in table[0] if column not in ("data", "n")]:
        assert share_named(REJECTIONS, f"{{}} % for `{test}` (") == np.nanmax(shares(table, test))


def test_the_worst_cells_of_margins_and_gates_are_named():
    (claims,), (covered,), (gates,) = (tables(each) for each in (CLAIMS, DIFFERENCES, GATES))
    assert share_named(CLAIMS, "of the default: {} % (") == max(shares(claims, "default"))
    worst = re.findall(r"([\d.]+) % \([^`]*?\) for `(\w+)`", section(DIFFERENCES))
    assert {name: float(share) for share, name in worst} == {
        name: np.nanmin(shares(covered, name)) for name in ("default", "t", "strict", "evalstats")
    }
    assert share_named(GATES, "of the default: {} % (") == max(shares(gates, "default passed"))
    assert share_named(GATES, "of `strict`: {} % (") == max(shares(gates, "strict passed"))


def test_the_worst_cells_of_corrected_means_are_named():
    (table,) = tables(CORRECTED)
    lowest = min(shares(table, "with bounds"))
    assert share_named(CORRECTED, "of the default: {} % (") == lowest


def test_mid_p_keeps_the_level_on_every_lattice():
    (table,) = tables(TIES)
    header = section(TIES).split("| data |")[1].splitlines()[0]
    assert header.count("default") == 2  # false alarms, then power
    alarms = [float(line.split("|")[4]) for line in section(TIES).splitlines() if "| 0/1 |" in line]
    assert len(table) == 64
    assert max(alarms) <= 5.5


def test_the_pages_that_it_points_to_are_there():
    for target in re.findall(r"\]\(([\w/.]+\.md)(?:#[\w-]+)?\)", PAGE):
        assert (ROOT / "benchmarks" / "results" / target).is_file()
