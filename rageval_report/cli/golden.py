"""golden and datasets: sets of questions are checked, drawn, written, reviewed, evaluated."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import rageval_report as rr
from rageval_report._registry import load
from rageval_report.cli.command import Family, command
from rageval_report.cli.judge import judge_setup
from rageval_report.cli.options import Options
from rageval_report.cli.output import (
    INTERRUPTED,
    Output,
    check_files,
    note,
    warn_of_doubts,
    write_file,
)
from rageval_report.cli.sources import read_query_ids
from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    is_doubt,
)

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.golden import Documents, GoldenItem
    from rageval_report.judges.chats import Chat
    from rageval_report.metrics.judged_sets import JudgedSetEvaluation
    from rageval_report.runner import RunConfig

ChatFunction: TypeAlias = Callable[[str], Any]


def write_items(items: Sequence[GoldenItem], path: Path | None) -> None:
    """Write a golden set to a file, or to standard output if it is None."""
    from rageval_report.golden import write_golden
    from rageval_report.records.golden import golden_text

    if path is None:
        click.echo(golden_text(items), nl=False)
    else:
        write_golden(path, items)
        note(f"wrote {len(items)} questions to {path}")


def _read_items(file: str | None) -> list[GoldenItem]:
    from rageval_report.golden import read_golden

    return [] if file is None else read_golden(file)


# -- check

_COLUMNS = ["check", "severity", "query_id", "other", "value", "told"]
_SUMMARISE_FROM = 4  # this many findings with the same message are shown as one sentence


@command("golden check")
def check(options: Options) -> int:
    """Look for mistakes in a golden set, and check whether it is large enough.

    The exit code is 1 if there is an error.
    """
    import pandas as pd

    from rageval_report.golden import CHECKS, check_golden

    output = Output.of(options)
    items = _read_items(options.file)
    skipped = [CHECKS[name] for name in options.skip]  # by function, as a check may have two names
    table = check_golden(
        items,
        documents=_documents(options),
        checks=[name for name in CHECKS if CHECKS[name] not in skipped],
        near=options.near,
        by=options.by,
    )
    size, size_note = _check_size(len(items), options)
    frames = [frame for frame in (table, size) if len(frame)] or [table]
    findings = pd.concat(frames, ignore_index=True)
    title = (
        f"Golden set {Path(options.file).name}: {len(items)} questions, {len(findings)} findings"
    )
    result = rr.Result(
        title, findings, options.only("near", "difference", "sd", "power"), (size_note,)
    )
    if not output.renderer.for_programs:
        counts = findings.groupby(["check", "severity"], sort=False).size()
        sentences = map(_sentence, _summarised(findings).to_dict("records"))
        result = replace(
            result,
            frame=counts.rename("findings").reset_index(),
            notes=(*result.notes, *sentences),
        )
    output.write(result, names=[options.file])
    has_error = "error" in set(findings["severity"])
    return 1 if has_error or (options.strict and len(findings)) else 0


def _check_size(n: int, options: Options) -> tuple[pd.DataFrame, str]:
    """A finding if so many questions cannot show the difference, and a note on what they can."""
    import pandas as pd

    from rageval_report.stats import minimum_detectable_difference, required_n

    difference, sd, power = options.difference, options.sd, options.power
    if not (difference > 0 and sd > 0):
        raise DataError(f"--difference and --sd must be above 0; got {difference:g} and {sd:g}")
    needed = required_n(difference / sd, power)
    smallest = minimum_detectable_difference(sd, n, power=power) if n > 1 else None
    detectable = "nothing" if smallest is None else f"differences of {smallest:.3g} or more"
    message = f"{n} questions show {detectable} with power {power:g}; {difference:g} takes {needed}"
    row = ("size", "warning", "", "", needed, message)
    text = f"{message}, if a query's differences have a standard deviation of {sd:g}"
    return pd.DataFrame([row] if n < needed else [], columns=_COLUMNS), text


def _summarised(frame: pd.DataFrame) -> pd.DataFrame:
    """One row for many questions with the same message."""
    same = ["check", "severity", "told"]
    n = frame.groupby(same)["told"].transform("size")
    rows = frame[(n < _SUMMARISE_FROM) | ~frame.duplicated(same)].copy()
    repeated = n[rows.index] >= _SUMMARISE_FROM
    rows.loc[repeated, "query_id"] = [f"{count} questions" for count in n[rows.index][repeated]]
    rows.loc[repeated, "other"] = ""
    return rows


def _sentence(finding: Mapping[Any, Any]) -> str:
    """As "error, q9 and q1: the question appears twice (duplicates)"."""
    ids = " and ".join(str(finding[name]) for name in ("query_id", "other") if finding[name])
    where = f", {ids}" if ids else ""
    return f"{finding['severity']}{where}: {finding['told']} ({finding['check']})"


def _documents(options: Options) -> Documents | None:
    from rageval_report.golden import Documents

    return None if options.documents is None else Documents(options.documents)


# -- sample, records


@command("golden sample")
def sample(options: Options) -> None:
    """Draw questions of each type; the order of the file does not matter."""
    from rageval_report.golden import sample_golden

    check_files(options.path, force=options.force)
    items = sample_golden(
        _read_items(options.file),
        options.n,
        **options.only("by", "how", "unanswerable_ratio", "seed"),
    )
    write_items(items, options.path)


@command("golden records")
def records(options: Options) -> None:
    """Write the questions with the gold that your pipeline can be evaluated against.

    A set that golden make wrote refers to places in files. A pipeline that gives ids of documents
    is evaluated against documents, one that gives chunks with their texts against texts.
    """
    from rageval_report.golden import golden_records
    from rageval_report.records.golden import records_text

    check_files(options.path, force=options.force)
    table = golden_records(_read_items(options.file), gold=options.gold)
    if not {"relevant", "relevant_spans", "relevant_texts"} & set(table):
        raise DataError(
            f"{options.file}: no question has gold of the kind {options.gold!r}; try another --gold"
        )
    _write_or_print(records_text(table), options.path, f"{len(table)} questions")


def _write_or_print(text: str, path: Path | None, what: str = "") -> None:
    if path is None:
        click.echo(text, nl=False)
    else:
        write_file(path, text, what)


# -- review


@command("golden review")
def review(options: Options) -> None:
    """Have people accept, edit or reject each question, and read back what they decided.

    -o review.html writes a page to fill in; with --decisions the reviewed set (.jsonl) is written.
    """
    from rageval_report.golden import apply_review, read_review, review_page

    check_files(options.path, options.rejected, force=options.force)
    items = _read_items(options.file)
    if options.decisions is None:
        title, documents = Path(options.file).stem, _documents(options)
        page = review_page(items, title=title, documents=documents)
        _write_or_print(page, options.path)
        return
    decisions = read_review(options.decisions)
    reviewed = apply_review(items, decisions, reviewer=options.reviewer or "")
    counts = reviewed.decisions["decision"].value_counts()
    note(", ".join(f"{n} {decision}" for decision, n in counts.items()))
    if not reviewed.items:
        raise DataError("every question was rejected; nothing is left to write")
    write_items(reviewed.items, options.path)
    if options.rejected is not None and reviewed.rejected:
        write_items(reviewed.rejected, options.rejected)


# -- make: a chat model writes questions, or references


@command("golden make")
def make(options: Options) -> None:
    """Have a chat model write a golden set from documents.

    It writes questions, answers, wrong answers and questions without an answer, each with its
    provenance. Have people review them: golden review.
    """
    from rageval_report.files.writing import write_atomically
    from rageval_report.golden import generate_golden

    chat = _chat(options)
    check_files(options.path, options.rejected, force=options.force)
    with _draft_threads(options.threads) as pool:
        generated = generate_golden(
            options.folder,
            chat,
            {name: options.get(name) for name in ("factoid", "multi_hop", "unanswerable")},
            journal=options.journal or _journal_beside(options.path),
            n_negatives=options.negatives,
            map=pool.map,
            **options.only("longest", "shortest", "seed"),
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


@command("golden references")
def references(options: Options) -> None:
    """Have a chat model write references for a BEIR set, from its highly relevant documents.

    PLACE is a folder or zip archive, or the name of a subset to download, such as nfcorpus.
    """
    from rageval_report.golden import ground_truth

    chat = _chat(options)
    check_files(options.path, force=options.force)
    queries, corpus = _beir_questions(options, read_query_ids(options), options.samples)
    items = ground_truth(
        queries,
        corpus,
        chat,
        journal=options.journal or _journal_beside(options.path),
        **options.only("grade", "first"),
    )
    write_items(items, options.path)


def _chat(options: Options) -> ChatFunction | Chat:
    from rageval_report import judges

    if options.chat is None:
        return judges.chat_from_environment(
            options.provider, options.model, base_url=options.base_url
        )
    if options.provider or options.model or options.base_url:
        raise click.UsageError("give --chat, or --provider, --model and --base-url.")
    return _chat_function(options.chat)


def _chat_function(place: str) -> ChatFunction:
    """The function at MODULE:FUNCTION; the module may be in the current folder."""
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


def _journal_beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.journal")


def _beir_questions(
    options: Options, ids: Sequence[str], samples: int | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The queries of a BEIR set that have highly relevant documents, and these documents."""
    from rageval_report.datasets import load_corpus, load_dataset
    from rageval_report.golden import highly_relevant

    place = Path(options.place)
    # Names of subsets have no folders and no suffixes.
    is_path = place.exists() or len(place.parts) > 1 or bool(place.suffix)
    name, path = ("beir", place) if is_path else (f"beir/{options.place}", None)
    questions = load_dataset(name, path, split=options.split)
    queries = highly_relevant(_chosen_queries(questions, ids), grade=options.grade)
    queries = _drawn(queries, samples, options.seed)
    relevant = {doc_id for grades in queries["relevant"] for doc_id in grades}
    return queries, load_corpus(name, path, split=options.split, ids=relevant)


