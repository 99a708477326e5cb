"""Mutated inputs for all readers: each is read or refused, and tables are read as others read them.

Usage::

    python tests/faults/fuzz_readers.py --inputs 20000 --seed 1 --keep /tmp/foreign

Every input is a seed (a file of `tests/golden` or one that is written here) after a few mutations
of its bytes, its JSON values, its cells or its encoding. An input may be read, or refused with a
`RagevalError`. Any other exception, a warning of another library, and a reading that takes longer
than 20 seconds is *foreign*; such an input is kept in a folder, and the exit code is 1.

A table that is read without a note is compared cell by cell with a plain reading of the same bytes:
by the csv module, the json module, pyarrow's lists, or openpyxl. What is not equal is *different*,
is kept too, and also makes the exit code 1.
"""

from __future__ import annotations

import argparse
import copy
import csv
import datetime
import decimal
import gzip
import hashlib
import io
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from damage import places_in

import rageval_report as rr
from rageval_report import golden, judges, metrics
from rageval_report.errors import RagevalError, RagevalWarning
from rageval_report.readers import READERS
from rageval_report.scores.metric import normalise_name

GOLDEN = Path(__file__).parent.parent / "golden"
LARGEST_SEED = 60_000
SLOWEST = 20
MOST_MEMORY = 6 << 30

# -- seeds

ROWS = [
    {"query_id": f"q{i}", "question": f"why {i}?", "recall": i % 4 / 4, "mrr": 1 / (i + 1)}
    for i in range(6)
]
RUN = "".join(f"q{i} Q0 d{j} {j} {9 - j + i / 10:.2f} bm25\n" for i in range(3) for j in range(4))
QRELS = "".join(f"q{i} 0 d{j} {(i + j) % 3}\n" for i in range(3) for j in range(3))
TREC_EVAL = "".join(
    f"{metric:22}\tq{i}\t{0.25 * i:.4f}\n" for i in range(3) for metric in ("map", "ndcg_cut_10")
)
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
        "answerable": True,
    }
    for i in range(4)
]
PROMPTFOO = {
    "results": {
        "prompts": [{"provider": "gpt"}],
        "results": [
            {
                "provider": {"id": "gpt"},
                "prompt": {"raw": "why", "label": "{{question}}"},
                "vars": {"question": f"why {i}"},
                "response": {"output": "so", "tokenUsage": {"total": 5}},
                "success": True,
                "score": 1,
                "namedScores": {"f1": 0.5},
                "gradingResult": {"componentResults": [{"named_scores": {"mrr": 1}}]},
            }
            for i in range(3)
        ],
    }
}
RAGET = {
    "models": [{"model_id": "gpt"}],
    "metrics": [{"name": "tone", "type": "categorical", "values": [{"value": "1"}]}],
    "documents": [{"document_id": "d", "text": "one"}],
    "tasks": [{"task_id": "t", "input": [{"text": "why"}], "contexts": [{"document_id": "d"}]}],
    "evaluations": [
        {"task_id": "t", "model_id": "gpt", "annotations": {"tone": {"a": {"value": "1"}}}}
    ],
}
PYTREC_EVAL = {f"q{i}": {"map": i / 4, "ndcg_cut_10": i / 5} for i in range(4)}
GOLD = [
    {
        "id": f"g{i}",
        "question": f"why {i}?",
        "answer": "because",
        "relevant": ["d1"],
        "answerable": True,
    }
    for i in range(3)
]
GATES = "rules = ['mean(recall) >= 0.5', 'mean(mrr) > 0.1']\nmissing = 'worst'\n"
RUBRIC = 'name = "tone"\nquestion = "Is it polite?"\nscale = [1, 5]\nprompt = "Rate {answer}"\n'
TRACE_GOLD = [{"qid": f"g{i}", "answerable": True, "gold_citations": ["d1"]} for i in range(3)]
TRACES = [
    {"qid": f"g{i}", "retrieved_ids": ["d1"], "answer_json": {"claim": "x"}} for i in range(3)
]


def table_bytes(rows: list[dict[str, Any]], kind: str) -> bytes:
    """Rows as a file of a kind."""
    frame = pd.DataFrame(rows)
    if kind in ("csv", "tsv"):
        return frame.to_csv(index=False, sep="," if kind == "csv" else "\t").encode()
    if kind == "json":
        return json.dumps(rows).encode()
    if kind == "jsonl":
        return "\n".join(map(json.dumps, rows)).encode() + b"\n"
    buffer = io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(buffer)
    else:
        frame.to_excel(buffer, index=False)
    return buffer.getvalue()


def run_file_bytes() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        evaluation = rr.RAGPipelineEvaluation("new", ROWS, config={"top_k": 5})
        return Path(evaluation.save(f"{folder}/run.json", created="2026-01-01")).read_bytes()


