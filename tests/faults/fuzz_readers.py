"""Mutated inputs for all readers: each is read or refused, and tables are read as others read them.

    python tests/faults/fuzz_readers.py --n 20000 --seed 1 --keep /tmp/foreign

Every input is a seed (a file of `tests/golden` or one that is written here) after a few mutations
of its bytes, its JSON values, its cells, its encoding or the members of its archive. An input may
be read, or refused with a `RagevalError`. Any other exception, a warning of another library, and a
reading that takes longer than 20 seconds is a fault.

A table that is read without a note is compared cell by cell with a plain reading of the same bytes:
by the csv module, the json module, pyarrow's lists, or openpyxl. A difference is a fault too.
"""

from __future__ import annotations

import copy
import csv
import gzip
import io
import json
import math
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from attack import Found, main
from damage import places_in, with_part

import rageval_report as rr
from rageval_report import golden, judges, metrics
from rageval_report.errors import RagevalError, RagevalWarning
from rageval_report.readers import READERS
from rageval_report.scores.metric import normalise_name

GOLDEN = Path(__file__).parent.parent / "golden"
LARGEST_SEED = 60_000
SLOWEST = 20  # seconds of the processor
Rows = list[dict[str, Any]]

# -- seeds

ROWS = [
    {"query_id": f"q{i}", "question": f"why {i}?", "recall": i % 4 / 4, "mrr": 1 / (i + 1)}
    for i in range(6)
]
RUN = "".join(f"q{i} Q0 d{j} {j} {9 - j + i / 10:.2f} bm25\n" for i in range(3) for j in range(4))
QRELS = "".join(f"q{i} 0 d{j} {(i + j) % 3}\n" for i in range(3) for j in range(3))
RECORDS = [
    {
        "query_id": f"q{i}",
        "question": f"why {i}?",
        "reference": ["because"],
        "relevant": {"d1": 1, "d2": 2},
        "retrieved": [["d1", 0.9], ["d3", 0.5]],
        "contexts": ["one", "two"],
        "answer": "because",
        "latency_ms": 12.5,
    }
    for i in range(4)
]
GOLD = [
    {"id": f"g{i}", "question": f"why {i}?", "answer": "because", "relevant": ["d1"]}
    for i in range(3)
]
TRACE_GOLD = [{"qid": f"g{i}", "answerable": True, "gold_citations": ["d1"]} for i in range(3)]
TRACES = [{"qid": f"g{i}", "retrieved_ids": ["d1"], "answer_json": {"claim": "x"}} for i in (0, 1)]
GATES = "rules = ['mean(recall) >= 0.5', 'mean(mrr) > 0.1']\nmissing = 'worst'\n"
RUBRIC = 'name = "tone"\nquestion = "Is it polite?"\nscale = [1, 5]\nprompt = "Rate {answer}"\n'


def table_bytes(rows: Rows, kind: str) -> bytes:
    """Rows as a file of a kind."""
    frame, buffer = pd.DataFrame(rows), io.BytesIO()
    if kind in ("csv", "tsv"):
        return frame.to_csv(index=False, sep="," if kind == "csv" else "\t").encode()
    if kind == "json":
        return json.dumps(rows).encode()
    if kind == "jsonl":
        return "\n".join(map(json.dumps, rows)).encode() + b"\n"
    frame.to_parquet(buffer) if kind == "parquet" else frame.to_excel(buffer, index=False)
    return buffer.getvalue()


def smaller(content: bytes) -> bytes | None:
    """A large seed with short lists or its first lines; None if that is not possible."""
    if len(content) <= LARGEST_SEED:
        return content
    try:
        cut = json.dumps(with_short_lists(json.loads(content))).encode()
    except ValueError:
        cut = b"\n".join(content[:LARGEST_SEED].split(b"\n")[:-1])
    return cut if cut and len(cut) <= LARGEST_SEED and content[:2] not in (b"PA", b"PK") else None


def with_short_lists(value: Any) -> Any:
    if isinstance(value, list):
        return [with_short_lists(item) for item in value[:3]]
    if isinstance(value, dict):
        return {key: with_short_lists(item) for key, item in value.items()}
    return value


