"""The commands that ask a chat model for golden items: from documents, and from judgments."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.golden.writing import force_option, seed_option, write_items
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import quiet_option
from rageval_report.cli.output import check_free
from rageval_report.errors import DataError, MissingDependencyError
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report.golden import GoldenItem

_WING = "rageval_report.golden"


def chat_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Which model is asked, as the argument ``chat``."""

    @click.option("--provider", metavar="NAME", help="As openai; else RAG_EVAL_PROVIDER says it.")
    @click.option("--model", metavar="NAME", help="Else RAG_EVAL_<PROVIDER>_MODEL says it.")
    @click.option("--base-url", metavar="URL", help="Of the server, where it is another.")
    @click.option(
        "--chat",
        "function",
        metavar="MODULE:FUNCTION",
        help="A Python function that takes a text and gives one, in place of a provider.",
    )
    @functools.wraps(command)
    def with_chat(
        *,
        provider: str | None,
        model: str | None,
        base_url: str | None,
        function: str | None,
        **rest: Any,
    ) -> Any:
        if function is not None and (provider or model or base_url):
            raise click.UsageError("give --chat, or --provider, --model and --base-url.")
        if function is not None:
            return command(chat=function_named(function), **rest)
        options = {} if base_url is None else {"base_url": base_url}
        named = load("rageval_report.judges.chats.environment:chat_from_environment")
        return command(chat=named(provider, model, **options), **rest)

    return with_chat


def function_named(place: str) -> Callable[[str], Any]:
    """A function of a module, also of one in the folder that the command is run in."""
    module, _, name = place.partition(":")
    if not (module and name):
        raise DataError(f"--chat {place!r}: expected MODULE:FUNCTION, as mychat:ask")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = load(place)
    except MissingDependencyError as exc:
        if exc.package != module.partition(".")[0]:
            raise
        raise DataError(f"--chat {place}: no module is named {module!r}") from exc
    except AttributeError as exc:
        raise DataError(f"--chat {place}: the module has no {name!r}") from exc
    if not callable(found):
        raise DataError(f"--chat {place}: it cannot be called")
    function: Callable[[str], Any] = found
    return function


def making_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Journal, prompts and where the set is written."""
    options = (
        click.option(
            "--journal",
            metavar="FILE",
            help="Where replies are kept; FILE.journal beside -o where not given. With it a run "
            "that was stopped goes on.",
        ),
        click.option("--prompts", metavar="FILE", help="Prompts of your own, TOML."),
        click.option(
            "-o",
            "--output",
            "path",
            type=click.Path(path_type=Path),
            required=True,
            metavar="FILE",
            help="The set, JSON Lines.",
        ),
        force_option,
        quiet_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


_GENERATE = (
    "rageval-report golden generate docs --factoid 4 --multi-hop 1 --unanswerable 1 "
    "--chat my_chat:ask -o drafts.jsonl",
)
_GROUND_TRUTH = (
    "rageval-report golden ground-truth nfcorpus.zip --chat my_chat:ask --samples 2 "
    "-o nfcorpus.jsonl",
)
MAKING_EXAMPLES = (*_GENERATE, *_GROUND_TRUTH)


@click.command(epilog=examples(*_GENERATE))
@click.argument("documents", metavar="FOLDER")
@click.option("--factoid", type=int, default=10, show_default=True, help="So many of one passage.")
@click.option("--multi-hop", type=int, default=0, show_default=True, help="So many of two.")
@click.option("--unanswerable", type=int, default=0, show_default=True, help="Without an answer.")
@click.option("--negatives", type=int, default=2, show_default=True, help="Wrong answers to each.")
@click.option("--examples", "shown", metavar="FILE", help="A golden set that shows what to ask.")
@click.option("--existing", metavar="FILE", help="A golden set that is not to be asked again.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Drafts at once; the set is the same.",
)
@click.option("--longest", type=int, default=1500, show_default=True, help="Letters of a passage.")
@click.option("--shortest", type=int, default=200, show_default=True, help="Letters of a passage.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME",
    help="Only these filters: length, self_contained, supported, not_leaking; repeatable.",
)
@click.option("--rejected", type=click.Path(path_type=Path), metavar="FILE", help="Write a CSV.")
@seed_option
@chat_options
@making_options
def generate(
    documents: str,
    chat: Any,
    path: Path,
    journal: str | None,
    prompts: str | None,
    rejected: Path | None,
    shown: str | None,
    existing: str | None,
    filters: tuple[str, ...],
    seed: int,
    negatives: int,
    concurrency: int,
    longest: int,
    shortest: int,
    **rest: Any,
) -> None:
    """Have a chat model write a golden set from documents.

    Questions, answers, wrong answers and questions without an answer, each with its provenance.
    Have people review them: golden review.
    """
    for place in (path, rejected):
        if place is not None:
            check_free(place, force=rest["force"])
    with _drafting(concurrency) as pool:
        made = load(f"{_WING}:generate_golden")(
            documents,
            chat,
            {name: rest[name] for name in ("factoid", "multi_hop", "unanswerable")},
            journal=journal or _beside(path),
            examples=_items(shown),
            existing=_items(existing),
            filters=filters or None,
            n_negatives=negatives,
            prompts=prompts,
            longest=longest,
            shortest=shortest,
            map=pool.map,
            seed=seed,
        )
    told = f"{made.n_asked} messages were sent, {made.n_replayed} answered from the journal"
    note(f"{told}; {len(made.rejected)} drafts were rejected")
    if rejected is not None:
        write_atomically(rejected, made.rejected.to_csv(index=False))
    if not made.items:
        reasons = "; ".join(made.rejected["reason"].head(3))
        raise DataError(f"no question was taken: {reasons or 'nothing was asked for'}")
    write_items(made.items, path)


@contextlib.contextmanager
def _drafting(concurrency: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads that begins nothing more once it is left, as by Ctrl-C."""
    pool = ThreadPoolExecutor(concurrency)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _items(file: str | None) -> list[GoldenItem]:
    return [] if file is None else load(f"{_WING}:read_golden")(file)