def long_rows() -> list[dict[str, Any]]:
    return [
        {"query_id": f"q{i}", "pipeline": name, "metric": metric, "value": i / 4, "reason": "so"}
        for i in range(3)
        for name in ("a", "b")
        for metric in ("mrr", "recall")
    ]


def written_seeds() -> dict[str, list[bytes]]:
    seeds = {
        kind: [table_bytes(ROWS, kind)]
        for kind in ("csv", "tsv", "json", "jsonl", "parquet", "excel")
    }
    seeds["csv"].append(table_bytes(ROWS, "csv").replace(b",", b";").replace(b"0.", b"0,"))
    seeds["csv"].append('query_id,answer,recall\nq1,"a ""b""\nc",0.5\n002,None,\n'.encode("utf-16"))
    for orient in ("split", "columns", "index"):
        seeds["json"].append(pd.DataFrame(ROWS).to_json(orient=orient).encode())
    seeds["run_file"] = [run_file_bytes()]
    seeds["long"] = [table_bytes(long_rows(), kind) for kind in ("csv", "json", "parquet", "excel")]
    seeds["promptfoo"] = [json.dumps(PROMPTFOO).encode()]
    seeds["inspector_raget"] = [json.dumps(RAGET).encode()]
    seeds["pytrec_eval"] = [json.dumps(PYTREC_EVAL).encode()]
    seeds["rankings"] = [RUN.encode(), QRELS.encode()]
    seeds["trec_eval"] = [TREC_EVAL.encode()]
    return seeds


def smaller(content: bytes) -> bytes | None:
    """A large seed cut at the ends of records; None if that is not possible."""
    if len(content) <= LARGEST_SEED:
        return content
    try:
        document = json.loads(content)
    except (ValueError, UnicodeDecodeError):
        lines = content[:LARGEST_SEED].split(b"\n")[:-1]
        return b"\n".join(lines) if lines and content[:2] not in (b"PA", b"PK") else None
    cut = json.dumps(with_short_lists(document, 3)).encode()
    return cut if len(cut) <= LARGEST_SEED else None