def reader_seeds() -> dict[str, list[bytes]]:
    """The seeds of each reader of `READERS`, with those of its folder of `tests/golden`."""
    seeds: dict[str, list[bytes]] = defaultdict(list)
    for kind in TABLES:
        seeds[kind].append(table_bytes(ROWS, kind))
    seeds["csv"].append(table_bytes(ROWS, "csv").replace(b",", b";").replace(b"0.", b"0,"))
    seeds["csv"].append('query_id,answer,recall\nq1,"a ""b""\nc",0.5\n002,None,\n'.encode("utf-16"))
    seeds["json"].append(pd.DataFrame(ROWS).to_json(orient="split").encode())
    seeds["rankings"] = [RUN.encode(), QRELS.encode()]
    for path in sorted(GOLDEN.rglob("*")):
        reader = path.relative_to(GOLDEN).parts[0]
        is_input = reader in READERS and path.is_file() and path.name != "expected.json"
        content = smaller(path.read_bytes()) if is_input and path.suffix != ".py" else None
        if content:
            seeds[reader].append(content)
    return dict(seeds)


# What is no table of scores: its seeds, the name of its file, and what is done with it.
OTHERS: dict[str, tuple[list[bytes], str, Callable[[Path], Any]]] = {
    "records": (
        [table_bytes(RECORDS, kind) for kind in ("json", "jsonl", "csv")],
        "records.json",
        lambda path: rr.score(rr.read_records(path), ["recall@2", "exact_match", "mrr"]),
    ),
    "golden set": (
        [table_bytes(GOLD, "jsonl"), table_bytes(GOLD, "json")],
        "set.jsonl",
        lambda path: golden.check_golden(golden.read_golden(path)),
    ),
    "TREC run": (
        [RUN.encode()],
        "a.run",
        lambda path: rr.score_rankings(path, {"q1": {"d1": 1}}, ["mrr"]),
    ),
    "TREC judgments": (
        [QRELS.encode(), b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td3\t1\n"],
        "qrels.txt",
        lambda path: rr.score_rankings({"q1": {"d1": 1.0}}, path, ["ndcg@10", "mrr"]),
    ),
    "gates": (
        [GATES.encode()],
        "gates.toml",
        lambda path: rr.RAGPipelineEvaluation("base", ROWS).gate(*rr.read_gates(path).rules),
    ),
    "rubric": ([RUBRIC.encode()], "rubric.toml", judges.read_rubric),
    "traces": (
        [table_bytes(TRACES, "jsonl")],
        "a.jsonl",
        lambda path: metrics.score_traces(TRACE_GOLD, path),
    ),
}

# -- mutations of bytes

NUMBERS = (
    *"0 -0 1 -1 0.5 5e-324 1e308 1e309 -1e999 NaN Infinity 0x10 1_000 1,5 50% 1E+05 true".split(),
    *("null", "None", "N/A", "-", "١", "½", "+.5", "1.", "inf", "", " "),
    *("9" * 25, "1" + "0" * 400, "-" + "9" * 5000),
)
PIECES = (
    *(b'"', b",", b";", b"\t", b"\n", b"\r", b"\x00", b"{", b"}", b"[", b"]", b"'", b"\\"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"NaN", b"1e999"),
    *(b"/" * 3, b"../", b"a" * 5000, b"[" * 2000, b'{"a":' * 1500, b"\x1f\x8b", b"PK\x03\x04"),
    *(b"PAR1", b"# x\n", b"\xe2\x80\xa8", b"\x85", b"\x1a", b"=1+1", b"&#0;"),
)
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "cp1252", "utf-8-sig")


