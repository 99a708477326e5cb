"""Files that hold no scores, but that people pass for scores: data sets, gold sets, summaries.

`KINDS` is the table of them: how each is recognised, what it is, and what to type. It is used only
for the message of a refusal; a new kind is one line in the table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import DATA_SETS, KNOWN_NAMES
from rageval_report.readers.table_files import TableSource, header_of
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUESTION, REFERENCE

_QUESTIONS = frozenset(QUESTION)
_NAMES = {role: frozenset(names) for role, names in KNOWN_NAMES["other_files"].items()}
# What a pipeline returned: a file that has one of these holds records with answers.
_OF_A_RUN = _NAMES["of_a_run"]
_GOLD = _NAMES["gold"] | frozenset(REFERENCE)


@dataclass(frozen=True)
class FileOutline:
    """What is known of a file without scores."""

    source: Source
    names: frozenset[str]
    document: dict[str, Any]

    @classmethod
    def of(cls, source: Source) -> FileOutline:
        """The outline of a file."""
        is_json = not isinstance(source, TableSource) and source.starts_like_json
        document = source.document_or_none() if is_json else None
        names = frozenset(normalise_name(name).lstrip("_") for name in header_of(source))
        return cls(source, names, document if isinstance(document, dict) else {})

    @property
    def path(self) -> str:
        """The file in a call in Python."""
        return "path" if self.source.path is None else repr(str(self.source.path))

    def word(self, prefix: str = "") -> str:
        """The file as a word of a command line, after a prefix such as "squad_v2="."""
        path = "FILE" if self.source.path is None else str(self.source.path)
        return shlex.quote(prefix + path)

    @property
    def has_judgments_beside(self) -> bool:
        """Whether a folder ``qrels`` stands in the folder of the file, as in BEIR's sets."""
        return self.source.folder is not None and (self.source.folder / "qrels").is_dir()


@dataclass(frozen=True)
class KindOfFile:
    """A kind of file without scores: what it is, how it is recognised, and what to type."""

    what: str
    fits: Callable[[FileOutline], bool]
    advice: Callable[[FileOutline], str]


def refusal_of(source: Source) -> str | None:
    """What a file without scores is, and what to type; None if it is of no known kind."""
    outline = FileOutline.of(source)
    kind = next((kind for kind in KINDS if kind.fits(outline)), None)
    return kind and f"this is {kind.what}, without scores. {kind.advice(outline)}"


# -- what to type


def _ask(option: str, word: str) -> str:
    return (
        f"To get scores, ask a pipeline: rageval-report eval {option} {word} --url URL -o FOLDER; "
        "then pass FOLDER/scores.json"
    )


def _questions(
    call: str, option: str = "--datasets", prefix: str = ""
) -> Callable[[FileOutline], str]:
    """The advice for a file of questions: the call that loads them, and the command that asks."""
    return lambda file: (
        f"Its questions are records: {call.format(file.path)}. {_ask(option, file.word(prefix))}"
    )


def _load(name: str) -> Callable[[FileOutline], str]:
    """The advice for a data set of the table of data sets."""
    return _questions(f'load_dataset("{name}", {{}})', prefix=f"{name}=")


def _say(advice: str) -> Callable[[FileOutline], str]:
    return lambda _: advice


_read_records = _questions("read_records({})", "--records")


def _load_beir_corpus(file: FileOutline) -> str:
    folder = str(file.source.folder)
    return (
        f'Its documents: load_corpus("beir", {folder!r}). Its questions are records: '
        f'load_dataset("beir", {folder!r}). {_ask("--datasets", shlex.quote("beir=" + folder))}'
    )


def _pass_samples(file: FileOutline) -> str:
    """The samples in the same folder, those of the same time if there are any."""
    folder = file.source.folder
    samples = [] if folder is None else sorted(folder.glob("samples_*.jsonl"))
    time = file.source.stem.rpartition("_")[2]
    same_run = [path for path in samples if path.stem.endswith(f"_{time}")]
    for path in same_run or samples:
        return f"Pass the samples of the same run, one row per question: {path}"
    return (
        "Run lm_eval with --log_samples --output_path FOLDER, and pass the file "
        "samples_TASK_TIME.jsonl that it writes for each task"
    )


def _join_answers(file: FileOutline) -> str:
    return (
        'Join them with the questions: score(load_dataset("squad_v2", "dev-v2.0.json").assign('
        f"answer=pandas.Series(json.loads(pathlib.Path({file.path}).read_text()))), "
        '["exact_match", "token_f1"]). Or write one JSON object per line with query_id, question, '
        "reference and answer, and score it: score(read_records(path), metrics)"
    )


_SEARCH_DOCUMENTS = _say(
    "Pass the ranking of a pipeline that searched these documents, with its judgments: "
    'read_scores("bm25.run", qrels="qrels.txt", metrics=["ndcg@10"]), or on the command line '
    "RUN --qrels QRELS --metric ndcg@10"
)
_WRITE_TURNS = _say(
    "Write one JSON object per line with query_id, question (the last turn of the user), "
    "reference, contexts and answer, and score it: score(read_records(path), metrics)"
)
_GIVE_QUERIES = _say(
    'Pass the scores of each query: evaluation.save("scores.csv") writes them, on the command '
    "line score with --queries scores.csv; eval writes FOLDER/scores.json"
)
_GIVE_ROWS = _say("Pass the file that the means were computed from, with one row per query")


