"""judge: a chat model judges records, and people's labels say how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import rageval_report as rr
from rageval_report.cli.command import Family, command
from rageval_report.cli.options import Options
from rageval_report.cli.output import INTERRUPTED, Output, check_files, draw, note
from rageval_report.cli.sources import Loading, PipelineSource, parse_source, parse_sources
from rageval_report.errors import JudgeError

if TYPE_CHECKING:
    import pandas as pd

    from rageval_report.analysis.calibrate import Calibration
    from rageval_report.judges import Rubric
    from rageval_report.judges.chats import Chat
    from rageval_report.runner.eval_config import JudgeSection
    from rageval_report.runner.judge_setup import JudgeSetup

_DEFAULT = ("faithfulness", "answer_relevancy")

# -- the judge that the options and a file of settings describe

# The settings of a section that options of the same name replace.
_REPLACED = (
    *("provider", "model", "base_url", "api_key_env", "temperature", "max_tokens"),
    *("n_repeats", "max_cost"),
)


def judge_setup(
    options: Options, section: JudgeSection | None = None, *, is_rehearsal: bool = False
) -> JudgeSetup:
    """The judge of a section of settings, overridden by the command line.

    Parameters
    ----------
    options : Options
        The command line.
    section : JudgeSection, optional
        The file.
    is_rehearsal : bool
        Whether nobody will be asked.
    """
    from rageval_report.runner.eval_config import JudgeSection
    from rageval_report.runner.judge_setup import JudgeSetup

    if options.judge_models and options.model is not None:
        raise click.UsageError("Give --model, or --judge-model for each of several judges.")
    if len(options.judge_models) > 1 and options.price is not None:
        raise click.UsageError(
            "--price is that of one judge; give --judge-price MODEL=SENT:RECEIVED for each."
        )
    section = section or JudgeSection()
    if options.model is not None or options.judge_models:
        section = replace(section, model=None, models=())
    cache = None if options.cache_path is None else str(options.cache_path)
    changes: dict[str, Any] = {
        **options.only(*_REPLACED),
        "models": options.judge_models or None,
        "prices": {**section.prices, **dict(options.judge_prices)},
        "timeout": options.judge_timeout,
        "concurrency": options.judge_concurrency,
        "structured": False if options.no_schema else None,
        "cache": False if options.no_cache else cache,
    }
    return JudgeSetup(
        replace(section, **{name: value for name, value in changes.items() if value is not None}),
        chosen=(*options.judges, *options.rubrics),
        price=options.price,
        progress=not options.quiet,
        tell=note,
        is_rehearsal=is_rehearsal,
    )


def estimate_settings(setup: JudgeSetup, chats: Sequence[Chat]) -> dict[str, object]:
    """The models that would judge, and how often."""
    return {
        "judge_model": " + ".join(chat.model for chat in chats),
        "n_repeats": setup.repeats,
    }


def estimate_result(setup: JudgeSetup, chats: Sequence[Chat], frame: pd.DataFrame) -> rr.Result:
    """The calls, tokens and cost that the judges would need; no request is sent."""
    messages = ["no request was sent; tokens are estimated from lengths, four bytes each"]
    if not setup.is_priced:
        price = "the model's price with --price SENT:RECEIVED"
        if len(chats) > 1:
            price = "each model's price with --judge-price MODEL=SENT:RECEIVED"
        messages.append(f"the cost is not known: give {price}")
    if setup.cache() is not None:
        messages.append(f"replies in {setup.cache()} are not requested again, and cost nothing")
    if len(chats) > 1:
        messages.append(f"all {len(chats)} judges together: {_total(frame)}")
    return rr.Result("Estimate", frame, estimate_settings(setup, chats), tuple(messages))


def _total(frame: pd.DataFrame) -> str:
    calls = f"{frame['n_calls'].sum()} calls"
    costs, limits = (frame[name].astype(float) for name in ("cost_usd", "max_cost_usd"))
    if costs.isna().any():
        return calls
    most = "" if limits.isna().any() else f", {limits.sum():.4g} USD at most"
    return f"{calls}, about {costs.sum():.4g} USD{most}"


# -- judge run


@command("judge run")
def run(options: Options) -> int:
    """Let a chat model judge records by rubrics.

    RECORDS holds one row per query: question, answer, contexts, reference. Keys come from the
    environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, AWS_BEARER_TOKEN_BEDROCK, or
    --api-key-env. Verdicts are kept in a cache, so that after Ctrl-C the same command goes on.
    """
    output = replace(Output.of(options), verbose=True)  # what was scored, and at which cost
    check_files(options.queries, force=options.force)
    setup = judge_setup(options, is_rehearsal=options.dry_run)
    if options.dry_run:
        output.write(_estimate(options, setup), names=["estimate"])
        return 0
    if options.against:
        return _prefer(options, setup, output)
    return _judge_records(options, setup, output)


def _read(options: Options, path: str) -> pd.DataFrame:
    return rr.read_records(
        path, query_id=options.query_id or "query_id", unretrieved_citations="keep"
    )


def _estimate(options: Options, setup: JudgeSetup) -> rr.Result:
    from rageval_report.judges import estimate

    if options.against:
        raise click.UsageError("--dry-run is for rubrics; --against takes two calls a query.")
    chats, rubrics = setup.chats(), setup.rubrics(_DEFAULT)
    how: dict[str, Any] = {"cache": setup.cache(), "prices": setup.prices(chats)}
    records = _read(options, options.records)
    frame = estimate(records, rubrics, chats, n_repeats=setup.repeats, **how)
    return estimate_result(setup, chats, frame)


def _preference_rubric(options: Options) -> Rubric | str:
    """The rubric that compares two answers."""
    from rageval_report.judges import read_rubric

    if options.judges or (options.n_repeats or 1) > 1:
        raise click.UsageError("--against asks for a preference; leave out --judge and --n-repeats")
    if len(options.rubrics) > 1:
        raise click.UsageError("--against takes one --rubric, of the kind preference")
    return next(map(read_rubric, options.rubrics), "preference")


def _judge_records(options: Options, setup: JudgeSetup, output: Output) -> int:
    from rageval_report.metrics.scoring import score_and_judge
    from rageval_report.runner.judge_setup import noise_results

    chats = setup.chats()
    records, rubrics = _read(options, options.records), setup.rubrics(_DEFAULT)
    name = options.name or _stem(options.records)
    judging: Any = {
        **setup.how(chats),
        "n_repeats": setup.repeats,
        "generator": options.generator,
    }
    scored = score_and_judge(records, rubrics, name=name, chat=chats, judging=judging)
    evaluation = scored.evaluation
    results = {
        evaluation.name: evaluation.evaluation_report(),
        **noise_results(scored.judged),
    }
    output.write(*results.values(), names=results)
    if options.queries is not None:
        note(f"wrote {evaluation.save(options.queries)}")
    _raise_failure(scored.judged)
    return INTERRUPTED if scored.is_interrupted else 0


def _prefer(options: Options, setup: JudgeSetup, output: Output) -> int:
    from rageval_report.files.writing import write_atomically
    from rageval_report.judges import prefer
    from rageval_report.runner.judge_setup import preference_results
    from rageval_report.scores.write import csv_text

    chats, rubric = setup.chats(), _preference_rubric(options)
    candidate = _read(options, options.records)
    preferences = prefer(
        _read(options, options.against), candidate, chats, rubric=rubric, **setup.how(chats)
    )
    results = preference_results(
        preferences,
        baseline=_stem(options.against),
        candidate=options.name or _stem(options.records),
    )
    output.write(*results.values(), names=results)
    if options.queries is not None:
        text = csv_text(preferences.frame.reset_index())
        note(f"wrote {write_atomically(options.queries, text)}")
    _raise_failure(preferences)
    return INTERRUPTED if preferences.is_interrupted else 0


def _raise_failure(judged: Any) -> None:
    """If nothing at all was judged, the reason is the last line."""
    if judged is not None and judged.failure is not None:
        raise JudgeError(judged.failure)


def _stem(path: str) -> str:
    return "records" if path == "-" else Path(path).name.partition(".")[0]


# -- judge calibrate, judge compare


@command("judge calibrate")
def calibrate(options: Options) -> None:
    """Compare the scores of a judge with the labels of people.

    Shows agreement, bias, and the mean that people would have given. JUDGED holds the judge's
    scores of many queries, and PEOPLE labels of some of them: any file of scores, or a sheet of
    export --to review, in which blank means not rated.
    """
    views = ("confusion", "disagreements")
    chosen = [name for name in views if options.get(name)]
    if len(chosen) > 1:
        raise click.UsageError("Choose one of --confusion and --disagreements.")
    output = Output.of(options)
    check_files(options.picture, force=options.force)
    [source] = parse_sources([options.judged])
    calibration = _calibration(options, source, options.people, options.labels)
    draw(calibration, "agreement", options.picture)
    if not chosen:
        has_matrix = not output.renderer.for_programs and calibration.scale.kind != "continuous"
        output.write(calibration, *([calibration.confusion()] if has_matrix else []), what="table")
    else:
        result: rr.Result = getattr(calibration, chosen[0])()
        output.write(output.limit_rows(result, options.limit) if options.disagreements else result)


@command("judge compare")
def compare(options: Options) -> None:
    """Compare two judged pipelines, with the judge's errors corrected using labels of people.

    JUDGED and PEOPLE are those of calibrate. JUDGED2 holds the judge's scores of the other
    pipeline.
    """
    output = Output.of(options)
    source, other_source = parse_sources([options.judged, options.judged2])
    calibration = _calibration(options, source, options.people, options.labels)
    other = _calibration(
        options,
        other_source,
        options.other_people or options.people,
        options.other_labels or options.labels,
    )
    output.write(calibration.difference(other))


def _calibration(
    options: Options, source: PipelineSource, people: str, labels: tuple[str, ...]
) -> Calibration:
    """The scores of one pipeline beside its labels, with notes on what was guessed in reading."""
    from rageval_report.stats import JudgeErrors

    evaluation = Loading(options).load(source, (options.metric,))
    # The reader and what is known of the metric concern the judge's file, not that of the labels.
    plain = options.having(reader=None, lower=(), higher=(), bounds=())
    rated = Loading(plain).load(parse_source(people), labels)
    keywords = ("scale", "threshold", "label_bounds", "confidence_level")
    calibration = rr.calibrate(
        evaluation,
        options.metric,
        rated,
        labels or None,
        errors=None if options.errors is None else JudgeErrors(*options.errors),
        **options.only(*keywords, "n_resamples", "seed"),
    )
    notes = [f"labels: {message}" for message in rated.notes]
    return calibration.with_notes(*evaluation.notes, *notes)


# -- judge cache


@command("judge cache")
def cache(options: Options) -> None:
    """Show how many answers of judges are kept, by judge and model; or delete them."""
    import pandas as pd

    from rageval_report.judges import Cache, default_cache

    output = Output.of(options)
    path = options.cache_path or default_cache()
    if options.clear:
        n = 0
        if path.exists():
            with Cache(path) as kept:
                n = kept.clear(options.judge)
        click.echo(f"forgot {n} answers of {path}")
        return
    if options.judge is not None:
        raise click.UsageError("--judge says which answers --clear deletes.")
    rows: list[tuple[str, str, int]] = []
    if path.exists():
        with Cache(path) as kept:
            rows = [(name, model, n) for (name, model), n in kept.counts().items()]
    notes = [f"{path}: {sum(n for *_, n in rows)} answers"]
    frame = pd.DataFrame(rows, columns=["judge", "model", "n_answers"])
    output.write(rr.Result("Answers of judges", frame, {}, tuple(notes)), names=["cache"])


judge = Family(
    "judge",
    """
    Let a chat model judge records; compare its scores with labels of people.

    Without a command: run.
    """,
    [run, calibrate, compare, cache],
    default="run",
)