def mutate_bytes(rng: random.Random, content: bytes) -> bytes:
    """Some bytes flipped, put in, cut, repeated, dropped or encoded, one to three times."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = rng.randint(0, len(content))
        before, after = content[:place], content[place:]
        match rng.randrange(12):
            case 0 | 1:
                content = before + bytes([rng.randrange(256)]) + after[1:]
            case 2 | 3:
                content = before + rng.choice(PIECES) + after[rng.choice((0, 0, 1, 5, 20)) :]
            case 4:
                content = rng.choice((before, after))
            case 5:
                content = before + after[: rng.randint(0, 5000)] + after
            case 6:
                content = before + after[rng.choice((1, 4, 30, 300)) :]
            case 7:
                lines = content.split(b"\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                content = b"\n".join(lines)
            case 8 | 9:
                content = other_number(rng, content)
            case 10:
                text = content.decode("utf-8", "replace")
                content = text.encode(rng.choice(ENCODINGS), "replace")
            case 11:
                content = gzip.compress(content, 1)
    return content[: 4 * LARGEST_SEED]


def other_number(rng: random.Random, content: bytes) -> bytes:
    """One of the numbers in a text replaced."""
    places = [i for i in range(len(content)) if content[i : i + 1].isdigit()]
    if not places:
        return content
    first = last = rng.choice(places)
    while last < len(content) and content[last : last + 1] in b"0123456789.eE-":
        last += 1
    return content[:first] + rng.choice(NUMBERS).encode() + content[last:]


# -- mutations of values, cells and members

VALUES: tuple[Any, ...] = (
    *(None, 0, 1, -1, 1.5, 1e308, 10**25, 10**400, True, False, "", "x", "q1", "nan", "\ud800"),
    *([], {}, [1], [[1]], [{}], [None], {"a": 1}, {"score": [1]}, {"score": {"value": 1}}),
    *("a" * 5000, "../../etc/passwd", "a\0b", "1" * 400, "2024-01-01", "1e400", "50%"),
    *(math.nan, math.inf, -math.inf, [math.nan], ["a", 1], {"": ""}, {"1": 2}),
)
CELLS: tuple[Any, ...] = (
    *(None, 0, 1, 0.5, -0.25, 1e308, 10**25, True, False, "", " ", "x", "NaN", "N/A", "None", "-"),
    *("0.5", " 0.5 ", "1,5", "50%", "1e5", "١", "a,b", 'a"b', "a\nb", "é", "𝄞", "=1+1", "1.000,5"),
    *(math.nan, math.inf, "q1", "mean", "#N/A", "2024-01-01", "(Failed)", "true", "007", "'5"),
    *("a" * 3000, "[1]", '{"score": 1}', "\u2028", "\xa0", "\ufeff"),
)
HEADERS = ("", " ", "recall", "query_id", "id", "Unnamed: 0", "score", "x" * 300, "é", "a,b")


def mutate_json(rng: random.Random, content: bytes) -> bytes | None:
    """A document, or one of those of its lines, with values replaced or left out."""
    is_lines = not content.lstrip().startswith(b"[")
    try:
        document = json.loads(content)
        is_lines = False
    except (ValueError, RecursionError):
        try:
            document = [json.loads(line) for line in content.splitlines() if line.strip()]
        except (ValueError, RecursionError):
            return None
    for _ in range(rng.choice((1, 1, 2, 4))):
        places = list(places_in(document))
        *parent, key = path if (path := rng.choice(places)) else (None,)
        if path and rng.random() < 0.2:
            holder = document
            for step in parent:
                holder = holder[step]
            del holder[key]
        else:
            document = with_part(document, path, copy.deepcopy(rng.choice(VALUES)))
    if is_lines and isinstance(document, list):
        return "\n".join(map(dumps, document)).encode()
    return dumps(document).encode()


def dumps(value: Any) -> str:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a test of integers that are too long needs to write one
    try:
        return json.dumps(value)
    finally:
        sys.set_int_max_str_digits(limit)


def mutate_archive(rng: random.Random, content: bytes) -> bytes | None:
    """A zip archive with a member changed, left out, renamed or added, packed again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # a seed that is no archive
        return None
    place = rng.randrange(len(members))
    name, data = members[place]
    other_name = rng.choice(("../x", "/x", name.upper(), "a" * 300, "é"))
    changed = (
        [(name, mutate_bytes(rng, data))],
        [],
        [(other_name, data)],
        [(name, b"0" * (1 << 20))],
    )
    members[place : place + 1] = rng.choices(changed, (7, 1, 1, 1))[0]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, body in members:
            archive.writestr(member, body)
    return buffer.getvalue()