def with_short_lists(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [with_short_lists(item, most) for item in value[:most]]
    if isinstance(value, dict):
        return {key: with_short_lists(item, most) for key, item in value.items()}
    return value


def reader_seeds() -> dict[str, list[bytes]]:
    """The seeds of each reader of `READERS`, with those of its folder of `tests/golden`."""
    seeds: dict[str, list[bytes]] = defaultdict(list, written_seeds())
    for folder in sorted(GOLDEN.iterdir()):
        if folder.name not in READERS:
            continue
        for path in sorted(folder.rglob("*")):
            is_input = path.is_file() and path.suffix != ".py" and path.name != "expected.json"
            content = smaller(path.read_bytes()) if is_input else None
            if content:
                seeds[folder.name].append(content)
    return {name: seeds[name] for name in READERS if seeds[name]}


# -- mutations of bytes

NUMBERS = (
    *("0", "-0", "1", "-1", "0.5", "5e-324", "1e308", "1e309", "-1e999", "NaN", "Infinity", "nan"),
    *("9" * 25, "1" + "0" * 400, "-" + "9" * 5000, "0x10", "1_000", "1,5", "50%", "1e5", "1E+05"),
    *("true", "null", "None", "", " ", "N/A", "-", "١", "½", "+.5", "1.", ".5", "00.5", "inf"),
)
PIECES = (
    *(b'"', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\x00", b"{", b"}", b"[", b"]", b"'", b"\\"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\\ud800", b"\\u0000", b"NaN", b"1e999"),
    *(b"/" * 3, b"../", b"a" * 5000, b"[" * 2000, b'{"a":' * 1500, b"\x1f\x8b", b"PK\x03\x04"),
    *(b"PAR1", b"#", b"# x\n", b"\xe2\x80\xa8", b"\x85", b"\x1a", b"=1+1", b"@", b"&#0;"),
)


def flip(random_: random.Random, content: bytes) -> bytes:
    data = bytearray(content)
    for _ in range(random_.choice((1, 1, 2, 8))):
        if data:
            data[random_.randrange(len(data))] = random_.randrange(256)
    return bytes(data)


def insert(random_: random.Random, content: bytes) -> bytes:
    place = random_.randint(0, len(content))
    end = place + random_.choice((0, 0, 1, 5, 20))
    return content[:place] + random_.choice(PIECES) + content[end:]


def cut(random_: random.Random, content: bytes) -> bytes:
    place = random_.randint(0, len(content))
    return content[:place] if random_.random() < 0.7 else content[place:]


def repeat(random_: random.Random, content: bytes) -> bytes:
    first, last = sorted(random_.randint(0, len(content)) for _ in range(2))
    place = random_.randint(0, len(content))
    return content[:place] + content[first : min(last, first + 5000)] + content[place:]


def drop(random_: random.Random, content: bytes) -> bytes:
    first = random_.randint(0, len(content))
    return content[:first] + content[first + random_.choice((1, 4, 30, 300)) :]


def swap_lines(random_: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    first, second = (random_.randrange(len(lines)) for _ in range(2))
    if random_.random() < 0.5:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines.insert(first, lines[second])
    return b"\n".join(lines)


def other_number(random_: random.Random, content: bytes) -> bytes:
    """One of the numbers in a text replaced."""
    places = [i for i in range(len(content)) if content[i : i + 1].isdigit()]
    if not places:
        return insert(random_, content)
    first = last = random_.choice(places)
    while last < len(content) and content[last : last + 1] in b"0123456789.eE-":
        last += 1
    return content[:first] + random_.choice(NUMBERS).encode() + content[last:]


def other_encoding(random_: random.Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    encoding = random_.choice(("utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1", "utf-8-sig"))
    encoded = text.encode(encoding, "replace")
    return encoded[: random_.randint(0, len(encoded))] if random_.random() < 0.2 else encoded


def zipped(random_: random.Random, content: bytes) -> bytes:
    packed = gzip.compress(content, 1)
    return flip(random_, packed) if random_.random() < 0.5 else packed


BYTE_MUTATIONS = (flip, insert, insert, cut, repeat, drop, swap_lines, other_number, other_number)


def mutate_bytes(random_: random.Random, content: bytes, others: list[bytes]) -> bytes:
    for _ in range(random_.choice((1, 1, 1, 2, 3))):
        choice = random_.random()
        if choice < 0.03:
            content = other_encoding(random_, content)
        elif choice < 0.05:
            content = zipped(random_, content)
        elif choice < 0.1:
            other = random_.choice(others)
            content = (
                content[: random_.randint(0, len(content))]
                + other[random_.randint(0, len(other)) :]
            )
        else:
            content = random_.choice(BYTE_MUTATIONS)(random_, content)
    return content[: 4 * LARGEST_SEED]


# -- mutations of JSON values

VALUES: tuple[Any, ...] = (
    *(None, 0, 1, -1, 1.5, 1e308, 10**25, 10**400, -(10**5000), True, False, "", "x", "q1", "nan"),
    *(
        [],
        {},
        [1],
        [[1]],
        [{}],
        [None],
        {"a": 1},
        {"score": [1]},
        {"score": {"value": 1}},
        "\ud800",
    ),
    *("a" * 5000, "../../etc/passwd", "a\0b", "/" * 300, "1" * 400, "2024-01-01", "1e400", "50%"),
    *(float("nan"), float("inf"), float("-inf"), [float("nan")], ["a", 1], {"": ""}, {"1": 2}),
)
KEYS = ("", "query_id", "id", "score", "metric", "value", "name", "results", "metrics", "data", "x")


def mutate_value(random_: random.Random, document: Any) -> Any:
    """A document with a value replaced, a key renamed, or a part left out."""
    places = list(places_in(document))
    path = random_.choice(places)
    if not path:
        return copy.deepcopy(random_.choice(VALUES))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    last, action = path[-1], random_.random()
    if action < 0.6:
        parent[last] = copy.deepcopy(random_.choice(VALUES))
    elif action < 0.75:
        del parent[last]
    elif action < 0.85 and isinstance(parent, dict):
        parent[random_.choice(KEYS)] = parent.pop(last)
    elif action < 0.95:
        source = random_.choice(places)
        value = document
        for key in source:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return document
        parent[last] = copy.deepcopy(value)
    else:
        nested: Any = parent[last]
        for _ in range(random_.choice((5, 200))):
            nested = [nested]
        parent[last] = nested
    return document


def dumps(value: Any) -> str:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a test of integers that are too long needs to write one
    try:
        return json.dumps(value)
    finally:
        sys.set_int_max_str_digits(limit)


def parse_document(content: bytes) -> Any:
    """The JSON document, or the list of those of its lines; None if it is neither."""
    try:
        return json.loads(content)
    except (ValueError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    except (ValueError, UnicodeDecodeError, RecursionError):
        return None


def mutate_json(random_: random.Random, content: bytes) -> bytes | None:
    document = parse_document(content)
    if document is None:
        return None
    in_lines = isinstance(document, list) and not content.lstrip().startswith(b"[")
    for _ in range(random_.choice((1, 1, 2, 4))):
        document = mutate_value(random_, document)
    if in_lines and isinstance(document, list):
        return "\n".join(map(dumps, document)).encode()
    return dumps(document).encode()


# -- mutations of cells

CELLS: tuple[Any, ...] = (
    *(None, 0, 1, 0.5, -0.25, 1e308, 10**25, True, False, "", " ", "x", "NaN", "N/A", "None", "-"),
    *("0.5", " 0.5 ", "1,5", "50%", "1e5", "١", "a,b", 'a"b', "a\nb", "é", "𝄞", "=1+1", "1.000,5"),
    *(float("nan"), float("inf"), "q1", "mean", "#N/A", "2024-01-01", "(Failed)", "true", "007"),
    *("a" * 3000, "'5", "[1]", '{"score": 1}', "\u2028", "\xa0", "\ufeff", "0", "1"),
)
HEADERS = (
    "",
    " ",
    "recall",
    "query_id",
    "id",
    "Unnamed: 0",
    "score",
    "mean",
    "x" * 300,
    "é",
    "a,b",
)


def random_rows(random_: random.Random) -> list[dict[str, Any]]:
    """A small table of clean cells."""
    numbers: list[Callable[[], Any]] = [
        lambda: random_.randint(0, 1),
        lambda: random_.random(),
        lambda: round(random_.random(), 2),
        lambda: random_.choice((0.0, 0.25, 0.5, 1.0)),
        lambda: random_.choice((0.5, None)),
    ]
    names = random_.sample(("recall", "mrr", "exact_match", "my_metric", "faithfulness"), 3)
    columns = {name: random_.choice(numbers) for name in names}
    ids = random_.choice(
        (lambda i: f"q{i}", lambda i: f"{i:03}", lambda i: f"é{i}", lambda i: str(1000 + i))
    )
    return [
        {"query_id": ids(i), "question": f"why {i}?"}
        | {name: make() for name, make in columns.items()}
        for i in range(random_.choice((2, 5, 9)))
    ]


def mutate_cells(random_: random.Random, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for _ in range(random_.choice((0, 1, 1, 2, 3, 6))):
        action, row = random_.random(), random_.choice(rows)
        name = random_.choice(list(row))
        if action < 0.7:
            row[name] = random_.choice(CELLS)
        elif action < 0.8:
            rows.insert(random_.randrange(len(rows)), dict(row))
        elif action < 0.9:
            header = random_.choice(HEADERS)
            rows = [{(header if key == name else key): row[key] for key in row} for row in rows]
        else:
            rows = [{key: row[key] for key in row if key != name} or {"x": 1} for row in rows]
    return rows


def text_cell(cell: Any) -> str:
    return "" if cell is None else str(cell)


def write_delimited(random_: random.Random, rows: list[dict[str, Any]], delimiter: str) -> bytes:
    buffer = io.StringIO()
    quoting = random_.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    ends = random_.choice(("\n", "\r\n"))
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator=ends)
    writer.writerow(list(rows[0]))
    writer.writerows([[text_cell(row.get(name)) for name in rows[0]] for row in rows])
    encoding = random_.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16"))
    return buffer.getvalue().encode(encoding, "surrogatepass")


def write_json(random_: random.Random, rows: list[dict[str, Any]]) -> bytes:
    if random_.random() < 0.5:
        return dumps(rows).encode()
    return dumps({name: [row.get(name) for row in rows] for name in rows[0]}).encode()


def can_write(kind: pa.DataType) -> bool:
    """Whether the installed pyarrow writes a type: old versions write no string views."""
    try:
        pq.write_table(pa.table({"x": pa.array([None], kind)}), io.BytesIO())
    except pa.ArrowNotImplementedError:
        return False
    return True


KNOWN_TYPES = (
    *(pa.float32(), pa.float16(), pa.int64(), pa.uint8(), pa.string(), pa.large_string()),
    *(pa.bool_(), pa.decimal128(20, 4), pa.binary(), pa.timestamp("ns"), pa.date32()),
    *(pa.duration("s"), pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.float64())),
    *(pa.struct([("score", pa.float64())]), pa.null(), pa.time64("us"), pa.string_view()),
)
ARROW_TYPES = tuple(filter(can_write, KNOWN_TYPES))


def broken_texts(n: int) -> pa.Array:
    """Texts whose bytes are not UTF-8, as a damaged writer leaves them."""
    texts = pa.array([b"\xff\xfea", b"\xc3"] * n, pa.binary())[:n]
    return pa.Array.from_buffers(pa.string(), n, texts.buffers())


def arrow_column(random_: random.Random, cells: list[Any]) -> pa.Array:
    choice = random_.random()
    if choice < 0.08:
        return broken_texts(len(cells))
    if choice < 0.4:
        kind = random_.choice(ARROW_TYPES)
        value = {
            "decimal128(20, 4)": decimal.Decimal("0.5"),
            "list<item: double>": [0.5],
            "struct<score: double>": {"score": 0.5},
            "timestamp[ns]": datetime.datetime(2026, 1, 1),
            "date32[day]": datetime.date(2026, 1, 1),
            "duration[s]": datetime.timedelta(seconds=1),
            "time64[us]": datetime.time(1),
            "bool": True,
            "binary": b"\xff",
            "null": None,
        }
        fallback: Any = value.get(str(kind), 1 if "int" in str(kind) else 0.5)
        if "string" in str(kind):
            fallback = random_.choice(("0.5", "x", "1"))
        return pa.array([random_.choice((fallback, fallback, None)) for _ in cells], kind)
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if cell is None else str(cell) for cell in cells])


def write_parquet(random_: random.Random, rows: list[dict[str, Any]], wild: bool) -> bytes:
    columns = {}
    for name in rows[0]:
        cells = [row.get(name) for row in rows]
        is_wild = wild and random_.random() < 0.3
        columns[name] = arrow_column(random_, cells) if is_wild else plain_arrow_column(cells)
    table = pa.table(columns)
    if random_.random() < 0.3:
        pandas = random_.choice((b"{}", b"x", b'{"index_columns": ["nope"], "columns": []}'))
        table = table.replace_schema_metadata({b"pandas": pandas, b"\xff": b"\xfe"})
    buffer = io.BytesIO()
    codec = random_.choice(("snappy", "gzip", "zstd", "none"))
    pq.write_table(table, buffer, compression=codec, row_group_size=random_.choice((2, 100)))
    return buffer.getvalue()


def plain_arrow_column(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    try:
        if len(kinds) <= 1 or kinds <= {int, float}:
            return pa.array(
                [float(c) if kinds == {int, float} and c is not None else c for c in cells]
            )
    except (pa.ArrowException, OverflowError):
        pass
    return pa.array([None if cell is None else str(cell) for cell in cells])


EXCEL_CELLS = (datetime.datetime(2026, 1, 1), datetime.time(1), "=A1", "#DIV/0!", 1e300, "x" * 200)


def write_excel(random_: random.Random, rows: list[dict[str, Any]], wild: bool) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([excel_cell(name) for name in rows[0]])
    for row in rows:
        sheet.append([excel_cell(row.get(name)) for name in rows[0]])
    if wild:
        for _ in range(random_.choice((0, 1, 3))):
            place = random_.randint(1, 6), random_.randint(1, 6)
            sheet.cell(*place).value = random_.choice(EXCEL_CELLS)
        if random_.random() < 0.2:
            book.create_sheet(random_.choice(("other", "é" * 20)), random_.choice((0, 1)))
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def excel_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > 2**53:
        return float(cell)
    if isinstance(cell, str):
        return openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.sub("", cell)[:32_000]
    return cell


def mutate_archive(random_: random.Random, content: bytes) -> bytes | None:
    """A zip archive with a member changed, left out, renamed or added, packed again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # a seed that is no archive
        return None
    place = random_.randrange(len(members))
    name, data = members[place]
    action = random_.random()
    if action < 0.7:
        members[place] = (name, mutate_bytes(random_, data, [data]))
    elif action < 0.8:
        del members[place]
    elif action < 0.9:
        members[place] = (random_.choice(("../x", "/x", name.upper(), "a" * 300, "é")), data)
    else:
        members.append((random_.choice(("x", name)), b"0" * random_.choice((10, 1 << 20))))
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = random_.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for member, body in members:
                archive.writestr(member, body)
    return buffer.getvalue()


# -- inputs


class Input:
    """One input: what is called, with which bytes, and how a witness may read them."""

    def __init__(
        self,
        group: str,
        call: Callable[[], Any],
        content: bytes = b"",
        witness: Callable[[bytes], list[dict[str, Any]]] | None = None,
    ):
        self.group = group
        self.call = call
        self.content = content
        self.witness = witness


TABLES = ("csv", "tsv", "json", "jsonl", "parquet", "excel")


def table_input(random_: random.Random, kind: str) -> Input:
    """A table whose cells are changed before it is written."""
    wild = random_.random() < 0.4
    rows = mutate_cells(random_, random_rows(random_))
    if kind in ("csv", "tsv"):
        delimiter = "\t" if kind == "tsv" else random_.choice((",", ",", ";", "|"))
        content = write_delimited(random_, rows, delimiter)
        witness = {",": read_commas, ";": read_semicolons, "|": read_bars, "\t": read_tabs}[
            delimiter
        ]
    elif kind == "json":
        content, witness = write_json(random_, rows), witness_json
    elif kind == "jsonl":
        content, witness = "\n".join(map(dumps, rows)).encode(), witness_jsonl
    elif kind == "parquet":
        content, witness = write_parquet(random_, rows, wild), witness_parquet
    else:
        content, witness = write_excel(random_, rows, wild), witness_excel
    return Input(kind, lambda: rr.read_scores(content), content, witness)


def mutated_input(random_: random.Random, name: str, seeds: dict[str, list[bytes]]) -> Input:
    """A seed with its bytes, its values or its members changed."""
    seed = random_.choice(seeds[name])
    content = None
    if random_.random() < 0.5:
        content = mutate_json(random_, seed) or mutate_archive(random_, seed)
    if content is None:
        content = mutate_bytes(random_, seed, seeds[random_.choice(list(seeds))])
    reader = random_.choice((None, None, name, random_.choice(list(seeds))))
    witness = WITNESSES.get(name) if reader in (None, name) else None
    return Input(name, lambda: rr.read_scores(content, reader=reader), content, witness)


def _saved_review(page: str) -> bytes:
    return page.partition('id="data">')[2].partition("</script>")[0].encode()


OTHER_FILES: dict[str, tuple[list[bytes], str, Callable[[Any], Any]]] = {
    "records": (
        [
            *(table_bytes(RECORDS, kind) for kind in ("json", "jsonl", "csv")),
            table_bytes([row | {"relevant": ["d1"]} for row in ROWS], "parquet"),
        ],
        "run.json",
        rr.read_records,
    ),
    "score of records": (
        [table_bytes(RECORDS, "json"), table_bytes(RECORDS, "jsonl")],
        "run.json",
        lambda path: rr.score(rr.read_records(path), ["recall@2", "exact_match", "bleu", "mrr"]),
    ),
    "golden set": (
        [table_bytes(GOLD, "jsonl"), table_bytes(GOLD, "json")],
        "set.jsonl",
        lambda path: golden.check_golden(golden.read_golden(path)),
    ),
    "TREC run": (
        [RUN.encode()],
        "a.run",
        lambda path: rr.score_rankings(path, path_of(QRELS), ["mrr"]),
    ),
    "TREC judgments": (
        [QRELS.encode(), b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td3\t1\n"],
        "qrels.txt",
        lambda path: rr.score_rankings(path_of(RUN), path, ["ndcg@10", "mrr"]),
    ),
    "gates": (
        [GATES.encode()],
        "gates.toml",
        lambda path: rr.RAGPipelineEvaluation("base", ROWS).gate(*rr.read_gates(path).rules),
    ),
    "rubric": ([RUBRIC.encode()], "rubric.toml", judges.read_rubric),
    "review": (
        [_saved_review(golden.review_page(golden.read_golden(table_bytes(GOLD, "jsonl"))))],
        "review.json",
        golden.read_review,
    ),
    "traces": (
        [table_bytes(TRACES, "jsonl")],
        "a.jsonl",
        lambda path: metrics.score_traces(TRACE_GOLD, path),
    ),
    "history": ([run_file_bytes()], "run.json", lambda path: rr.history(str(Path(path).parent))),
}
_WRITTEN: dict[str, Path] = {}
_FOLDER = Path(
    tempfile.mkdtemp(prefix="fuzz_", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
)


def path_of(text: str) -> str:
    """The path of a file with this text."""
    if text not in _WRITTEN:
        _WRITTEN[text] = _FOLDER / f"fixed{len(_WRITTEN)}.txt"
        _WRITTEN[text].write_text(text)
    return str(_WRITTEN[text])


def other_input(random_: random.Random, name: str) -> Input:
    seeds, file_name, call = OTHER_FILES[name]
    seed = random_.choice(seeds)
    content = mutate_json(random_, seed) if random_.random() < 0.5 else None
    if content is None:
        content = mutate_bytes(random_, seed, seeds)
    path = _FOLDER / "inputs" / file_name
    path.parent.mkdir(exist_ok=True)

    def run() -> Any:
        path.write_bytes(content)
        return call(path)

    return Input(name, run, content)


def folder_input(random_: random.Random, name: str) -> Input:
    """A folder of `tests/golden`, one of whose files is changed, and one of them is read."""
    folder = _FOLDER / name
    if not folder.is_dir():
        shutil.copytree(GOLDEN / name, folder)
    paths = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)
    changed, path = random_.choice(paths), random_.choice(paths)
    before = (GOLDEN / name / changed.relative_to(folder)).read_bytes()
    content = mutate_bytes(random_, before, [before])
    if random_.random() < 0.3 and changed.suffix == ".csv":
        # A cell that names another file.
        content = before.replace(b"0.parquet", random_.choice(PIECES).replace(b"\n", b""))

    def run() -> Any:
        changed.write_bytes(content)
        try:
            return rr.read_scores(path)
        finally:
            changed.write_bytes(before)

    return Input(f"{name} folder", run, content)


FOLDERS = ("autorag", "lm_eval", "ragbench")
SUFFIXES = (".csv", ".parquet", ".json", ".jsonl")


# -- witnesses: plain readings of the same bytes


def decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return content.decode("utf-32")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    return content.decode("utf-8-sig")


def rows_of_cells(header: list[Any], cells: list[list[Any]]) -> list[dict[str, Any]]:
    if len(set(header)) != len(header):
        raise ValueError("names appear twice")
    if any(len(row) != len(header) for row in cells):
        raise ValueError("rows differ in length")
    return [dict(zip(header, row, strict=True)) for row in cells]


def delimited_witness(delimiter: str) -> Callable[[bytes], list[dict[str, Any]]]:
    def read(content: bytes) -> list[dict[str, Any]]:
        text = decoded(content)
        csv.field_size_limit(1 << 24)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        lines = [line for line in reader if any(cell.strip() for cell in line)]
        return rows_of_cells([name.strip() for name in lines[0]], lines[1:])

    return read


read_commas, read_tabs = delimited_witness(","), delimited_witness("\t")
read_semicolons, read_bars = delimited_witness(";"), delimited_witness("|")


def witness_json(content: bytes) -> list[dict[str, Any]]:
    document = json.loads(decoded(content))
    if isinstance(document, dict):
        if not all(isinstance(cells, list) for cells in document.values()):
            raise ValueError("neither records nor columns")
        return rows_of_cells(
            list(document), [list(row) for row in zip(*document.values(), strict=True)]
        )
    if not all(isinstance(row, dict) for row in document):
        raise ValueError("not records")
    return filled(document)


def witness_jsonl(content: bytes) -> list[dict[str, Any]]:
    return filled([json.loads(line) for line in decoded(content).split("\n") if line.strip()])


def filled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def witness_parquet(content: bytes) -> list[dict[str, Any]]:
    return pq.read_table(io.BytesIO(content)).to_pylist()


def witness_excel(content: bytes) -> list[dict[str, Any]]:
    book = openpyxl.load_workbook(io.BytesIO(content), data_only=True)
    lines = [list(line) for line in book.worksheets[0].iter_rows(values_only=True)]
    lines = [line for line in lines if any(cell is not None for cell in line)]
    places = [i for i in range(len(lines[0])) if any(line[i] is not None for line in lines)]
    header = [f"Unnamed: {i}" if lines[0][i] is None else str(lines[0][i]).strip() for i in places]
    return rows_of_cells(header, [[line[i] for i in places] for line in lines[1:]])


WITNESSES = {
    "csv": read_commas,
    "tsv": read_tabs,
    "json": witness_json,
    "jsonl": witness_jsonl,
    "parquet": witness_parquet,
    "excel": witness_excel,
}
BLANK = {"", "na", "n/a", "nan", "none", "null", "-", "--", "#n/a", "<na>", "n.a.", "missing", "?"}
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "pass": 1.0, "fail": 0.0}


def number_of(cell: Any) -> float | None:
    """The number in a cell, NaN if it is blank, None if it is anything else."""
    if cell is None:
        return math.nan
    if isinstance(cell, bool | np.bool_):
        return float(cell)
    if isinstance(cell, int | float | decimal.Decimal | np.number):
        return float(cell)
    if isinstance(cell, dict):  # a score with its reason
        return number_of(cell.get("score"))
    if isinstance(cell, list):
        return number_of(cell[0]) if len(cell) == 1 else None
    if not isinstance(cell, str):
        return None
    text = cell.replace("\ufeff", "").strip()
    if text.casefold() in BLANK:
        return math.nan
    if text.casefold() in TRUTH:
        return TRUTH[text.casefold()]
    try:
        if text.startswith(("{", "[")):
            return number_of(json.loads(text))
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def is_same_id(own: str, cell: Any) -> bool:
    """Whether an id is the text of a cell; 5.0 is 5, because a gap makes integers floats."""
    if isinstance(cell, float) and cell.is_integer() and own == str(int(cell)):
        return True
    return own in (str(cell), str(cell).strip())


def plain_name(name: Any) -> str:
    """A name as that of a metric is written; a name of blanks only is none."""
    return normalise_name(str(name).strip()) if str(name).strip() else ""


def difference(evaluations: dict[str, Any], rows: list[dict[str, Any]]) -> str | None:
    """What differs between a reading without notes and that of a witness; None if nothing does."""
    if len(evaluations) != 1:
        return f"{len(evaluations)} pipelines"
    [ours] = evaluations.values()
    if ours.n_queries != len(rows):
        return f"{ours.n_queries} rows, not {len(rows)}"
    names = list(rows[0])
    filled_names = {plain_name(n) for n in names if any(row[n] is not None for row in rows)}
    lost = filled_names - {plain_name(n) for n in (*ours.scores, *ours.details)}
    lost -= {"query_id", ""}
    # The column of ids has one of a few names, and becomes the index.
    if len(lost) > 1 or ("query_id" in names and lost):
        return f"columns are lost: {sorted(lost)[:5]}"
    if "query_id" in names:
        for own, row in zip(ours.scores.index, rows, strict=True):
            if not is_same_id(own, row["query_id"]):
                return f"the id {own!r} is {row['query_id']!r}"
    for name in ours.scores:
        for own, row in zip(ours.scores[name], rows, strict=True):
            if name not in row:
                continue
            number = number_of(row[name])
            is_same = math.isnan(own) if number is None or math.isnan(number) else own == number
            if not is_same and not (
                number is not None and math.isclose(own, number, rel_tol=1e-12)
            ):
                return f"{name}: {own!r} is {row[name]!r}"
    return None


# -- the run


class Outcomes:
    """How many inputs were read, refused, foreign and different, by group."""

    NAMES = ("inputs", "read", "refused", "foreign", "compared", "different")

    def __init__(self, folder: Path | None):
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.kinds: Counter[str] = Counter()
        self._folder = folder

    def add(self, case: Input, outcome: str) -> None:
        self.counts[case.group][outcome] += 1

    def keep(self, case: Input, kind: str, text: str) -> None:
        """Write an input that must not be into a folder, the first three of each kind."""
        self.kinds[kind] += 1
        if self._folder is None or self.kinds[kind] > 3:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(case.content).hexdigest()[:12]
        (self._folder / f"{name}.bin").write_bytes(case.content)
        (self._folder / f"{name}.txt").write_text(
            f"{case.group}\n{kind}\n{text}", errors="backslashreplace"
        )

    @property
    def is_clean(self) -> bool:
        return not any(counts["foreign"] or counts["different"] for counts in self.counts.values())

    def table(self) -> str:
        lines = [f"{'reader':20}" + "".join(f"{name:>11}" for name in self.NAMES)]
        total: Counter[str] = Counter()
        for group in sorted(self.counts):
            total.update(self.counts[group])
            lines.append(self._line(group, self.counts[group]))
        return "\n".join([*lines, self._line("all", total)])

    def _line(self, group: str, counts: Counter[str]) -> str:
        return f"{group:20}" + "".join(f"{counts[name]:>11,}" for name in self.NAMES)


class TooSlowError(Exception):
    """A reading took too long."""


def stop(*_: object) -> None:
    raise TooSlowError(f"more than {SLOWEST} seconds")


def run_input(case: Input, outcomes: Outcomes) -> None:
    outcomes.add(case, "inputs")
    signal.setitimer(signal.ITIMER_PROF, SLOWEST)  # of the processor: others may be busy
    try:
        result = case.call()
    except RagevalError:
        outcomes.add(case, "refused")
        return
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # whatever it is, it is counted
        outcomes.add(case, "foreign")
        frames = traceback.extract_tb(exc.__traceback__)
        place = next((f for f in reversed(frames) if "rageval_report" in f.filename), frames[-1])
        where = f"{Path(place.filename).name}:{place.lineno}"
        text = "".join(traceback.format_exception(exc))
        outcomes.keep(case, f"{type(exc).__name__} at {where} ({case.group})", text)
        return
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    outcomes.add(case, "read")
    if case.witness is not None:
        compare_with_witness(case, result, outcomes)


def compare_with_witness(case: Input, result: Any, outcomes: Outcomes) -> None:
    if any(one.notes for one in result.values()):
        return
    try:
        rows = case.witness(case.content) if case.witness else []
    except Exception:  # the witness reads less than we do: nothing to compare
        outcomes.add(case, "unwitnessed")
        return
    outcomes.add(case, "compared")
    found = difference(result, rows) if rows else "no rows"
    if found is not None:
        outcomes.add(case, "different")
        outcomes.keep(case, f"difference in {case.group}: {found[:60]}", found)


def inputs(seed: int) -> Any:
    """Inputs without end, the same for the same seed."""
    random_ = random.Random(seed)
    seeds = reader_seeds()
    names, others = list(seeds), list(OTHER_FILES)
    while True:
        choice = random_.random()
        if choice < 0.3:
            yield table_input(random_, random_.choice(TABLES))
        elif choice < 0.8:
            yield mutated_input(random_, random_.choice(names), seeds)
        elif choice < 0.95:
            yield other_input(random_, random_.choice(others))
        else:
            yield folder_input(random_, random_.choice(FOLDERS))


def fuzz(n_inputs: int, seed: int, keep: Path | None = None, seconds: float = math.inf) -> Outcomes:
    """Run inputs until there are enough, or the time is over."""
    outcomes = Outcomes(keep)
    end = time.monotonic() + seconds
    before = signal.signal(signal.SIGPROF, stop)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", RagevalWarning)
            for _, case in zip(range(n_inputs), inputs(seed), strict=False):
                if time.monotonic() > end:
                    break
                run_input(case, outcomes)
    finally:
        signal.signal(signal.SIGPROF, before)
        shutil.rmtree(_FOLDER / "inputs", ignore_errors=True)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for inputs that are foreign or different")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    outcomes = fuzz(arguments.inputs, arguments.seed, arguments.keep, arguments.seconds)
    sys.stdout.write(f"{outcomes.table()}\n")
    for kind, count in outcomes.kinds.most_common():
        sys.stdout.write(f"{count:6}  {kind}\n")
    shutil.rmtree(_FOLDER, ignore_errors=True)
    return 0 if outcomes.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