def _drawn(queries: pd.DataFrame, samples: int | None, seed: int) -> pd.DataFrame:
    if samples is None or samples >= len(queries):
        return queries
    # Sorted by id first: the order of the file does not decide what is drawn.
    return queries.sort_index().sample(samples, random_state=seed).sort_index()


def _chosen_queries(table: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """The records of some queries; all of them if no ids are named."""
    from rageval_report.scores.query_ids import check_known_ids

    return table.loc[check_known_ids(ids, set(table.index))] if ids else table


# -- evaluate: references, answers, judge, tables and gates of a judged set

_REFERENCES, _SCORES, _REPORT = "truth.jsonl", "scores.json", "report.html"


@command("golden evaluate")
def evaluate(options: Options) -> int:
    """Evaluate a pipeline on a judged set, such as nfcorpus: retrieval and generation separately.

    PLACE is a BEIR set (folder, zip archive or the name of a subset), whose references the model
    writes first; a golden set with graded documents; or the folder of a run of eval. The same model
    judges the answers, or several do: the first --judge-model writes the references. The exit code
    is 1 if a rule fails.
    """
    from rageval_report.judges.chats import as_chat
    from rageval_report.metrics.judged_sets import evaluate_judged_set

    if len(options.judges) + len(options.rubrics) > 1:
        raise click.UsageError("Give one rubric: it says whether an answer is right.")
    setup = judge_setup(options)
    chats = [as_chat(_chat_function(options.chat))] if options.chat else setup.chats()
    how: Any = setup.judge_options(chats)
    # References are the work of one model, so that all judges compare with the same text.
    answered = _answers(options, chats[0], how)
    try:
        judged_set = evaluate_judged_set(
            answered.records,
            chat=chats,
            generation=setup.rubrics(("answer_correct",))[0],
            mapping=None if options.mapping is None else _read_mapping(options.mapping),
            name=options.path.absolute().name,
            judging=how,
            config=answered.config,
            notes=answered.notes,
            match_ids=options.match_ids,
            allow=options.allow,
            **options.only("k", "minimum", "level", "duplicates", "grade", "strict"),
        )
        return _write_judged_set(judged_set, options)
    except RagevalError:
        # Without results these are their only place, and they may name the cause.
        warn_of_doubts(answered.notes)
        raise


@dataclass(frozen=True, eq=False)
class AnsweredSet:
    """The records with the pipeline's answers, its configuration, and doubts about its replies."""

    records: pd.DataFrame
    config: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def _answers(options: Options, chat: Chat, how: dict[str, Any]) -> AnsweredSet:
    """The answers of an earlier run, or those that the pipeline gives now."""
    from rageval_report.golden import highly_relevant
    from rageval_report.runner import collect_answers, target_from
    from rageval_report.runner.collecting import notes_of_run
    from rageval_report.scores.guard import notes_with_doubts

    of_run = _records_of_run(Path(options.place))
    ids = read_query_ids(options)
    if of_run is not None:
        answers = _chosen_queries(rr.read_records(of_run, unretrieved_citations="keep"), ids)
        return AnsweredSet(answers, notes=_doubts_among(notes_of_run(of_run.parent)))
    config = _run_config(options)  # checked before a model is paid to write references
    questions = _questions(options, chat, how, ids)
    highly_relevant(questions, grade=options.grade)  # raises before the pipeline is asked
    folder = options.path / "run"
    resume = (folder / "journal.jsonl").exists()
    with target_from(config) as target:
        finished = collect_answers(
            *(questions, target, folder, config),
            resume=resume,
            retry_failed=options.retry_failed and resume,
        )
    # Raised before a judge is asked; otherwise they stand in the results.
    notes_with_doubts(finished.notes, strict=options.strict, allow=options.allow)
    for message in finished.notes:
        if not is_doubt(message):
            note(message)
    answers = rr.read_records(finished.records, unretrieved_citations="keep")
    return AnsweredSet(answers, finished.config, _doubts_among(finished.notes))


def _doubts_among(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(is_doubt, notes))


def _records_of_run(folder: Path) -> Path | None:
    """The answers in the folder of a run; None if it is something else."""
    if not (folder / "run.json").is_file():
        return None
    answers = [path for path in sorted(folder.glob("records.*")) if path.is_file()]
    if not answers:
        raise DataError(f"{folder}: expected the records of a run; finish it with eval --resume")
    return answers[0]


def _questions(
    options: Options, chat: Chat, how: dict[str, Any], ids: Sequence[str]
) -> pd.DataFrame:
    """The questions with references and gold; references that a model writes are kept in a file."""
    from rageval_report.files.archives import is_archive
    from rageval_report.files.source import Source
    from rageval_report.golden import golden_records

    path = Path(options.place)
    has_references = path.is_file() and not is_archive(Source(path))
    source = path if has_references else options.path / _REFERENCES
    if not has_references and source.exists():
        note(f"the references are those of {source}; remove it to have them written again")
    elif not has_references:
        source.parent.mkdir(parents=True, exist_ok=True)
        _write_references(options, chat, how, source, ids)
    questions = golden_records(_read_items(str(source)), gold="ids")
    if ids:
        return _chosen_queries(questions, ids)
    # The references of a BEIR set were written for a sample already.
    return _drawn(questions, options.samples, options.seed) if has_references else questions


def _write_references(
    options: Options, chat: Chat, how: dict[str, Any], path: Path, ids: Sequence[str]
) -> None:
    from rageval_report.golden import ground_truth

    if how.get("max_cost") is not None:
        raise click.UsageError(
            f"--max-cost limits the judge alone: write {path} first, with golden references."
        )
    queries, corpus = _beir_questions(options, ids, None if ids else options.samples)
    items = ground_truth(
        *(queries, corpus, chat),
        grade=options.grade,
        first=options.first,
        journal=_journal_beside(path),
    )
    write_items(items, path)


def _run_config(options: Options) -> RunConfig:
    from rageval_report.runner import RunConfig
    from rageval_report.runner.eval_config import read_eval_config

    pipelines = (options.url, options.function, options.config)
    if sum(pipeline is not None for pipeline in pipelines) != 1:
        raise click.UsageError("Give the pipeline: one of --url, --callable and --config.")
    sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    if options.config is not None:
        return replace(read_eval_config(options.config), samples=None)
    if options.url is not None:
        return RunConfig(target="http", settings={"http": {"url": options.url}})
    return RunConfig(target="callable", settings={"callable": {"function": options.function}})


def _read_mapping(path: str) -> dict[str, str | list[str]]:
    from rageval_report.files.source import Source

    source = Source(path)
    document = source.document
    if not isinstance(document, dict) or not all(map(_is_id_or_ids, document.values())):
        raise source.error("expected a JSON object: to each document id an id, or a list of ids")
    return {
        doc_id: list(map(str, ids)) if isinstance(ids, list) else str(ids)
        for doc_id, ids in document.items()
    }


def _is_id_or_ids(value: object) -> bool:
    ids = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int) and not isinstance(item, bool) for item in ids)