def random_rows(rng: random.Random) -> Rows:
    """A small table, in which a few cells, rows and columns are changed."""
    makes: list[Callable[[], Any]] = [
        lambda: rng.randint(0, 1),
        lambda: rng.random(),
        lambda: rng.choice((0.0, 0.25, 0.5, 1.0)),
        lambda: rng.choice((0.5, None)),
    ]
    names = rng.sample(("recall", "mrr", "exact_match", "my_metric", "faithfulness"), 3)
    columns = {name: rng.choice(makes) for name in names}
    style = rng.choice(("q{}", "{:03}", "é{}", "1{:03}"))
    rows: Rows = [
        {"query_id": style.format(i), "question": f"why {i}?"}
        | {name: make() for name, make in columns.items()}
        for i in range(rng.choice((2, 5, 9)))
    ]
    for _ in range(rng.choice((0, 1, 1, 2, 3, 6))):
        action, row = rng.random(), rng.choice(rows)
        name = rng.choice(list(row))
        if action < 0.7:
            row[name] = rng.choice(CELLS)
        elif action < 0.8:
            rows.insert(rng.randrange(len(rows)), dict(row))
        elif action < 0.9:
            header = rng.choice(HEADERS)
            rows = [{(header if key == name else key): row[key] for key in row} for row in rows]
        else:
            rows = [{key: row[key] for key in row if key != name} or {"x": 1} for row in rows]
    return rows


def write_delimited(rng: random.Random, rows: Rows, delimiter: str) -> bytes:
    buffer = io.StringIO()
    quoting, ends = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)), rng.choice(("\n", "\r\n"))
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator=ends)
    writer.writerow(list(rows[0]))
    writer.writerows([["" if (c := row.get(n)) is None else c for n in rows[0]] for row in rows])
    encoding = rng.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16"))
    return buffer.getvalue().encode(encoding, "surrogatepass")


def arrow_column(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if len(kinds) <= 1:
            return pa.array(cells)
        if kinds == {int, float}:
            return pa.array([None if cell is None else float(cell) for cell in cells])
    except (pa.ArrowException, OverflowError):
        pass
    return pa.array([None if cell is None else str(cell) for cell in cells])


def write_parquet(rng: random.Random, rows: Rows) -> bytes:
    table = pa.table({name: arrow_column([row.get(name) for row in rows]) for name in rows[0]})
    if rng.random() < 0.3:
        kept = rng.choice((b"{}", b"x", b'{"index_columns": ["nope"], "columns": []}'))
        table = table.replace_schema_metadata({b"pandas": kept, b"\xff": b"\xfe"})
    buffer = io.BytesIO()
    codec = rng.choice(("snappy", "gzip", "zstd", "none"))
    pq.write_table(table, buffer, compression=codec, row_group_size=rng.choice((2, 100)))
    return buffer.getvalue()


def excel_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > 2**53:
        return float(cell)
    is_text = isinstance(cell, str)
    return openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("", cell) if is_text else cell


def write_excel(rng: random.Random, rows: Rows) -> bytes:
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    book.active.append([excel_cell(name) for name in rows[0]])
    for row in rows:
        book.active.append([excel_cell(row.get(name)) for name in rows[0]])
    book.save(buffer)
    return buffer.getvalue()


# -- witnesses: plain readings of the same bytes


def rows_of_cells(header: list[Any], lines: list[list[Any]]) -> Rows:
    if len(set(header)) != len(header) or any(len(line) != len(header) for line in lines):
        raise ValueError("names appear twice, or rows differ in length")
    return [dict(zip(header, line, strict=True)) for line in lines]


def decoded(content: bytes) -> str:
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if is_wide else "utf-8-sig")


