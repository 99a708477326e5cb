"""docs/validity.md says what its script gives: copies are current, and comparisons hold again."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "validity.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(DOCS / "make_validity.py"))
WITNESSES = SCRIPT["WITNESSES"]
FEW = 12


def row_of(number):
    """The cells of a witness on the page."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {number} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda one: one.number)
def test_a_few_cases_of_each_comparison_hold_again(witness):
    try:
        cells = SCRIPT["compared"](witness, FEW)
    except ModuleNotFoundError as exc:
        pytest.skip(f"{exc.name} is not installed: the group oracles has it")
    kept = row_of(witness.number)
    assert cells[:1] + cells[2:3] == kept[:1] + kept[2:3]
    assert kept[3] == f"{witness.n_cases:,}"
    assert kept[1].split()[0] == cells[1].split()[0]
    if witness.limit == 0.0:
        assert cells[5] == kept[5] == SCRIPT["difference_of"](0.0)
    else:
        assert kept[5] == SCRIPT["difference_of"](0.0) or float(kept[5]) <= witness.limit


def test_every_witness_is_on_the_page_and_no_other():
    block = PAGE.partition("<!-- witnesses -->")[2].partition("<!-- end of witnesses -->")[0]
    ((_, rows),) = SCRIPT["tables_of"](block)
    assert [row[0] for row in rows] == [one.number for one in WITNESSES]
    assert re.search(r"Compared on \d{4}-\d\d-\d\d with Python .* \(load [\d. ]+\)", block)


def test_copied_tables_are_those_of_the_pages_that_keep_them():
    assert SCRIPT["with_copies"](PAGE) == PAGE, (
        "docs/validity.md is out of date: run `python docs/make_validity.py --copied`"
    )


def test_a_wrong_number_stops_the_script():
    wrong = SCRIPT["Witness"](
        "a", "b", "", lambda rng, n: iter([(1.0, 1.0), (0.5, 0.6)]), limit=0.1
    )
    assert wrong.largest_difference(1) == (2, pytest.approx(0.1 / 0.6))
    with pytest.raises(
        ValueError, match=r"a: expected a difference of at most 0\.1 .* found 0\.16"
    ):
        SCRIPT["compared"](wrong, 1)
    gone = SCRIPT["Witness"]("a", "b", "", lambda rng, n: iter([(float("nan"), 1.0)]), limit=0.1)
    with pytest.raises(ValueError, match="found inf"):
        SCRIPT["compared"](gone, 1)


def test_a_digest_has_the_median_the_worst_row_and_the_rows_that_are_off():
    header, rows = (
        ["data", "n", "t"],
        [["a", "10", "90.0 ± 1"], ["b", "20", "96.5"], ["c", "9", "–"]],
    )
    assert SCRIPT["digest"](header, rows, ["t"], min) == [
        ["t", "93.2", "90.0", "a, n = 10", "1 of 2"]
    ]


def test_a_heading_that_is_gone_is_named():
    with pytest.raises(
        ValueError, match=r"benchmarks/results/stopping\.md: expected a section 'Nothing'"
    ):
        SCRIPT["section_of"]("stopping.md", "Nothing")


def test_scripts_and_files_that_the_page_names_exist():
    for name in re.findall(r"(?:`|python )((?:docs|tests|benchmarks)/[\w/.]+)", PAGE):
        assert (DOCS.parent / name).exists(), name
