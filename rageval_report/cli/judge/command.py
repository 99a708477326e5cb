"""The command that lets a chat model judge records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import INTERRUPTED, examples
from rageval_report.cli.judge.judging import (
    JUDGES,
    Judging,
    estimate_result,
    judging_options,
    noise_results,
)
from rageval_report.cli.notes import note
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output, check_free
from rageval_report.errors import JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.judges import Judged
    from rageval_report.judges.preferences import Preferences
    from rageval_report.results import Result
    from rageval_report.scoring.records import JudgedEvaluation

_DEFAULT = ("faithfulness", "answer_relevancy")


@dataclass(frozen=True)
class _Asked:
    """What was asked on the command line."""

    records: str
    against: str | None
    name: str | None
    generator: str | None
    query_id: str
    dry_run: bool
    judging: Judging

    def table(self, path: str) -> pd.DataFrame:
        """Records of a file."""
        read_records = load("rageval_report:read_records")
        table: pd.DataFrame = read_records(
            path, query_id=self.query_id, unretrieved_citations="keep"
        )
        return table


@click.command(
    epilog=examples(
        "rageval-report judge records.jsonl --judge faithfulness --model llama3.1 --dry-run",
        "rageval-report judge records.jsonl --rubric tone.yaml --base-url http://localhost:8000/v1 "
        "--model qwen3 --price 0.15:0.6 --dry-run",
    )
)
@click.argument("records", metavar="RECORDS")
@click.option(
    "--against",
    metavar="FILE",
    help="Records of a baseline: say whose answers are better, asked in both orders.",
)
@click.option("--name", metavar="NAME", help="The pipeline's; the file's where not given.")
@click.option("--generator", metavar="MODEL", help="The model that gave the answers.")
@click.option("--query-id", default="query_id", metavar="COLUMN", help="The column of query ids.")
@judging_options()
@click.option("--dry-run", is_flag=True, help="Ask nobody; say what it would take.")
@click.option(
    "--queries", metavar="FILE", help="Write a row a query: .json (a run file), .csv, .jsonl, ..."
)
@output_options
def judge(queries: str | None, output: Output, **given: Any) -> int:
    """Let a chat model judge RECORDS by rubrics, and report the scores.

    RECORDS holds a row a query: question, answer, contexts, reference. Keys come from the
    environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY; a server of yours gets the one
    that you name. What was answered is kept in a cache, so that after Ctrl-C, or where the budget
    was spent, the same command goes on.
    """
    asked = _Asked(**given)
    if queries is not None:
        check_free(Path(queries), force=False)
    if asked.dry_run:
        output.write({"estimate": _estimated(asked)})
        return 0
    return _preferred(asked, queries, output) if asked.against else _judged(asked, queries, output)


def _estimated(asked: _Asked) -> Result:
    judging = asked.judging
    rubric = _comparing(judging) if asked.against else None
    chat = judging.chat()
    known = {"cache": judging.cache(), "prices": judging.prices(chat.model)}
    if rubric is None:
        frame = load(f"{JUDGES}:estimate")(
            asked.table(asked.records),
            judging.chosen(_DEFAULT),
            chat,
            n_repeats=judging.repeats,
            **known,
        )
        return estimate_result(judging, chat, frame)
    frame = load(f"{JUDGES}:estimate_preference")(
        asked.table(str(asked.against)), asked.table(asked.records), chat, rubric=rubric, **known
    )
    note_of_orders = "each query is asked in both orders; answers that are the same cost nothing"
    return estimate_result(judging, chat, frame, note_of_orders)


def _comparing(judging: Judging) -> Any:
    """The rubric that lays two answers beside each other."""
    if judging.judges or judging.repeats > 1:
        raise click.UsageError("--against asks for a preference; leave out --judge and --n-repeats")
    if len(judging.rubrics) > 1:
        raise click.UsageError("--against takes one --rubric, of the kind preference")
    return next(iter(judging.read()), "preference")


def _judged(asked: _Asked, queries: str | None, output: Output) -> int:
    judging = asked.judging
    chat = judging.chat()
    how = judging.how(chat.model)
    found: JudgedEvaluation = load("rageval_report.scoring.records:score_and_judge")(
        asked.table(asked.records),
        judging.chosen(_DEFAULT),
        name=asked.name or _stem(asked.records),
        chat=chat,
        judging={**how, "n_repeats": judging.repeats, "generator": asked.generator},
    )
    evaluation = found.evaluation
    output.write({evaluation.name: evaluation.evaluation_report(), **noise_results(found.judged)})
    if queries is not None:
        note(f"wrote {evaluation.save(queries)}")
    _check_judged(found.judged)
    return INTERRUPTED if found.is_interrupted else 0


def _check_judged(judged: Judged | Preferences | None) -> None:
    """Where nothing at all was judged, the last word is why."""
    if judged is not None and judged.failure is not None:
        raise JudgeError(judged.failure)


def _stem(path: str) -> str:
    return "records" if path == "-" else Path(path).name.partition(".")[0]


def _preferred(asked: _Asked, queries: str | None, output: Output) -> int:
    judging = asked.judging
    rubric = _comparing(judging)
    chat = judging.chat()
    found = load(f"{JUDGES}:prefer")(
        asked.table(str(asked.against)),
        asked.table(asked.records),
        chat,
        rubric=rubric,
        **judging.how(chat.model),
    )
    row = {
        "baseline": _stem(str(asked.against)),
        "candidate": asked.name or _stem(asked.records),
        **{name: getattr(found, name) for name in ("n", "n_unscored", "wins", "ties", "losses")},
        "first_place": found.position["first"],
    }
    frame = load("pandas:DataFrame")([row])
    result = load("rageval_report:Result")("Preference", frame, found.settings, found.notes)
    output.write({"preference": result})
    if queries is not None:
        written = load("rageval_report.scores.write:csv_text")(found.frame.reset_index())
        note(f"wrote {load('rageval_report.files.writing:write_atomically')(queries, written)}")
    _check_judged(found)
    return INTERRUPTED if found.is_interrupted else 0