def witness_delimited(delimiter: str) -> Callable[[bytes], Rows]:
    def read(content: bytes) -> Rows:
        text = io.StringIO(decoded(content), newline="")
        lines = list(csv.reader(text, delimiter=delimiter, strict=True))
        lines = [line for line in lines if any(cell.strip() for cell in line)]
        return rows_of_cells([name.strip() for name in lines[0]], lines[1:])

    return read


def witness_json(content: bytes) -> Rows:
    document = json.loads(decoded(content))
    if isinstance(document, dict):
        lines = [list(line) for line in zip(*document.values(), strict=True)]
        return rows_of_cells(list(document), lines)
    return filled(document)


def witness_jsonl(content: bytes) -> Rows:
    return filled([json.loads(line) for line in decoded(content).split("\n") if line.strip()])


def filled(rows: Rows) -> Rows:
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def witness_parquet(content: bytes) -> Rows:
    return pq.read_table(io.BytesIO(content)).to_pylist()


def witness_excel(content: bytes) -> Rows:
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    lines = [list(line) for line in book.worksheets[0].iter_rows(values_only=True)]
    lines = [line for line in lines if any(cell is not None for cell in line)]
    places = [i for i in range(len(lines[0])) if any(line[i] is not None for line in lines)]
    header = [f"Unnamed: {i}" if lines[0][i] is None else str(lines[0][i]).strip() for i in places]
    return rows_of_cells(header, [[line[i] for i in places] for line in lines[1:]])


# How a table is written from rows, and what reads it beside us.
TABLES: dict[str, tuple[Callable[[random.Random, Rows], bytes], Callable[[bytes], Rows]]] = {
    "csv": (lambda rng, rows: write_delimited(rng, rows, ","), witness_delimited(",")),
    "tsv": (lambda rng, rows: write_delimited(rng, rows, "\t"), witness_delimited("\t")),
    "json": (lambda rng, rows: dumps(rows).encode(), witness_json),
    "jsonl": (lambda rng, rows: "\n".join(map(dumps, rows)).encode(), witness_jsonl),
    "parquet": (write_parquet, witness_parquet),
    "excel": (write_excel, witness_excel),
}
BLANK = {"", "na", "n/a", "nan", "none", "null", "-", "--", "#n/a", "<na>", "n.a.", "missing", "?"}
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "pass": 1.0, "fail": 0.0}


def number_of(cell: Any) -> float:
    """The number in a cell; NaN if there is none."""
    if isinstance(cell, bool | int | float | np.number):
        return float(cell)
    if isinstance(cell, dict):  # a score with its reason
        return number_of(cell.get("score"))
    if isinstance(cell, list) and len(cell) == 1:
        return number_of(cell[0])
    if not isinstance(cell, str):
        return math.nan
    text = cell.replace("\ufeff", "").strip()
    if text.casefold() in BLANK or text.casefold() in TRUTH:
        return TRUTH.get(text.casefold(), math.nan)
    try:
        if text.startswith(("{", "[")):
            return number_of(json.loads(text))
        return float(text[:-1]) / 100 if text.endswith("%") else float(text.replace("_", "x"))
    except ValueError:
        return math.nan


def is_same_id(own: str, cell: Any) -> bool:
    """Whether an id is the text of a cell; 5.0 is 5, because a gap makes integers floats."""
    if isinstance(cell, float) and cell.is_integer() and own == str(int(cell)):
        return True
    return own in (str(cell), str(cell).strip())


def plain_name(name: Any) -> str:
    """A name as that of a metric is written; a name of blanks only is none."""
    return normalise_name(str(name).strip()) if str(name).strip() else ""


