"""Writes the tables of docs/validity.md: computes numbers again, copies those of simulations.

    python docs/make_validity.py            # everything: compares with the other programs
    python docs/make_validity.py --copied   # only the tables of simulations

Each table stands between ``<!-- name -->`` and ``<!-- end of name -->``. Run it from the
repository's root with the extra ``test`` and the group ``oracles``; ``PYTHONPATH=.`` if the package
is not installed from here.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import sys
import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
PAGE = DOCS / "validity.md"
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(DOCS))

from witnesses import WITNESSES, Witness  # noqa: E402 - beside this file

Rows = list[list[str]]
_LOW = 93.0  # a coverage below this is two points short of the 95 that is promised
_HIGH = 7.0  # a rejection rate above this is two points over the 5 that is promised


def markdown(header: Iterable[str], rows: Iterable[Iterable[str]], numbers: int = 0) -> str:
    """A table whose last columns are numbers."""
    names = list(header)
    rule = ["---"] * (len(names) - numbers) + ["---:"] * numbers
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, rule, *map(list, rows)))


# -- compared again


def difference_of(largest: float) -> str:
    """A difference for people: to the last bit, or its size."""
    return "none: the same to the last bit" if largest == 0.0 else f"{largest:.1e}"


def compared(witness: Witness, n_cases: int) -> list[str]:
    """The row of a witness.

    Raises
    ------
    ValueError
        If a difference is larger than the witness allows.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other programs, about ties and small samples
        n_values, largest = witness.largest_difference(n_cases)
    if not n_values or largest > witness.limit:
        raise ValueError(
            f"{witness.number}: expected a difference of at most {witness.limit:g} from "
            f"{witness.tool}; found {largest:g} in {n_values} values"
        )
    call = f"`{witness.call}`" if witness.distribution else witness.call
    cells = [witness.number, witness.tool, call, f"{n_cases:,}", f"{n_values:,}"]
    return [*cells, difference_of(largest)]


def witnesses() -> str:
    """Every number with a second program, computed now."""
    header = ["number", "second witness", "its function", "cases", "values", "largest difference"]
    rows = [compared(one, one.n_cases) for one in WITNESSES]
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "pandas"))
    load = " ".join(f"{one:.1f}" for one in os.getloadavg())
    versions = f"Python {platform.python_version()}, {packages}"
    line = (
        f"Compared on {datetime.now(UTC):%Y-%m-%d} with {versions}, "
        f"on {os.cpu_count()} cores of {platform.machine()} (load {load}).\n"
    )
    return f"{line}\n{markdown(header, rows, 3)}"


# -- copied from the results of simulations, which take hours


def section_of(file: str, heading: str) -> str:
    """The text below a heading, up to the next heading of its level."""
    text = (RESULTS / file).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}[^\n]*\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        raise ValueError(f"benchmarks/results/{file}: expected a section {heading!r}")
    return found[1]


def tables_of(text: str) -> list[tuple[list[str], Rows]]:
    """The tables of a text: the header and the rows of each."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in block.splitlines()
        ]
        found.append((cells[0], cells[2:]))
    return found


def percentages(header: list[str], rows: Rows, column: str) -> list[tuple[float, str]]:
    """The numbers of a column of rates, each with its row; cells without a number are left out."""
    place = header.index(column)
    found = []
    for row in rows:
        number = re.match(r"-?\d+(\.\d+)?", row[place])
        if number:
            n = f", n = {row[1]}" if header[1] == "n" else ""
            found.append((float(number[0]), f"{row[0]}{n}"))
    return found


def digest(
    header: list[str], rows: Rows, columns: Iterable[str], worst: Callable[..., tuple[float, str]]
) -> Rows:
    """Per column: the median of its rates, the worst one with its row, and how many are off."""
    found = []
    for column in columns:
        rates = percentages(header, rows, column)
        value, where = worst(rates)
        off = sum(rate < _LOW if worst is min else rate > _HIGH for rate, _ in rates)
        median = statistics.median(rate for rate, _ in rates)
        found.append([column, f"{median:.1f}", f"{value:.1f}", where, f"{off} of {len(rates)}"])
    return found


def coverage() -> str:
    """Coverage of 95 % intervals of one mean, ours and those of others on the same data sets."""
    ours, theirs = tables_of(section_of("coverage.md", "Coverage of 95 % intervals of one mean"))[
        :2
    ]
    rows = [
        *digest(*theirs, ["default"], min),
        *digest(*ours, ["t", "percentile"], min),
        *digest(*theirs, theirs[0][3:-1], min),
    ]
    header = ["interval", "median", "worst", "where it is worst", f"rows below {_LOW:g}"]
    real_header, real = tables_of(section_of("coverage.md", "Coverage on real scores"))[0]
    below = (
        "On 60 columns of real scores, the worst column, and in brackets how many are below 93 %:\n"
    )
    n_numbers = len(real_header)
    return f"{markdown(header, rows)}\n{below}\n{markdown(real_header, real, n_numbers)}"


def rejections(file: str, heading: str, first: int) -> str:
    """False findings of each test or rule, from the column `first` of a table on."""
    header, rows = tables_of(section_of(file, heading))[0]
    names = ["test", "median", "worst", "where it is worst", f"rows above {_HIGH:g}"]
    return markdown(names, digest(header, rows, header[first:], max))


COPIED: dict[str, Callable[[], str]] = {
    "coverage": coverage,
    "false positives": lambda: rejections("coverage.md", "Rejections of a true null hypothesis", 2),
    "stopping": lambda: rejections("stopping.md", "False alarms, in percent", 1),
}


def with_block(page: str, name: str, content: str) -> str:
    """The page with one of its tables replaced."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if len(marks.findall(page)) != 1:
        raise ValueError(f"docs/validity.md: expected <!-- {name} --> and its end once")
    return marks.sub(lambda found: f"{found[1]}{content}{found[2]}", page)


def with_copies(page: str) -> str:
    """The page with the tables that are copied as their origins have them today."""
    for name, make in COPIED.items():
        page = with_block(page, name, make())
    return page


def main(arguments: list[str]) -> None:
    """Write the tables of the page."""
    page = with_copies(PAGE.read_text(encoding="utf-8"))
    if "--copied" not in arguments:
        page = with_block(page, "witnesses", witnesses())
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