@click.command(
    "ground-truth",
    epilog=examples(*_GROUND_TRUTH),
)
@click.argument("place", metavar="PATH_OR_SUBSET")
@click.option("--split", metavar="NAME", help="As test.")
@click.option("--grade", type=float, default=2, show_default=True, help="The lowest high grade.")
@click.option("--first", type=int, default=5, show_default=True, help="Documents in the context.")
@click.option("--samples", type=int, metavar="N", help="Of the queries; all if not given.")
@click.option("--query-id", "ids", multiple=True, metavar="ID", help="Only these; repeatable.")
@seed_option
@chat_options
@making_options
def ground_truth(
    place: str,
    chat: Any,
    split: str | None,
    samples: int | None,
    ids: tuple[str, ...],
    seed: int,
    path: Path,
    journal: str | None,
    prompts: str | None,
    grade: float,
    first: int,
    **rest: Any,
) -> None:
    """Have a chat model write references for a BEIR set, from its highly relevant documents.

    PATH_OR_SUBSET is a folder or zip archive, or a subset to fetch, as nfcorpus.
    """
    check_free(path, force=rest["force"])
    chosen, corpus = beir_questions(
        place, split=split, grade=grade, samples=samples, seed=seed, ids=ids
    )
    items = load(f"{_WING}:ground_truth")(
        chosen,
        corpus,
        chat,
        grade=grade,
        first=first,
        journal=journal or _beside(path),
        prompts=prompts,
    )
    write_items(items, path)


def beir_questions(
    place: str,
    *,
    split: str | None,
    grade: float,
    samples: int | None,
    seed: int,
    ids: tuple[str, ...] = (),
) -> tuple[Any, Any]:
    """The queries of a BEIR set that have highly relevant documents, and these documents."""
    name, where = ("beir", Path(place)) if _is_path(place) else (f"beir/{place}", None)
    datasets = "rageval_report.datasets"
    records = load(f"{datasets}:load_dataset")(name, where, split=split)
    chosen = load(f"{_WING}:highly_relevant")(_only(records, ids), grade=grade)
    if samples is not None and samples < len(chosen):
        chosen = chosen.sample(samples, random_state=seed).sort_index()
    wanted = {one for grades in chosen["relevant"] for one in grades}
    return chosen, load(f"{datasets}:load_corpus")(name, where, split=split, ids=wanted)


def _is_path(place: str) -> bool:
    """Whether it is a path, there or not; names of subsets have neither folders nor suffixes."""
    path = Path(place)
    return path.exists() or len(path.parts) > 1 or bool(path.suffix)


def _only(records: Any, ids: tuple[str, ...]) -> Any:
    strange = [one for one in ids if one not in records.index]
    if strange:
        raise DataError(f"no query has the id {strange[0]!r}")
    return records.loc[list(ids)] if ids else records