def difference(evaluations: dict[str, Any], rows: Rows) -> str | None:
    """What differs between a reading without notes and that of a witness; None if nothing does."""
    if len(evaluations) != 1:
        return f"{len(evaluations)} pipelines"
    [ours] = evaluations.values()
    if ours.n_queries != len(rows):
        return f"{ours.n_queries} rows, not {len(rows)}"
    names = {plain_name(n) for n in rows[0] if any(row[n] is not None for row in rows)}
    lost = names - {plain_name(n) for n in (*ours.scores, *ours.details)} - {"query_id", ""}
    # The column of ids has one of a few names, and becomes the index.
    if len(lost) > ("query_id" not in rows[0]):
        return f"columns are lost: {sorted(lost)[:5]}"
    for own, row in zip(ours.scores.index, rows, strict=True):
        if "query_id" in row and not is_same_id(own, row["query_id"]):
            return f"the id {own!r} is {row['query_id']!r}"
    for name in set(ours.scores) & set(rows[0]):
        for own, row in zip(ours.scores[name], rows, strict=True):
            number = number_of(row[name])
            is_none = math.isnan(own) and math.isnan(number)
            if not is_none and not math.isclose(own, number, rel_tol=1e-12):
                return f"{name}: {own!r} is {row[name]!r}"
    return None


# -- the run


class TooSlowError(Exception):
    """A reading took too long."""


def stop(*_: object) -> None:
    raise TooSlowError(f"more than {SLOWEST} seconds")


def run_input(
    group: str,
    content: bytes,
    call: Callable[[], Any],
    found: Found,
    witness: Callable[[bytes], Rows] | None = None,
) -> None:
    """Read an input, and compare the reading with that of its witness."""
    signal.setitimer(signal.ITIMER_PROF, SLOWEST)  # of the processor: others may be busy
    try:
        result = call()
    except RagevalError:
        found.counts[f"{group}: refused"] += 1
        return
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # whatever it is, it is a fault
        frames = traceback.extract_tb(exc.__traceback__)
        place = next((f for f in reversed(frames) if "rageval_report" in f.filename), frames[-1])
        where = f"{Path(place.filename).name}:{place.lineno}"
        found.fault(f"{group}: {type(exc).__name__} at {where}: {exc!s:.200}", content)
        return
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    found.counts[f"{group}: read"] += 1
    if witness is None or any(one.notes for one in result.values()):
        return
    try:
        rows = witness(content)
    except Exception:  # the witness reads less than we do: nothing to compare
        return
    found.counts[f"{group}: compared"] += 1
    told = difference(result, rows) if rows else "no rows"
    if told is not None:
        found.fault(f"{group}: {told}", content)


def one_input(rng: random.Random, seeds: dict[str, list[bytes]], path: Path) -> tuple[Any, ...]:
    """The group, the content and the reading of an input, and its witness if it has one."""
    choice = rng.random()
    if choice < 0.3:
        group = rng.choice(list(TABLES))
        write, witness = TABLES[group]
        content = write(rng, random_rows(rng))
        return group, content, lambda: rr.read_scores(content), witness
    if choice < 0.8:
        group, reader, call = rng.choice(list(seeds)), None, None
        seed = rng.choice(seeds[group])
        reader = rng.choice((None, None, group, rng.choice(list(seeds))))
        witness = TABLES[group][1] if group in TABLES and reader in (None, group) else None
    else:
        group, reader, witness = rng.choice(list(OTHERS)), None, None
        choices, name, call = OTHERS[group]
        seed, path = rng.choice(choices), path / name
    content = None
    if rng.random() < 0.5:
        content = mutate_json(rng, seed) or mutate_archive(rng, seed)
    content = mutate_bytes(rng, seed) if content is None else content
    if call is None:
        return group, content, lambda: rr.read_scores(content, reader=reader), witness
    path.write_bytes(content)
    return group, content, lambda: call(path), None


def attack(n: int, seed: int) -> Found:
    """Read so many inputs."""
    rng, found, seeds = random.Random(seed), Found(), reader_seeds()
    before = signal.signal(signal.SIGPROF, stop)
    csv.field_size_limit(1 << 24)
    try:
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", RagevalWarning)
            for _ in range(n):
                group, content, call, witness = one_input(rng, seeds, Path(folder))
                run_input(group, content, call, found, witness)
    finally:
        signal.signal(signal.SIGPROF, before)
    return found


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    sys.exit(main(__doc__, attack, 20_000))
