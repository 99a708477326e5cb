"""Commands whose files an engine counts: the same tables, said on standard error, or an error."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.cli import scans
from rageval_report.demo import write_demo_files

# What an engine changes in a result: that it is named, and notes on how files were read.
SETTINGS_OF_ENGINES = {"engine"}


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """The example data as CSV files, and as folders of four Parquet files each."""
    folder = tmp_path_factory.mktemp("scans")
    write_demo_files(folder)
    for name in ("bm25", "hybrid"):
        frame = pd.read_csv(folder / f"{name}.csv", dtype={"query_id": str})
        (folder / name).mkdir()
        for part in range(4):
            frame.iloc[part * 50 : (part + 1) * 50].to_parquet(folder / name / f"{part}.parquet")
    return folder


@pytest.fixture
def files(written, tmp_path, monkeypatch) -> Path:
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGEVAL_SCAN_ABOVE", raising=False)
    return tmp_path


def tables(text: str) -> list[dict]:
    """The parts of a JSON document that no engine may change."""
    document = json.loads(text)
    parts = document if isinstance(document, list) else [document]
    return [
        {
            "rows": part["rows"],
            "settings": {
                name: value
                for name, value in part["settings"].items()
                if name not in SETTINGS_OF_ENGINES
            },
            "title": part["title"],
        }
        for part in parts
    ]


def assert_same(row: dict, expected: dict) -> None:
    """Two rows with the same names and texts, and numbers that differ by rounding alone."""
    assert row.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, float):
            assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert row[name] == value, name


COMMANDS = [
    "report {a}",
    "report {a} {b} --metric faithfulness --percentiles 5,95 --confidence-level 0.9",
    "thresholds {b} --metric latency_ms --percentiles 10,90",
    "failures {a} --metric faithfulness --threshold 0.5",
    "failures {a} --metric latency_ms --threshold p95 --limit 4",
    "compare {a} {b}",
    "compare {a} {b} --metric exact_match --metric faithfulness --margin 0.05 --correction bh",
    "compare old={a} new={b} --metric faithfulness --missing bounds --tried 4",
    "regressions {a} {b} --metric exact_match",
    "improvements {a} {b} --metric latency_ms --limit 7",
    "report {a} --by question_type --metric mrr --quiet",
    "slices {a} --by question_type --metric faithfulness",
    "slices {a} {b} --by question_type --metric exact_match --correction bh",
    "compare {a} {b} --by question_type --metric exact_match",
    "compare {a} {b} --metric mrr --clusters domain",
    "report {a} --clusters domain",
    "slices {a} --by question_type --clusters domain --metric exact_match",
    "slices {a} {b} --by question_type --clusters domain --metric exact_match",
    "gate {b} --baseline {a} --rule no_regression(mrr,margin=0.1) --clusters domain",
    "history {a} {b} --metric mrr --clusters domain",
    "rank {a} {b} c={b} --metric mrr --metric exact_match",
    "rank {a} {b} c={b} --metric mrr --metric exact_match --clusters domain",
    "rank {a} {b} --metric mrr --correction bh --tried 4 --confidence-level 0.9 --margin mrr=0.01",
    "pairs {a} {b} c={b}",
    "history {a} {b} c={b} --metric mrr --metric latency_ms",
    "history {a} {b} c={b} --baseline c --correction bh --confidence-level 0.9 --metric mrr",
    "changes {a} {b} c={b}",
    "monitor {a} {b} c={b} --metric faithfulness --by question_type",
    "monitor {a} {b} --metric exact_match --tolerance exact_match=0.05",
    "compare {a} {b} --metric faithfulness --on question",
    "rank {a} {b} --metric mrr --on question",
    "gate {a} --rule mean(mrr)>=0.5 --clusters domain",
    "gate {b} --rule mean(faithfulness)>=0.5 --rule p95(latency_ms)<=3000",
    "gate {b} --baseline {a} --rule no_regression(exact_match,margin=0.1) --rule wins(mrr)>=1",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_engine_changes_no_number(files, run, command):
    line = command.format(a="bm25.csv", b="hybrid.csv") + " --format json"
    whole, parts = run(line), run(f"{line} --engine duckdb")
    assert (whole.exit_code, parts.exit_code) in [(0, 0), (1, 1), (3, 3)], parts.stderr
    for expected, got in zip(tables(whole.stdout), tables(parts.stdout), strict=True):
        assert got["title"] == expected["title"]
        assert got["settings"] == expected["settings"]
        assert len(got["rows"]) == len(expected["rows"])
        # Equal changes are in the order of the rows in memory, and of the ids of files.
        rows, same_rows = got["rows"], expected["rows"]
        if command.startswith("regressions"):
            rows, same_rows = (
                sorted(r, key=lambda row: row["query_id"]) for r in (rows, same_rows)
            )
        for row, same in zip(rows, same_rows, strict=True):
            assert_same(row, same)


EVERY_SCORE = [
    "rank {a} {b} --metric mrr --correction westfall-young",
    "weighted {a} {b} --metric mrr",
    "pareto {a} {b} --metric mrr --metric latency_ms",
]


@pytest.mark.parametrize("command", EVERY_SCORE)
def test_what_needs_every_score_says_so(files, run, refused, command):
    line = command.format(a="bm25.csv", b="hybrid.csv")
    assert run(line).exit_code in (0, 1)
    told = refused(f"{line} --engine duckdb")
    assert "needs every score in memory: " in told
    assert "--engine memory" in told


def test_globs_and_folders_are_the_parts_of_one_table(files, run):
    from_csv = run("compare bm25.csv hybrid.csv --engine duckdb --format json")
    for words in ("bm25/*.parquet hybrid/*.parquet", "bm25 hybrid"):
        parts = run(f"compare {words} --engine duckdb --format json")
        assert tables(parts.stdout) == tables(from_csv.stdout)


def test_each_file_may_be_an_evaluation(files, run):
    Path("runs").mkdir()
    for name in ("bm25", "hybrid"):
        pd.read_csv(f"{name}.csv").to_parquet(f"runs/{name}.parquet")
    line = "compare runs --files evaluations --metric mrr --format json"
    whole, parts = run(line), run(f"{line} --engine duckdb")
    assert tables(parts.stdout) == tables(whole.stdout)
    assert json.loads(parts.stdout)["title"] == "hybrid against bm25"


# -- runs in the order of time


def test_each_file_of_the_only_folder_is_a_run(files, run):
    Path("runs").mkdir()
    for name in ("bm25", "hybrid"):
        pd.read_csv(f"{name}.csv").to_parquet(f"runs/{name}.parquet")
    for where in ("runs", "runs/*.parquet"):
        line = f"history {where} --metric mrr --format json"
        whole, parts = run(line), run(f"{line} --engine duckdb")
        assert tables(parts.stdout) == tables(whole.stdout)
        assert json.loads(parts.stdout)["notes"] == json.loads(whole.stdout)["notes"]
        assert [row["run"] for row in json.loads(parts.stdout)["rows"]] == ["bm25", "hybrid"]


def test_each_of_several_folders_is_a_run(files, run):
    line = "--metric mrr --engine duckdb --format json"
    folders, from_csv = (
        run(f"history bm25 hybrid {line}"),
        run(f"history bm25.csv hybrid.csv {line}"),
    )
    assert tables(folders.stdout) == tables(from_csv.stdout)
    Path("nights").mkdir()
    for name in ("bm25", "hybrid"):
        shutil.move(name, "nights")
    assert tables(run(f"history nights {line}").stdout) == tables(from_csv.stdout)


def test_the_size_of_runs_decides_too(files, run, monkeypatch):
    whole = run("history bm25.csv hybrid.csv --metric mrr --plot whole.svg --format json")
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "10kB")
    parts = run("history bm25.csv hybrid.csv --metric mrr --plot parts.svg --format json")
    assert "so they are read part by part" in parts.stderr
    assert json.loads(parts.stdout)["settings"]["engine"] == "duckdb"
    assert tables(parts.stdout) == tables(whole.stdout)
    assert Path("parts.svg").read_bytes() == Path("whole.svg").read_bytes()


def test_run_files_are_read_whole(files, run, refused, monkeypatch):
    Path("runs").mkdir()
    for name in ("bm25", "hybrid"):
        run(f"export {name}.csv --to json -o runs/{name}.json")
    small = run("history runs --metric mrr")
    told = refused("history runs --engine duckdb")
    assert ".json" in told
    assert "Parquet" in told
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "10kB")
    large = run("history runs --metric mrr")
    assert "they are read whole all the same, because only Parquet, CSV" in large.stderr
    assert large.stdout == small.stdout


# -- pages and pictures


def table_rows(page: str) -> list[str]:
    """The rows of the tables of a page, as the texts of their cells."""
    markup = re.sub(r"(?s)<script.*?</script>", "", Path(page).read_text(encoding="utf-8"))
    texts = [re.sub(r"<[^>]*>", " ", row) for row in re.findall(r"(?s)<tr.*?</tr>", markup)]
    return [" ".join(text.split()) for text in texts]


def headline(page: str) -> str:
    return re.search(r"<h1[^>]*>(.*?)</h1>", Path(page).read_text(encoding="utf-8"))[1]


@pytest.mark.parametrize(
    "words",
    [
        "report bm25.csv --by question_type",
        "report bm25.csv --metric faithfulness --metric mrr --by domain --no-pictures",
    ],
)
def test_the_page_of_large_files_has_the_tables_of_the_page_in_memory(
    files, run, monkeypatch, words
):
    assert run(f"{words} -o whole.html").exit_code == 0
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "10kB")
    result = run(f"{words} -o parts.html")
    assert result.exit_code == 0, result.stderr
    assert "so they are read part by part" in result.stderr
    whole, parts = table_rows("whole.html"), table_rows("parts.html")
    names = re.findall(r"\w+(?=\.csv)", words)
    files_read = ["pipeline queries from", *(f"{name} 200 {name}.csv" for name in names)]
    assert len(parts) > 5
    # The best of a ranking stands first.
    assert sorted(row for row in parts if row not in whole) == sorted(files_read)
    assert headline("parts.html") == headline("whole.html")
    assert "The page shows" not in Path("parts.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        "bm25.csv --metric mrr --threshold 0.5 --percentiles 10,90",
        "bm25.csv hybrid.csv --kind forest --metric mrr",
        "bm25.csv --kind slices --by question_type --metric mrr",
        "bm25.csv hybrid.csv --kind slices --by question_type --metric mrr",
        "bm25.csv hybrid.csv --kind leaderboard",
        "bm25.csv hybrid.csv --kind heat",
        "bm25.csv hybrid.csv --kind strip",
        "bm25.csv hybrid.csv c=hybrid.csv --kind groups --metric mrr",
    ],
)
def test_a_picture_of_large_files_is_that_of_files_in_memory(files, run, monkeypatch, words):
    assert run(f"plot {words} -o whole.svg").exit_code == 0
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "10kB")
    result = run(f"plot {words} -o parts.svg")
    assert result.exit_code == 0, result.stderr
    assert "so they are read part by part" in result.stderr
    assert Path("parts.svg").read_bytes() == Path("whole.svg").read_bytes()


def test_outcomes_of_large_files_are_those_of_files_in_memory(files, run, monkeypatch):
    words = "outcomes bm25.csv hybrid.csv --correct faithfulness>=0.6 --correct mrr>=0.5"
    whole = run(f"{words} --format json")
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "10kB")
    parts, short = run(f"{words} --format json"), run(f"{words} --format json --limit 3")
    stored = run(f"{words} -o all.parquet")
    assert "so they are read part by part" in parts.stderr
    [expected], [found], [cut] = (tables(each.stdout) for each in (whole, parts, short))
    assert (found["settings"], found["title"]) == (expected["settings"], expected["title"])
    listed, known = ids_by_column(found["rows"]), ids_by_column(expected["rows"])
    assert listed == {name: sorted(ids) for name, ids in known.items()}
    assert ids_by_column(cut["rows"]) == {name: ids[:3] for name, ids in listed.items()}
    assert json.loads(parts.stdout)["notes"] == json.loads(whole.stdout)["notes"]
    assert "the first 3 of each column are listed" in " ".join(json.loads(short.stdout)["notes"])
    assert stored.exit_code == 0, stored.stderr
    assert len(pd.read_parquet("all.parquet")) == 198  # of both


def ids_by_column(rows: list[dict]) -> dict[str, list[str]]:
    return {name: [row[name] for row in rows if row[name] is not None] for name in rows[0]}


def test_a_list_of_outcomes_is_of_one_candidate(files, refused):
    shutil.copy("hybrid.csv", "third.csv")
    told = refused("outcomes bm25.csv hybrid.csv third.csv --engine duckdb -o all.parquet")
    assert "-o all.parquet holds the list of one candidate; name one." in told


# -- what needs every score

WHOLE = {
    "the plot 'pareto'": "plot bm25.csv hybrid.csv --kind pareto -o out.svg",
}


@pytest.mark.parametrize(("what", "words"), WHOLE.items())
def test_large_files_are_not_read_whole_unless_the_user_says_so(
    files, run, refused, monkeypatch, what, words
):
    small = run(words)
    assert small.exit_code == 0, small.stderr
    assert refused(f"{words} --engine duckdb") == (
        f"{what} needs every score in memory, and --engine duckdb reads files part by part; use "
        "--engine memory"
    )
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "50kB")
    assert refused(words) == (
        f"the files have 76.2 kB, more than RAGEVAL_SCAN_ABOVE=50kB, and {what} needs every "
        "score in memory; if this machine has that much memory free, use --engine memory, else a "
        "part of the queries or a larger machine"
    )
    chosen = run(f"{words} --engine memory")
    assert (chosen.exit_code, chosen.stdout) == (0, small.stdout)


def test_a_memory_limit_is_not_for_what_is_read_whole(files, refused):
    command = "plot bm25.csv hybrid.csv --kind pareto -o out.svg --memory-limit 1GB"
    assert "--memory-limit is for" in refused(command)


# -- when


def test_the_size_of_the_files_decides_and_a_note_says_so(files, run, monkeypatch):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "50kB")
    small = run("report bm25.csv --format json")
    assert "engine" not in json.loads(small.stdout)["settings"]
    assert "part by part" not in small.stderr
    large = run("compare bm25.csv hybrid.csv --format json")
    assert json.loads(large.stdout)["settings"]["engine"] == "duckdb"
    assert large.stderr.splitlines()[0] == (
        "note: the files have 76.2 kB, more than RAGEVAL_SCAN_ABOVE=50kB, so they are read part "
        "by part; --engine memory reads them whole"
    )


def test_memory_reads_whole_what_is_large(files, run, monkeypatch):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "0")
    result = run("report bm25.csv --engine memory --format json")
    assert "engine" not in json.loads(result.stdout)["settings"]
    assert "part by part" not in result.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("report run.json", "only Parquet, CSV and JSON-lines files are, and run.json is not"),
        ("report bm25.csv::x hybrid.csv", "'x' is one of several pipelines in bm25.csv"),
    ],
)
def test_what_cannot_be_read_so_is_read_whole_with_a_note(files, run, monkeypatch, words, reason):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "1kB")
    shutil.copy("bm25.csv", "run.csv")
    run("export run.csv --to json -o run.json")
    pd.read_csv("bm25.csv").to_json("run.json", orient="records")
    stderr = run(words).stderr
    assert f"; they are read whole all the same, because {reason}" in stderr


def test_without_pyarrow_large_files_are_read_whole_as_before(files, run, monkeypatch):
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "0")
    monkeypatch.setattr(scans.importlib.util, "find_spec", lambda name: None)
    result = run("report bm25.csv")
    assert result.exit_code == 0
    assert 'reading them part by part needs: pip install "rageval-report[scale]"' in result.stderr


def test_a_command_that_reads_whole_files_says_so_where_they_are_large(files, run, monkeypatch):
    assert "reads files whole" not in run("plan bm25.csv --metric mrr").stderr
    monkeypatch.setenv("RAGEVAL_SCAN_ABOVE", "1kB")
    result = run("plan bm25.csv --metric mrr")
    assert result.exit_code == 0
    assert (
        "note: the files have 37.5 kB, more than RAGEVAL_SCAN_ABOVE=1kB, and plan reads "
        "files whole; if the memory is not enough, give it a part of the queries\n"
    ) in result.stderr


# -- lists in files


@pytest.mark.parametrize(
    "words",
    [
        "failures bm25.csv --metric faithfulness --threshold 0.5",
        "regressions bm25.csv hybrid.csv --metric latency_ms",
    ],
)
def test_a_whole_list_goes_into_a_parquet_file(files, run, words):
    listed = json.loads(run(f"{words} --format json").stdout)["rows"]
    result = run(f"{words} --engine duckdb --limit 2 -o all.parquet")
    assert result.exit_code == 0
    assert len(listed) > 2
    stored = pd.read_parquet("all.parquet").reset_index()
    assert sorted(stored["query_id"]) == sorted(row["query_id"] for row in listed)
    shown = result.stdout.partition("Note: ")[0]
    assert sum(row["query_id"] in shown for row in listed) == 2
    assert "exists already" in run(f"{words} --engine duckdb -o all.parquet").stderr


def test_of_more_queries_than_are_shown_the_number_is_said(files, run):
    result = run("regressions bm25.csv hybrid.csv --metric latency_ms --limit 3 --engine duckdb")
    whole = json.loads(
        run("regressions bm25.csv hybrid.csv --metric latency_ms --format json").stdout
    )
    n = len(whole["rows"])
    expected = f"{n} of 198 common queries; the 3 with the largest change are listed"
    assert expected in " ".join(result.stdout.split())
    short = run("failures bm25.csv --metric faithfulness --threshold 0.5 --limit 3 --engine duckdb")
    assert "-o failures.parquet writes all" in short.stdout


# -- what does not apply


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("report bm25.csv --duplicates mean", "--duplicates does not apply to files that are read"),
        ("report bm25.csv --totals keep", "--totals does not apply to files that are read part by"),
        ("report bm25.csv --reader csv", "--reader does not apply to files that are read part by"),
        ("report bm25.csv --qrels q.txt", "--qrels does not apply to files that are read part by"),
        ("report bm25.csv --option sheet=2", "--option sheet does not apply to files that are rea"),
        ("report bm25.csv::x", "bm25.csv::x: a pipeline cannot be read part by part; name Parquet"),
        ("report -", "standard input cannot be read part by part; name Parquet or CSV files of on"),
        ("report sqlite:///a.db?table=t", "a database or a service cannot be read part by part"),
        ("compare bm25.csv", "Missing argument 'CANDIDATE...': bm25.csv holds one pipeline"),
        (
            "compare bm25.csv bm25.csv",
            "two runs are named 'bm25.csv'; give each its own",
        ),
    ],
)
def test_what_does_not_apply_to_parts_is_an_error(files, refused, command, reason):
    assert reason in refused(f"{command} --engine duckdb")


def test_the_memory_limit_is_a_size(files, run, refused):
    line = "report bm25.csv --metric mrr --engine duckdb --memory-limit"
    assert run(f"{line} 1GB").exit_code == 0
    assert "--memory-limit must be a size such as 500MB or 2GB; got 'lots'" in refused(
        f"{line} lots"
    )
    assert "--memory-limit is for --engine duckdb" in refused("report bm25.csv --memory-limit 1GB")


def test_a_file_that_does_not_exist_has_a_near_name(files, refused):
    told = refused("compare bm25.csv hybird.csv --engine duckdb")
    assert told == "hybird.csv: there is no such file. Did you mean 'hybrid.csv'?"


def test_an_engine_that_is_not_known_is_an_error(files, refused):
    told = refused("report bm25.csv --engine join")
    assert "'join' is not one of 'auto', 'memory', 'duckdb', 'dask', 'spark'" in told


def test_a_parquet_list_needs_files_that_are_read_part_by_part(files, refused):
    told = refused("failures bm25.csv --metric mrr --threshold 1 -o all.parquet")
    assert "a Parquet file is for a list that is read part by part" in told
    assert not Path("all.parquet").exists()


def test_a_damaged_file_among_the_parts_is_named_and_nothing_is_written(files, refused):
    damaged = Path("hybrid/2.parquet")
    damaged.write_bytes(damaged.read_bytes()[:2000])
    told = refused("compare bm25 hybrid --engine duckdb -o table.md")
    assert "hybrid/2.parquet" in told
    assert not Path("table.md").exists()


def test_the_help_says_where_the_limit_is(run):
    part_by_part = ("report", "compare", "gate", "failures", "thresholds", "regressions", "plot")
    for command in (
        *part_by_part,
        "outcomes",
        "rank",
        "pairs",
        "weighted",
        "pareto",
        "history",
        "monitor",
    ):
        told = " ".join(run(f"{command} --help").stdout.split())
        assert "Reading large files:" in told
        assert "RAGEVAL_SCAN_ABOVE" in told