def _write_judged_set(judged_set: JudgedSetEvaluation, options: Options) -> int:
    """Write all tables first, and evaluate the gates after them."""
    from rageval_report.runner.judge_setup import noise_results

    evaluation = judged_set.evaluation
    results: dict[str, rr.Result] = {
        evaluation.name: evaluation.evaluation_report(),
        "retrieval by generation": judged_set.table,
        "queries": judged_set.queries,
        **noise_results(judged_set.judged),
    }
    gates = evaluation.gate(*options.rules) if options.rules else None
    if gates is not None:
        results["gates"] = gates
    scores, report = options.path / _SCORES, options.path / _REPORT
    evaluation.save(scores)
    page = Output.to(report, force=True)
    page.write_text(page.text_of(results, "pipeline"))
    output = replace(Output.to(None, options.format_name), verbose=True)
    results["queries"] = output.limit_rows(judged_set.queries, None)
    output.write(*results.values(), names=results)
    note(f"wrote {scores}")
    if judged_set.judged is not None and judged_set.judged.is_interrupted:
        return INTERRUPTED
    return 0 if gates is None or gates.passed else 1


golden = Family(
    "golden",
    """
    Check, draw, make and review golden sets, and evaluate a pipeline on one.

    A golden set holds one object per line: question, references, gold; see docs/golden.md.
    """,
    [check, sample, make, references, review, records, evaluate],
)


