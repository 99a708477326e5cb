"""Files that hold no scores, but that people pass for scores: data sets, gold sets, summaries.

`KINDS` is the table of them: how each is recognised, what it is, and what to type. It is used only
for the message of a refusal; a new kind is one entry in names.toml.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import KNOWN_NAMES, OTHER_KINDS
from rageval_report.readers.table_files import TableSource, header_of
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUESTION, REFERENCE

_QUESTIONS = frozenset(QUESTION)
_NAMES = {role: frozenset(names) for role, names in KNOWN_NAMES["other_files"].items()}
# What a pipeline returned: a file that has one of these holds records with answers.
_OF_A_RUN = _NAMES["of_a_run"]
_GOLD = _NAMES["gold"] | frozenset(REFERENCE)
_LOAD = 'Its questions are records: load_dataset("{name}", {path}). {ask}'


@dataclass(frozen=True)
class _Outline:
    """What is known of a file without scores."""

    source: Source
    is_json: bool
    names: frozenset[str]
    document: dict[str, Any]

    def has(self, *parts: frozenset[str]) -> bool:
        """Whether the table has one column of each of some sets."""
        return not any(self.names.isdisjoint(part) for part in parts)


@dataclass(frozen=True)
class KindOfFile:
    """A kind of file without scores."""

    what: str
    columns: str = ""
    one_of: str = ""
    fits: str = ""
    name: str = ""  # of the data set
    advice: str = _LOAD

    def is_kind_of(self, file: _Outline) -> bool:
        """Whether a file is of this kind."""
        return (
            file.names.issuperset(self.columns.split())
            and (not self.one_of or file.has(frozenset(self.one_of.split())))
            and (not self.fits or _FITS[self.fits](file))
        )

    def advice_on(self, source: Source) -> str:
        """What to type for a file of this kind."""
        place, folder = str(source.path or "FILE"), str(source.folder)
        prefix = "" if self.name == "golden" else f"{self.name}="
        option = f"--datasets {prefix}" if self.name else "--records "
        ask = (
            "To get scores, ask a pipeline: rageval-report eval {} {} --url URL -o FOLDER; then "
            "pass FOLDER/scores.json"
        )
        option, _, prefix = option.partition(" ")
        return self.advice.format(
            name=self.name,
            path="path" if source.path is None else repr(place),
            folder=repr(folder),
            ask=ask.format(option, shlex.quote(prefix + place)),
            ask_folder=ask.format(option, shlex.quote(prefix + folder)),
            samples=_samples_beside(source),
        )


def refusal_of(source: Source) -> str | None:
    """What a file without scores is, and what to type; None if it is of no known kind."""
    is_json = not isinstance(source, TableSource) and source.starts_like_json
    document = source.document_or_none() if is_json else None
    names = frozenset(normalise_name(name).lstrip("_") for name in header_of(source))
    file = _Outline(source, is_json, names, document if isinstance(document, dict) else {})
    kind = next((kind for kind in KINDS if kind.is_kind_of(file)), None)
    if kind is None:
        return None
    return f"this is {kind.what}, without scores. {kind.advice_on(source)}"


def _samples_beside(source: Source) -> str:
    """The samples of lm_eval in the same folder, those of the same time if there are any."""
    samples = sorted(source.folder.glob("samples_*.jsonl")) if source.folder else []
    time = source.stem.rpartition("_")[2]
    same_run = [path for path in samples if path.stem.endswith(f"_{time}")]
    for path in same_run or samples:
        return f"Pass the samples of the same run, one row per question: {path}"
    return (
        "Run lm_eval with --log_samples --output_path FOLDER, and pass the file "
        "samples_TASK_TIME.jsonl that it writes for each task"
    )


def _is_qasper(file: _Outline) -> bool:
    papers = list(file.document.values())
    are_papers = bool(papers) and all(isinstance(part, dict) and "qas" in part for part in papers)
    return are_papers or file.names.issuperset(("full_text", "qas"))


def _are_results_of_lm_eval(file: _Outline) -> bool:
    settings = ("configs", "versions", "n-shot", "n-samples")
    has_settings = not file.document.keys().isdisjoint(settings)
    return has_settings and isinstance(file.document.get("results"), dict)


def _are_answers_by_id(file: _Outline) -> bool:
    # Names of settings seldom have digits; ids of questions do.
    items = file.document.items()
    return len(items) > 1 and all(
        isinstance(text, str) and any(map(str.isdigit, key)) for key, text in items
    )


def _are_means(file: _Outline) -> bool:
    parts = list(file.document.values())
    return bool(parts) and all(isinstance(part, dict) and "mean" in part for part in parts)


def _are_documents(file: _Outline) -> bool:
    has_parts = file.has(_NAMES["doc_ids"], _NAMES["doc_texts"])
    return has_parts and not file.has(_QUESTIONS | _OF_A_RUN | _GOLD)


def _is_beir_text(file: _Outline) -> bool:
    # Judgments are in the folder beside it.
    folder = file.source.folder
    is_beside = folder is not None and (folder / "qrels").is_dir()
    return is_beside and _are_documents(file) and file.names.issuperset(("id", "text"))


def _is_beir_corpus(file: _Outline) -> bool:
    is_named_so = file.source.stem.lower().startswith("corpus")
    return _is_beir_text(file) and (is_named_so or "title" in file.names)


def _has_only_gold(file: _Outline) -> bool:
    return file.has(_QUESTIONS, _GOLD) and not file.has(_OF_A_RUN | {"answer", "output"})


def _has_only_questions(file: _Outline) -> bool:
    # Another column may hold scores in words, for which the usual message names the option.
    return file.has(_QUESTIONS) and file.names <= _QUESTIONS | _NAMES["beside_questions"]


_FITS: dict[str, Callable[[_Outline], bool]] = {
    "results of lm_eval": _are_results_of_lm_eval,
    "qasper": _is_qasper,
    "not of a run": lambda file: not file.has(_OF_A_RUN),
    "corpus of beir": _is_beir_corpus,
    "texts of beir": _is_beir_text,
    "documents": _are_documents,
    # The other gold sets are tables; a golden set is JSON, one object per question.
    "golden": lambda file: file.is_json and file.has(_NAMES["golden"]) and _has_only_gold(file),
    "only gold": _has_only_gold,
    "only questions": _has_only_questions,
    "answers by id": _are_answers_by_id,
    "means": _are_means,
}
KINDS = tuple(KindOfFile(**kind) for kind in OTHER_KINDS)
