"""The public question sets: the rows of their files, and the record of a row."""

from __future__ import annotations

import json
import math
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from rageval_report.errors import DataError, RagevalWarning, ReaderError, named
from rageval_report.files.archives import Archive, is_archive
from rageval_report.files.source import Source, json_objects
from rageval_report.files.strict_json import load_json
from rageval_report.records.cells import short_repr
from rageval_report.records.datasets import (
    Dataset,
    DatasetPart,
    DatasetRequest,
    Hub,
    RecordFields,
    RecordOf,
    RowsOf,
    table_parts,
)
from rageval_report.types import JsonObject

T = TypeVar("T")

_ID_BYTES = 6


def require_field(row: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The value of a field that every row must have, of this type."""
    if name not in row:
        raise DataError(f"expected a field {name!r}; got {', '.join(map(str, row)) or 'no field'}")
    value = row[name]
    # True is an int in Python, but not a number in a data set.
    if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
        raise DataError(f"expected {name!r} to be a {kind.__name__}; got {short_repr(value)}")
    return value


def to_list(cell: object) -> list[Any]:
    """The items of a list; a mapping of lists becomes a list of mappings."""
    if cell is None:
        return []
    if isinstance(cell, Mapping):
        try:
            rows = list(zip(*cell.values(), strict=True))
        except (TypeError, ValueError) as exc:
            raise DataError(f"expected lists of equal length; got {short_repr(cell)}") from exc
        return [dict(zip(cell, row, strict=True)) for row in rows]
    if isinstance(cell, list | tuple):
        return list(cell)
    raise DataError(f"expected a list; got {short_repr(cell)}")


def to_mappings(cell: object) -> list[JsonObject]:
    """The items of a list, all of which must be mappings."""
    items = to_list(cell)
    for item in items:
        if not isinstance(item, Mapping):
            raise DataError(f"expected objects; got {short_repr(item)}")
    return items


def distinct_texts(texts: Iterable[object]) -> list[str]:
    """The texts that are not blank, without repetitions, in order."""
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))


def passage_id(source: str, text: str) -> str:
    """An id made of the source of a passage and a digest of its text."""
    # Blanks do not count, because copies of one passage differ in their line breaks.
    plain = " ".join(text.split()).encode("utf-8", "surrogatepass")
    return f"{source}:{blake2b(plain, digest_size=_ID_BYTES).hexdigest()}"


def rows_with(document: object, key: str, expected: str) -> list[JsonObject]:
    """The rows of a file with one object per question; a single object counts as one row."""
    rows = [document] if isinstance(document, dict) else document
    if isinstance(rows, list) and all(key in row for row in to_mappings(rows)):
        return rows
    raise DataError(f"expected {expected}")


def _record(
    query_id: object,
    question: str,
    answers: list[Any],
    gold: Iterable[str],
    passages: Mapping[str, str],
    *,
    answerable: bool | None = None,
    query_type: str | None = None,
    **metadata: Any,
) -> RecordFields:
    """The record of a question, whatever the set; the passages stand behind the metadata."""
    return {
        "query_id": query_id,
        "question": question.strip(),
        "reference": answers or None,
        "answerable": answerable,
        "relevant": dict.fromkeys(gold, 1.0) or None,
        "query_type": "unanswerable" if answerable is False else query_type,
        **metadata,
        "passages": dict(passages) or None,
    }


def _text(row: JsonObject, name: str) -> str:
    return require_field(row, name, str)


def _texts_of(cell: object, name: str = "text") -> list[str]:
    """The distinct texts under a key of the objects of a list."""
    return distinct_texts(item.get(name) for item in to_mappings(cell))


# -- SQuAD 2: questions about paragraphs of Wikipedia


def squad_rows(document: object) -> list[JsonObject]:
    """The rows of the official JSON, or rows as the ``datasets`` library returns them."""
    if isinstance(document, dict) and "data" in document:
        document = [
            {**question, "title": _text(article, "title"), "context": paragraph.get("context")}
            for article in to_mappings(document["data"])
            for paragraph in to_mappings(require_field(article, "paragraphs", list))
            for question in to_mappings(require_field(paragraph, "qas", list))
        ]
    expected = 'the official JSON, an object with "data", or rows of questions'
    return rows_with(document, "question", expected)


def squad_record(row: JsonObject) -> RecordFields:
    """The record of a question."""
    title, context = _text(row, "title"), _text(row, "context")
    answers, passage = _texts_of(row.get("answers")), passage_id(title, context)
    answerable = not row.get("is_impossible", not answers)
    gold = [passage] if answerable else []
    return _record(
        *(_text(row, "id"), _text(row, "question"), answers, gold, {passage: context}),
        answerable=answerable,
        negative_reference=_texts_of(row.get("plausible_answers")) or None,
        domain=title,
    )


# -- HotpotQA: questions whose answer needs two paragraphs of Wikipedia

_HOTPOT_TYPES = {"bridge": "multi_hop", "comparison": "comparison"}


def hotpot_record(row: JsonObject) -> RecordFields:
    """The record of a question; gold are the paragraphs with a supporting sentence."""
    facts = [_pair(fact, "title", "sent_id") for fact in to_list(row.get("supporting_facts"))]
    paragraphs = [_pair(item, "title", "sentences") for item in to_list(row.get("context"))]
    kind, answer = row.get("type"), row.get("answer")
    return _record(
        row.get("_id", row.get("id")),
        _text(row, "question"),
        [answer] if answer else [],
        [str(title) for title, _ in facts],
        {str(title): "".join(map(str, to_list(text))).strip() for title, text in paragraphs},
        answerable=True,
        query_type=None if kind is None else _HOTPOT_TYPES.get(str(kind), str(kind)),
        difficulty=row.get("level"),
        domain="wikipedia",
        supporting_sentences=[[str(title), number] for title, number in facts] or None,
    )


def _pair(item: object, first: str, second: str) -> tuple[Any, Any]:
    """Two values: a list in the official file, an object in the ``datasets`` library."""
    if isinstance(item, dict) and first in item and second in item:
        return item[first], item[second]
    if isinstance(item, list | tuple) and len(item) == 2:
        return item[0], item[1]
    raise DataError(f"expected a pair of {first} and {second}; got {short_repr(item)}")


# -- MS MARCO: queries of a search engine, each with ten passages

# The set's own marker of unanswerable queries, in any case of letters.
_NO_ANSWER = "no answer present."
_MSMARCO_NAMES = ("query_id", "query", "passages", "answers", "query_type", "wellFormedAnswers")


def msmarco_rows(document: object) -> list[JsonObject]:
    """The rows of the official JSON, an object of columns; or rows."""
    if isinstance(document, dict) and isinstance(document.get("query"), dict):
        columns = {n: document[n] for n in _MSMARCO_NAMES if isinstance(document.get(n), dict)}
        document = [
            {name: column[key] for name, column in columns.items() if key in column}
            for key in document["query"]
        ]
    expected = 'the official JSON, an object with "query", or rows of queries'
    return rows_with(document, "query", expected)


def msmarco_record(row: JsonObject) -> RecordFields:
    """The record of a query; gold are the passages that an annotator selected."""
    passages = to_mappings(row.get("passages"))
    texts = [_text(passage, "passage_text") for passage in passages]
    ids = [passage_id("msmarco", text) for text in texts]
    pairs = zip(ids, passages, strict=True)
    columns = (row.get("wellFormedAnswers"), row.get("answers"))
    written = distinct_texts(answer for cell in columns for answer in _msmarco_answers(cell))
    answers = [answer for answer in written if answer.strip().lower() != _NO_ANSWER]
    kind = row.get("query_type")
    return _record(
        row.get("query_id"),
        _text(row, "query"),
        answers,
        [doc for doc, passage in pairs if passage.get("is_selected") == 1],
        dict(zip(ids, texts, strict=True)),
        answerable=bool(answers) if written else None,
        query_type=kind.lower() if isinstance(kind, str) else None,
        domain="web",
    )


def _msmarco_answers(cell: object) -> list[Any]:
    """Answers; the official file writes an empty list as the text "[]"."""
    if isinstance(cell, str):
        try:
            cell = load_json(cell)
        except (ValueError, RecursionError):
            return [cell]
    return to_list(cell)


# -- Qasper: questions about whole papers, each answered by several annotators

# The field that an answer of each kind fills.
_QASPER_KINDS = {
    "extractive_spans": "extractive",
    "free_form_answer": "abstractive",
    "yes_no": "boolean",
}


def qasper_rows(document: object) -> list[JsonObject]:
    """One row per question with its paper's paragraphs, of papers by id or of papers as rows."""
    if isinstance(document, dict) and "qas" not in document:
        papers = document.items()
        document = [{**text, "id": str(name)} for name, text in papers if isinstance(text, dict)]
        document = document or None
    expected = 'papers with "full_text" and "qas", as an object by id or as rows'
    rows: list[JsonObject] = []
    for content in rows_with(document, "qas", expected):
        paper, sections = _text(content, "id"), to_mappings(content.get("full_text"))
        lists = (distinct_texts(to_list(section.get("paragraphs"))) for section in sections)
        passages = {passage_id(paper, text): text for texts in lists for text in texts}
        about = {"paper": paper, "title": content.get("title"), "passages": passages}
        rows += [{**question, **about} for question in to_mappings(content["qas"])]
    return rows


def qasper_record(row: JsonObject) -> RecordFields:
    """The record of a question."""
    annotations = [_annotation(item) for item in to_list(row.get("answers"))]
    answers = [item for item in annotations if not item.get("unanswerable")]
    n_without = len(annotations) - len(answers)
    # Annotators disagree; on a tie there is an answer, because somebody found one.
    answerable = None if not annotations else len(answers) >= n_without
    paper = _text(row, "paper")
    evidence = [text for item in answers for text in distinct_texts(to_list(item.get("evidence")))]
    gold = {passage_id(paper, text): text for text in evidence}
    # The first field that has a value; False ("no") is a value too.
    kinds = [
        kind
        for answer in answers
        for name, kind in _QASPER_KINDS.items()
        if answer.get(name) not in (None, "", [])
    ]
    return _record(
        _text(row, "question_id"),
        _text(row, "question"),
        distinct_texts(map(_qasper_text, answers)) if answerable else [],
        gold if answerable else (),
        {**row["passages"], **gold},  # figures and tables are in no paragraph
        answerable=answerable,
        query_type=kinds[0] if answerable and kinds else None if answerable else "unanswerable",
        domain="nlp papers",
        document=paper,
        title=row.get("title"),
        n_annotators=len(annotations),
        n_unanswerable=n_without,
    )


def _annotation(item: object) -> JsonObject:
    """The answer of an annotator, which the official file wraps in another object."""
    inner = item.get("answer", item) if isinstance(item, dict) else None
    if not isinstance(inner, dict):
        raise DataError(f"expected an answer as an object; got {short_repr(item)}")
    return inner


def _qasper_text(answer: JsonObject) -> str:
    spans = distinct_texts(to_list(answer.get("extractive_spans")))
    if spans:
        return ", ".join(spans)
    if answer.get("yes_no") is not None and not answer.get("free_form_answer"):
        return "Yes" if answer["yes_no"] else "No"
    return str(answer.get("free_form_answer") or "")


# -- RAGBench: twelve sets of questions with documents and the answers of a model


# Scores of a judge for the given response; useful for evaluating judges.
_JUDGE_SCORES = ("adherence_score", "relevance_score", "utilization_score", "completeness_score")


def ragbench_record(row: JsonObject) -> RecordFields:
    """The record of a question; gold are the documents with a relevant sentence."""
    # Rows are named after subset and split, such as covidqa_train.
    subset = str(row.get("dataset_name") or "ragbench").removesuffix("_train")
    subset = subset.removesuffix("_validation").removesuffix("_test")
    texts = [str(text) for text in to_list(row.get("documents"))]
    ids = [passage_id(subset, text) for text in texts]
    # "2c" is the third sentence of document 2.
    keys = map(str, to_list(row.get("all_relevant_sentence_keys")))
    numbers = [key.rstrip("abcdefghijklmnopqrstuvwxyz") for key in keys]
    response = row.get("response")
    supported = row.get("adherence_score", row.get("overall_supported"))
    return _record(
        f"{subset}:{_text(row, 'id')}",
        _text(row, "question"),
        [response] if response and supported else [],
        [ids[int(n)] for n in numbers if n.isdecimal() and int(n) < len(ids)],
        dict(zip(ids, texts, strict=True)),
        domain=subset,
        given_response=response,
        given_by=row.get("generation_model_name"),
        **{name: row.get(name) for name in _JUDGE_SCORES},
    )


# -- CLAP NQ: questions of users, each with one passage and an answer of several sentences


def clapnq_record(row: JsonObject) -> RecordFields:
    """The record of a question; it has no answer and no gold if every answer is blank."""
    pairs = [
        (str(item.get("title", "")), _text(item, "text")) for item in to_mappings(row["passages"])
    ]
    passages = {passage_id(title, text): text for title, text in pairs}
    answers = _texts_of(row.get("output"), "answer")
    # A row without outputs does not say whether there is an answer.
    answerable = None if row.get("output") is None else bool(answers)
    gold = passages if answerable else ()
    return _record(
        *(_text(row, "id"), _text(row, "input"), answers, gold, passages),
        answerable=answerable,
        domain="wikipedia",
    )


# -- BEIR: queries, a corpus and judgments, from a folder, a zip archive, or the network

# The split that papers report comes first.
_SPLITS = ("test", "dev", "validation", "train")
Grades = dict[str, dict[str, float]]


class _Files:
    """The files of a set, in a folder or a zip archive; nothing is unpacked to the disk."""

    def __init__(self, path: Path):
        self.archive: Archive | None = None
        self.queries: str | None = None  # the file that the user named
        if path.is_file() and is_archive(Source(path)):
            self.archive = Archive(Source(path))
        elif path.is_file() and (path.parent / "qrels").is_dir():
            path, self.queries = path.parent, path.name
        elif not path.is_dir():
            raise ReaderError(
                "expected a folder or zip archive of a BEIR set, or a file of queries next to "
                "a folder qrels; got none of these",
                path,
            )
        self.path = path
        files = (file for file in path.rglob("*") if file.is_file())
        names = (
            self.archive.names if self.archive else [f.relative_to(path).as_posix() for f in files]
        )
        # macOS adds files whose names begin so to folders and archives.
        self.names = sorted(name for name in names if not Path(name).name.startswith("._"))
        self.of_qrels = [name for name in self.names if "/qrels/" in f"/{name}"]
        # The folders of sets: those with judgments.
        self.roots = {f"/{name}".rpartition("/qrels/")[0].lstrip("/") for name in self.of_qrels}
        if len(self.roots) > 1:
            sets = named(sorted(root or "the folder itself" for root in self.roots))
            message = f"expected one set; found several: {sets}. Pass the path of one"
            raise ReaderError(message, path)

    def source(self, name: str) -> Source:
        """A file, unpacked if it is gzipped."""
        if self.archive is None:
            return Source(self.path / name)
        member = BytesIO(self.archive.read(name))
        member.name = f"{self.path}/{name}"
        return Source(member)

    def rows(self, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The objects of a file of JSON Lines, each with its id."""
        documents = (document for _, document in json_objects(self.source(name)))
        return _with_ids(documents, f"{self.path}/{name}")

    def find(self, name: str) -> str | None:
        """The path of a file, gzipped or not, preferably next to the judgments."""
        matches = [p for p in self.names if f"/{p}".endswith((f"/{name}", f"/{name}.gz"))]
        in_root = [p for p in matches if not self.roots or p.rpartition("/")[0] in self.roots]
        return next(iter(in_root or (matches if len(matches) == 1 else [])), None)

    def qrels(self, split: str | None) -> Grades:
        """The judgments of a split; of the first one that papers report, if none is named."""
        path_of = {
            Path(path).stem: path for path in self.of_qrels if path.endswith((".tsv", ".txt"))
        }
        wanted = _SPLITS if split is None else (split,)
        path = next((path_of[name] for name in wanted if name in path_of), None)
        if path is None:
            expected = "judgments" if split is None else f"judgments of the split {split!r}"
            names = ", ".join(path_of) or "none"
            message = f"expected {expected} in qrels/<split>.tsv; found {names}"
            raise ReaderError(message, self.path)
        return read_qrels(self.source(path).text, f"{self.path}/{path}")


def _with_ids(
    rows: Iterable[Mapping[str, Any]], name: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows with their ids; each must have a text."""
    for number, row in enumerate(rows, 1):
        try:
            value = row.get("_id", row.get("id"))
            is_id = isinstance(value, str | int) and not isinstance(value, bool)
            if not is_id or not str(value).strip():
                raise DataError(f"expected an '_id' that is a text; got {short_repr(value)}")
            _text(row, "text")
        except DataError as exc:
            raise ReaderError(f"entry {number}: {exc}", name) from exc
        yield str(value), row


def _beir_rows(request: DatasetRequest, part: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of "queries" or "corpus" from the Hugging Face hub."""
    if request.subset is None:
        raise DataError(
            "expected the path of a folder or zip archive, or the name of a subset, e.g. "
            "'beir/nfcorpus'"
        )
    return _with_ids(Hub(f"BeIR/{request.subset}", part).rows(part), f"{request.title}, {part}")


def beir_parts(request: DatasetRequest) -> list[DatasetPart]:
    """The judged queries, each with its judgments."""
    messages, rows = [], None
    if request.path is None:
        name, rows, qrels = request.title, _beir_rows(request, "queries"), Grades()
        # On the Hugging Face hub the judgments are a repository of their own.
        for row in Hub(f"BeIR/{request.subset}-qrels").rows(request.split or "test"):
            grades = qrels.setdefault(str(row["query-id"]), {})
            grades[str(row["corpus-id"])] = float(row["score"])
    else:
        files = _Files(request.path)
        name, queries = str(files.path), files.queries or files.find("queries.jsonl")
        qrels = files.qrels(request.split)
        if queries is None:
            messages = ["there is no queries.jsonl, so the records have no questions"]
        else:
            rows = files.rows(queries)
    texts = {query_id: row["text"] for query_id, row in rows or ()}
    if without_text := [query_id for query_id in qrels if query_id not in texts and texts]:
        messages = [f"{len(without_text)} judged queries have no text: {named(without_text)}"]
    for message in messages:
        warnings.warn(f"{name}: {message}", RagevalWarning, stacklevel=3)

    def record(query_id: str) -> RecordFields:
        question = texts.get(query_id)
        return {"query_id": query_id, "question": question, "relevant": qrels[query_id]}

    return [DatasetPart(name, list(qrels), record)]


def beir_corpus(request: DatasetRequest) -> Iterator[tuple[str, str, str]]:
    """The id, title and text of each document."""
    if request.path is None:
        rows = _beir_rows(request, "corpus")
    else:
        files = _Files(request.path)
        corpus = files.find("corpus.jsonl")
        if corpus is None:
            raise ReaderError("expected a corpus.jsonl; found none", files.path)
        rows = files.rows(corpus)
    for doc_id, row in rows:
        yield doc_id, str(row.get("title") or ""), row["text"]


# The columns of query, document and grade in a line of qrels: BEIR has three columns, TREC four.
_COLUMNS: dict[int, tuple[int, ...]] = {3: (0, 1, 2), 4: (0, 2, 3)}


def read_qrels(text: str, name: str) -> Grades:
    """Judgments by query, the highest grades first, otherwise in the order of the file."""
    qrels: Grades = {}
    for number, line in enumerate(text.splitlines(), 1):
        # Ids may contain blanks where tabs separate the columns.
        parts = line.split("\t") if "\t" in line else line.split()
        # BEIR's files have a header, TREC's have none.
        if not line.strip() or (number == 1 and _grade_of(parts[-1]) is None):
            continue
        cells = [parts[column].strip() for column in _COLUMNS.get(len(parts), ())]
        grade = _grade_of(cells[2]) if cells else None
        if grade is None or not math.isfinite(grade):
            expected = "expected query-id, corpus-id and score, or a line of TREC qrels"
            raise ReaderError(f"{expected}; got {json.dumps(parts)[:80]}", name, number)
        query, document, _ = cells
        if qrels.setdefault(query, {}).setdefault(document, grade) != grade:
            message = f"{document!r} is judged twice for {query!r}, with different grades"
            raise ReaderError(message, name, number)
    if not qrels:
        raise ReaderError("expected judgments; there are none", name)
    return {
        query: dict(sorted(grades.items(), key=lambda pair: -pair[1]))
        for query, grades in qrels.items()
    }


def _grade_of(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# -- the sets


def _table_set(name: str, record: RecordOf, rows: RowsOf | None = None) -> Dataset:
    """A set of one table, or of one per subset, as ``datasets.toml`` describes it."""
    about = dict(_ABOUT[name])
    key, expected = about.pop("key", ""), about.pop("expected", "")
    hub = Hub(**about.pop("hub"))
    split, subsets = about.pop("split", "validation"), tuple(about.get("subsets", ()))
    rows_of = rows or partial(rows_with, key=key, expected=expected)
    parts = table_parts(rows_of, record, hub, split, subsets)
    return Dataset(name, parts=parts, **{**about, "subsets": subsets})


_ABOUT = tomllib.loads(Path(__file__).with_name("datasets.toml").read_text(encoding="utf-8"))
SQUAD_V2 = _table_set("squad_v2", squad_record, squad_rows)
HOTPOTQA = _table_set("hotpotqa", hotpot_record)
MSMARCO = _table_set("msmarco", msmarco_record, msmarco_rows)
QASPER = _table_set("qasper", qasper_record, qasper_rows)
RAGBENCH = _table_set("ragbench", ragbench_record)
CLAPNQ = _table_set("clapnq", clapnq_record)
BEIR = Dataset("beir", parts=beir_parts, corpus=beir_corpus, **_ABOUT["beir"])