# -- datasets


@command("datasets")
def datasets(options: Options) -> None:
    """List data sets that can be loaded, or count the questions of one.

    NAME is one of the list, such as squad_v2 or ragbench/covidqa, or the path of a golden set.
    Questions are counted by type, domain, difficulty, and by whether they can be answered. Without
    --path a set is downloaded.
    """
    from rageval_report.datasets import DATASETS, dataset_counts, dataset_list

    output = Output.of(options)
    name, location = options.name, options.location
    if name is None:
        frame = dataset_list()
        notes = tuple(
            f"subsets of {dataset}, as {dataset}/...: {subsets}"
            for dataset, subsets in zip(frame["dataset"], frame["subsets"], strict=True)
            if subsets
        )
        shown = ("dataset", "questions", "licence")
        output.write(rr.Result("Data sets", frame, {}, notes, headline=shown), names=["datasets"])
        return
    is_path = Path(name).exists() or Path(name).suffix.lower() in (".gz", ".json", ".jsonl")
    if name.partition("/")[0] not in DATASETS and location is None and is_path:
        name, location = "golden", Path(name)
    drawn = options.only("split", "samples", "unanswerable_ratio", "seed")
    counts = dataset_counts(rr.load_dataset(name, location, **drawn))
    settings = {key: value for key, value in drawn.items() if value is not None}
    headline = ("by", "value", "n", "share")
    result = rr.Result(f"Questions of {name}", counts, settings, headline=headline)
    output.write(result, names=[name])