# -- how they are recognised


def _has(*names: str) -> Callable[[FileOutline], bool]:
    """Whether a table has all of some columns."""
    return lambda file: file.names.issuperset(names)


def _data_set(
    name: str,
    what: str,
    columns: str,
    one_of: str = "",
    none_of_a_run: bool = False,
) -> KindOfFile:
    """A data set of the table of data sets, by the columns that it has."""

    def fits(file: FileOutline) -> bool:
        return (
            file.names.issuperset(columns.split())
            and (not one_of or not file.names.isdisjoint(one_of.split()))
            and (not none_of_a_run or file.names.isdisjoint(_OF_A_RUN))
        )

    return KindOfFile(f"a data set, {what}", fits, _load(name))


def _is_qasper(file: FileOutline) -> bool:
    papers = list(file.document.values())
    are_papers = bool(papers) and all(
        isinstance(paper, dict) and "qas" in paper for paper in papers
    )
    return are_papers or {"full_text", "qas"} <= file.names


def _are_results_of_lm_eval(file: FileOutline) -> bool:
    results = file.document.get("results")
    return isinstance(results, dict) and not file.document.keys().isdisjoint(
        ("configs", "versions", "n-shot", "n-samples")
    )


def _are_answers_by_id(file: FileOutline) -> bool:
    # Names of settings seldom have digits; ids of questions do.
    items = file.document.items()
    return len(items) > 1 and all(
        isinstance(text, str) and any(map(str.isdigit, key)) for key, text in items
    )


def _are_means(file: FileOutline) -> bool:
    parts = list(file.document.values())
    return bool(parts) and all(isinstance(part, dict) and "mean" in part for part in parts)


def _are_documents(file: FileOutline) -> bool:
    has_parts = all(not _NAMES[part].isdisjoint(file.names) for part in ("doc_ids", "doc_texts"))
    return has_parts and (_QUESTIONS | _OF_A_RUN | _GOLD).isdisjoint(file.names)


def _is_beir_text(file: FileOutline) -> bool:
    return _are_documents(file) and {"id", "text"} <= file.names and file.has_judgments_beside


def _is_beir_corpus(file: FileOutline) -> bool:
    is_named_so = file.source.stem.lower().startswith("corpus")
    return _is_beir_text(file) and (is_named_so or "title" in file.names)


def _has_only_gold(file: FileOutline) -> bool:
    has_both = not (_QUESTIONS.isdisjoint(file.names) or _GOLD.isdisjoint(file.names))
    return has_both and (_OF_A_RUN | {"answer", "output"}).isdisjoint(file.names)


def _is_golden(file: FileOutline) -> bool:
    # The other gold sets are tables; a golden set is JSON, one object per question.
    is_json = not isinstance(file.source, TableSource) and file.source.starts_like_json
    return is_json and not file.names.isdisjoint(_NAMES["golden"]) and _has_only_gold(file)


def _has_only_questions(file: FileOutline) -> bool:
    # Another column may hold scores in words, for which the usual message names the option.
    return (
        not _QUESTIONS.isdisjoint(file.names)
        and file.names <= _QUESTIONS | _NAMES["beside_questions"]
    )


# The first kind that fits counts, so that the sets with names of their own come before others.
KINDS: tuple[KindOfFile, ...] = (
    KindOfFile(
        "a file of results of lm-evaluation-harness, with one mean per task",
        _are_results_of_lm_eval,
        _pass_samples,
    ),
    KindOfFile(
        "a summary that rageval_report wrote, with one row per metric",
        _has("metric", "n", "mean", "n_unscored"),
        _GIVE_QUERIES,
    ),
    KindOfFile("a data set, papers of Qasper", _is_qasper, _load("qasper")),
    *(_data_set(**data_set) for data_set in DATA_SETS),
    KindOfFile(
        "a file of conversations of MT-RAG, whose input is a list of turns",
        _has("conversation_id", "task_id", "input"),
        _WRITE_TURNS,
    ),
    KindOfFile("the corpus of a data set of BEIR", _is_beir_corpus, _load_beir_corpus),
    KindOfFile("a data set, queries of BEIR", _is_beir_text, _load("beir")),
    KindOfFile("a corpus, documents with their texts", _are_documents, _SEARCH_DOCUMENTS),
    KindOfFile("a golden set", _is_golden, _questions('load_dataset("golden", {})')),
    KindOfFile("a gold set, questions with what is right", _has_only_gold, _read_records),
    KindOfFile("a list of questions", _has_only_questions, _read_records),
    KindOfFile(
        "a file of answers by the ids of their questions, as in SQuAD's predictions",
        _are_answers_by_id,
        _join_answers,
    ),
    KindOfFile(
        "an object of objects with a mean each, which may be queries, pipelines or statistics",
        _are_means,
        _GIVE_ROWS,
    ),
)
