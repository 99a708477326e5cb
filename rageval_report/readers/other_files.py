"""Files that hold no scores, but that people pass for scores: data sets, gold sets, summaries.

`KINDS` is the table of them: how each is recognised, what it is, and what to type. It is used only
for the message of a refusal; a new kind is one entry in names.toml.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

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
class KindOfFile:
    """A kind of file without scores."""

    what: str
    columns: str = ""
    one_of: str = ""
    fits: str = ""
    name: str = ""  # of the data set
    advice: str = _LOAD

    def advice_on(self, source: Source) -> str:
        """What to type for a file of this kind."""
        place = str(source.path or "FILE")
        prefix = "" if self.name == "golden" else f"{self.name}="
        option, prefix = ("--datasets", prefix) if self.name else ("--records", "")
        ask = (
            f"To get scores, ask a pipeline: rageval-report eval {option} "
            f"{shlex.quote(prefix + place)} --url URL -o FOLDER; then pass FOLDER/scores.json"
        )
        path = "path" if source.path is None else repr(place)
        return self.advice.format(name=self.name, path=path, ask=ask)


def refusal_of(source: Source) -> str | None:
    """What a file without scores is, and what to type; None if it is of no known kind."""
    names = frozenset(normalise_name(name).lstrip("_") for name in header_of(source))

    def has(*parts: frozenset[str]) -> bool:
        return not any(names.isdisjoint(part) for part in parts)

    is_gold = has(_QUESTIONS, _GOLD) and not has(_OF_A_RUN | {"answer", "output"})
    is_json = not isinstance(source, TableSource) and source.starts_like_json
    is_corpus = has(_NAMES["doc_ids"], _NAMES["doc_texts"])
    fits = {
        "": True,
        "not of a run": not has(_OF_A_RUN),
        "beir": is_corpus and source.folder is not None and (source.folder / "qrels").is_dir(),
        "documents": is_corpus and not has(_QUESTIONS | _OF_A_RUN | _GOLD),
        # The other gold sets are tables; a golden set is JSON, one object per question.
        "golden": is_json and has(_NAMES["golden"]) and is_gold,
        "only gold": is_gold,
        # Another column may hold scores in words, for which the usual message names the option.
        "only questions": has(_QUESTIONS) and names <= _QUESTIONS | _NAMES["beside_questions"],
    }
    for kind in KINDS:
        one_of = frozenset(kind.one_of.split())
        if (
            names.issuperset(kind.columns.split())
            and (not one_of or has(one_of))
            and fits[kind.fits]
        ):
            return f"this is {kind.what}, without scores. {kind.advice_on(source)}"
    return None


KINDS = tuple(KindOfFile(**kind) for kind in OTHER_KINDS)
