"""golden generate and golden ground-truth: a chat model writes golden items."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import pandas as pd

from rageval_report import golden as golden_sets
from rageval_report import judges
from rageval_report._registry import load
from rageval_report.cli.golden.items_out import write_items
from rageval_report.cli.golden.making import GenerateArguments, GroundTruthArguments, WriterOptions
from rageval_report.cli.notes import note
from rageval_report.cli.output import check_files
from rageval_report.cli.sources import read_query_ids
from rageval_report.datasets import load_corpus, load_dataset
from rageval_report.errors import DataError, MissingDependencyError
from rageval_report.files.writing import write_atomically
from rageval_report.golden import GoldenItem, generate_golden, highly_relevant, read_golden
from rageval_report.scores.query_ids import check_known_ids

if TYPE_CHECKING:
    from rageval_report.judges.chats import Chat

ChatFunction: TypeAlias = Callable[[str], Any]


def generate(options: GenerateArguments) -> None:
    """Let the model draft questions, and write those that pass the filters."""
    chat = _chat(options)
    check_files(options.path, options.rejected, force=options.force)
    with _draft_threads(options.concurrency) as pool:
        generated = generate_golden(
            options.documents,
            chat,
            {
                "factoid": options.factoid,
                "multi_hop": options.multi_hop,
                "unanswerable": options.unanswerable,
            },
            journal=options.journal or _journal_beside(options.path),
            examples=_read_items(options.shown),
            existing=_read_items(options.existing),
            filters=options.filters or None,
            n_negatives=options.negatives,
            prompts=options.prompts,
            longest=options.longest,
            shortest=options.shortest,
            map=pool.map,
            seed=options.seed,
        )
    note(
        f"{generated.n_asked} messages were sent, {generated.n_replayed} answered from the "
        f"journal; {len(generated.rejected)} drafts were rejected"
    )
    if options.rejected is not None:
        write_atomically(options.rejected, generated.rejected.to_csv(index=False))
    if not generated.items:
        reasons = "; ".join(generated.rejected["reason"].head(3))
        raise DataError(f"no question was taken: {reasons or 'none was requested'}")
    write_items(generated.items, options.path)


def ground_truth(options: GroundTruthArguments) -> None:
    """Let the model write the references of a BEIR set."""
    chat = _chat(options)
    check_files(options.path, force=options.force)
    queries, corpus = beir_questions(
        options.place,
        split=options.split,
        grade=options.grade,
        samples=options.samples,
        seed=options.seed,
        ids=read_query_ids((*options.query_ids, *options.earlier_ids), options.query_file),
    )
    items = golden_sets.ground_truth(
        queries,
        corpus,
        chat,
        grade=options.grade,
        first=options.first,
        journal=options.journal or _journal_beside(options.path),
        prompts=options.prompts,
    )
    write_items(items, options.path)


# -- the model


def _chat(options: WriterOptions) -> ChatFunction | Chat:
    if options.chat is None:
        return judges.chat_from_environment(
            options.provider, options.model, base_url=options.base_url
        )
    if options.provider or options.model or options.base_url:
        raise click.UsageError("give --chat, or --provider, --model and --base-url.")
    return chat_function(options.chat)


def chat_function(place: str) -> ChatFunction:
    """The function at MODULE:FUNCTION; the module may be in the current folder.

    Raises
    ------
    DataError
        If there is no such function.
    """
    module, _, name = place.partition(":")
    if not (module and name):
        raise DataError(f"--chat {place!r}: expected MODULE:FUNCTION, such as mychat:ask")
    current_folder = str(Path.cwd())
    if current_folder not in sys.path:
        sys.path.insert(0, current_folder)
    try:
        function: object = load(place)
    except MissingDependencyError as exc:
        if exc.package != module.partition(".")[0]:
            raise
        raise DataError(f"--chat {place}: no module is named {module!r}") from exc
    except AttributeError as exc:
        raise DataError(f"--chat {place}: the module has no {name!r}") from exc
    if not callable(function):
        raise DataError(f"--chat {place}: it cannot be called")
    return function


@contextlib.contextmanager
def _draft_threads(concurrency: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that starts nothing more once it is left, for example by Ctrl-C."""
    pool = ThreadPoolExecutor(concurrency)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


# -- files


def _journal_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _read_items(file: str | None) -> list[GoldenItem]:
    return [] if file is None else read_golden(file)


def beir_questions(
    place: str,
    *,
    split: str | None,
    grade: float | None,
    samples: int | None,
    seed: int,
    ids: Sequence[str] = (),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The queries of a BEIR set that have highly relevant documents, and these documents."""
    name, path = ("beir", Path(place)) if _is_path(place) else (f"beir/{place}", None)
    records = load_dataset(name, path, split=split)
    queries = highly_relevant(chosen_queries(records, ids), grade=grade)
    if samples is not None and samples < len(queries):
        # Sorted by id first: the order of the file does not decide what is drawn.
        queries = queries.sort_index().sample(samples, random_state=seed).sort_index()
    relevant = {doc_id for grades in queries["relevant"] for doc_id in grades}
    return queries, load_corpus(name, path, split=split, ids=relevant)


def _is_path(place: str) -> bool:
    """Whether it is a path, existing or not; names of subsets have no folders and no suffixes."""
    path = Path(place)
    return path.exists() or len(path.parts) > 1 or bool(path.suffix)


def chosen_queries(records: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """The records of some queries; all of them if no ids are named."""
    return records.loc[check_known_ids(ids, set(records.index))] if ids else records
