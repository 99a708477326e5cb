"""What is added from outside, by a line or an entry point, is a choice like those of the package.

docs/extending.md, whose recipes run as they stand, adds one of each kind. Here each is asked for in
Python and on the command line, and wrong ones are blamed by name.
"""

import json
import sys
import types
from importlib import metadata
from pathlib import Path

import click
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report import (
    METRICS,
    Metric,
    RAGPipelineEvaluation,
    compare,
    rank,
    read_scores,
    score,
    score_rankings,
)
from rageval_report.analysis.gate_figures import FIGURES, PAIR_FIGURES, GateFigure
from rageval_report.analysis.rules import RuleError
from rageval_report.cli import rageval_report
from rageval_report.cli.command import command
from rageval_report.cli.group import COMMANDS
from rageval_report.cli.output import Output
from rageval_report.datasets import DATASETS, dataset_list, load_corpus, load_dataset
from rageval_report.errors import DataError, RagevalWarning, ReaderError, UnknownNameError
from rageval_report.judges import CHATS, JUDGES, FunctionChat, Rubric, judge, prefer
from rageval_report.plots import PLOTS, Plot, plot, save_plot
from rageval_report.readers import READERS, Reader, ScoreFile
from rageval_report.records.datasets import Dataset, DatasetPart
from rageval_report.reports.formats import RENDERERS, Renderer, render
from rageval_report.stats import PAIRED_INTERVALS, TESTS, Interval, PairedTest, paired_test

TABLES = {
    "metrics": METRICS,
    "judges": JUDGES,
    "datasets": DATASETS,
    "commands": COMMANDS,
    "plots": PLOTS,
}
OTHERS = (FIGURES, PAIR_FIGURES, CHATS, READERS, RENDERERS, PAIRED_INTERVALS, TESTS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The tables as they are before anybody has looked for entry points, and an empty folder."""
    for table in (*TABLES.values(), *OTHERS):
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_distributions", {})
    for group, table in TABLES.items():
        monkeypatch.setattr(table, "_group", f"rageval_report.{group}")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


class Wheel(metadata.Distribution):
    """As if a wheel with these entry points was installed."""

    def __init__(self, group, names):
        lines = [f"{name} = starplugin:{name}" for name in names]
        self.points = "\n".join([f"[rageval_report.{group}]", *lines])

    def read_text(self, filename):
        texts = {
            "entry_points.txt": self.points,
            "METADATA": "Name: starplugin\nVersion: 1.5\n",
        }
        return texts.get(filename)

    def locate_file(self, path):
        return path


@pytest.fixture
def offer(monkeypatch):
    """Offer members of a table as an installed wheel does; None cannot be loaded."""

    def offer_(group, **members):
        plugin = types.ModuleType("starplugin")
        vars(plugin).update({name: one for name, one in members.items() if one is not None})
        monkeypatch.setitem(sys.modules, "starplugin", plugin)
        wheel, real = Wheel(group, members), metadata.entry_points
        found = metadata.distributions
        monkeypatch.setattr(metadata, "distributions", lambda: [*found(), wheel])
        ours = {"group": f"rageval_report.{group}"}
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda **asked: [*real(**asked), *(wheel.entry_points if asked == ours else ())],
        )

    return offer_


@pytest.fixture(params=["added", "offered"])
def join(request, offer):
    """Add members to a table by lines, or offer them by entry points."""

    def join_(group, **members):
        if request.param == "offered":
            offer(group, **members)
            return
        for name, member in members.items():
            TABLES[group].add(name, member)

    return join_


def run(line, code=0):
    """Type a line; what ended with the code."""
    result = CliRunner().invoke(rageval_report, line.split())
    assert result.exit_code == code, result.output
    return result


def rows_of(line, code=0):
    return json.loads(run(f"{line} --format json", code).stdout)["rows"]


def write_records(rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path("records.jsonl").write_text(text, encoding="utf-8")


# -- a metric

ROWS = [
    {"query_id": "q1", "answer": "Two words", "reference": "x", "retrieved": ["a", "b"]},
    {"query_id": "q2", "answer": "Just three words", "reference": "x", "retrieved": ["b"]},
]
ROWS = [{**row, "relevant": ["b"]} for row in ROWS]


def count_words(answers, k):
    return np.array([float(len(text.split())) for text in answers.answer])


def is_late(hits, k):
    """Whether the first relevant document is missing from the first k."""
    early = np.zeros(hits.n_queries)
    early[hits.relevant_query[hits.relevant_rank < (k or 1)]] = 1.0
    return 1.0 - early


WORDS = Metric(
    "answer_words",
    title="Answer Words",
    greater_is_better=False,
    aliases=("wordiness",),
    compute=count_words,
    needs="answers",
)
LATE = Metric("late", kind="binary", greater_is_better=False, compute=is_late, needs="rankings")


def test_a_metric(join):
    join("metrics", answer_words=WORDS, late=LATE)
    for name in ("answer_words", "Answer Words", "wordiness"):
        assert score(ROWS, [name]).scores.iloc[:, 0].tolist() == [2.0, 3.0]
    wordier = [{**row, "answer": row["answer"] + " and more"} for row in ROWS]
    [row] = compare(
        score(ROWS, "answer_words"), score(wordier, "answer_words", name="b")
    ).frame.to_dict("records")
    assert (row["difference"], row["improvement"]) == (2.0, -2.0)
    ranked = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"b": 1.0}}, {"q1": {"b": 1}, "q2": {"b": 1}}
    scores = score_rankings(*ranked, ["late@1", "late@2"]).scores
    assert scores.to_numpy().tolist() == [[1.0, 0.0], [0.0, 0.0]]  # q1 has it at rank 2
    write_records(ROWS)
    [row] = rows_of("score --records records.jsonl --metric answer_words")
    assert row["mean"] == 2.5
    with pytest.raises(UnknownNameError, match="Did you mean 'answer_words'"):
        score(ROWS, "answer_wrods")
    asked = run("score --records records.jsonl --metric answer_wrods", 2)
    assert "Did you mean 'answer_words'" in asked.stderr


def test_an_offer_that_is_no_metric_is_named_and_stops_nobody(offer):
    offer("metrics", broken=None, answer_words=WORDS)
    with pytest.warns(RagevalWarning, match="plug-in metric 'broken' of .* cannot be loaded"):
        assert score(ROWS, "answer_words").n_queries == 2
    METRICS.add("answer_words", count_words)
    with pytest.raises(DataError, match=r"\['answer_words'\] must be a Metric; got <function"):
        score(ROWS, "answer_words")


# -- a command


def worst(options):
    """Show the queries with the lowest scores."""
    evaluation = RAGPipelineEvaluation.load(None, options.file)
    Output.of(options).write(evaluation.failures(options.metric, "median"))
    return 3


@click.command()
@click.argument("word")
def echo(word):
    """Say a word again."""
    click.echo(word)


@click.command()
def broken():
    """Fail."""
    raise ZeroDivisionError("by zero")


def test_a_command(join):
    row = {"arguments": "FILE", "shown": "metric! OUTPUT", "examples": ["worst a.csv"]}
    join("commands", worst=command("worst", **row)(worst), echo=echo)
    Path("scores.csv").write_text("query_id,recall@5\na,0.5\nb,1\n")
    result = run("worst scores.csv --metric recall@5 --format csv --quiet", 3)
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["query_id", "a"]
    assert run("echo again").stdout == "again\n"
    assert "worst Show the queries with the lowest scores." in " ".join(
        run("--help").stdout.split()
    )


def test_a_command_that_fails_is_blamed_by_name(offer, monkeypatch):
    for verb in (echo, broken):  # as if they were written there
        monkeypatch.setitem(verb.callback.__globals__, "__name__", "starplugin")
    offer("commands", echo=echo, broken=broken)
    assert run("broken", 70).stderr.splitlines()[-1] == (
        "rageval-report: the plug-in 'broken' of starplugin 1.5 raised ZeroDivisionError; please "
        "report it to its authors with the lines above"
    )


def test_a_command_that_cannot_be_loaded_is_named_and_hides_no_other(offer):
    offer("commands", echo=echo, gone=None)
    cannot = "the plug-in command 'gone' of starplugin 1.5"
    assert f"{cannot} cannot be loaded" in run("gone", 2).stderr
    shown = run("--help")
    assert "Say a word again." in shown.stdout
    assert f"note: {cannot}" in shown.stderr


# -- a rubric, and a provider of chats

QUESTIONS = [
    {"query_id": "q1", "question": "Where?", "answer": "Here, please.", "reference": "There."},
    {"query_id": "q2", "question": "When?", "answer": "Go away.", "reference": "Go away."},
]
POLITE = Rubric("polite", "Is it polite?", "How polite? {answer}", scale=(1, 5))
SHORTER = Rubric("shorter", "Which?", "Which is shorter? {first} {second}", kind="preference")


def chat(text):
    return json.dumps({"reasoning": "as I see it", "score": 5 if "please" in text else 2})


def test_a_rubric_and_a_provider(join):
    join("judges", polite=POLITE, shorter=SHORTER)
    evaluation = score(QUESTIONS, ["polite", "exact_match"], chat=chat)
    assert evaluation.scores.to_dict("list") == {"polite": [1.0, 0.25], "exact_match": [0.0, 1.0]}
    assert evaluation.details["polite_reason"].tolist() == ["as I see it"] * 2
    first = prefer(QUESTIONS[:1], QUESTIONS[:1], lambda text: "2", rubric="shorter")
    assert first.settings["rubric"] == "shorter"
    with pytest.raises(UnknownNameError, match="Did you mean 'polite'"):
        judge(QUESTIONS, "polit", chat)
    CHATS.add("mine", lambda model, **options: FunctionChat(chat, model))
    write_records(QUESTIONS)
    line = "judge records.jsonl --provider mine --model m --no-cache --judge"
    assert [row["mean"] for row in rows_of(f"{line} polite")] == [0.625]
    assert "Did you mean 'polite'" in run(f"{line} polit", 2).stderr


# -- a data set

LENGTHS = {"Seine": "777", "Rhine": "1233", "Oder": ""}
LINES = "".join(f"{river};{km}\n" for river, km in LENGTHS.items())


def river_record(row):
    river, km = row
    record = {"query_id": river.lower(), "question": f"How long is the {river}?"}
    record |= {"reference": [f"{km} km"] if km else None, "relevant": {river: 1.0} if km else None}
    return {**record, "answerable": bool(km)}


def river_parts(request):
    text = LINES if request.path is None else request.path.read_text(encoding="utf-8")
    return [DatasetPart("rivers", [line.split(";") for line in text.splitlines()], river_record)]


def river_documents(request):
    yield from ((river, river, f"The {river}: {km} km.") for river, km in LENGTHS.items())


RIVERS = Dataset("rivers", "How long rivers are", "CC0", "3", river_parts, river_documents)


def test_a_data_set(join):
    join("datasets", rivers=RIVERS)
    assert load_dataset("rivers")["reference"].tolist() == [["777 km"], ["1233 km"], None]
    drawn = load_dataset("rivers", samples=2, unanswerable_ratio=0.5)
    assert sorted(drawn["answerable"]) == [False, True]
    assert load_corpus("rivers", ids=["Seine"])["text"].tolist() == ["The Seine: 777 km."]
    assert dataset_list().set_index("dataset").loc["rivers", "licence"] == "CC0"
    with pytest.raises(UnknownNameError, match="Did you mean 'rivers'"):
        load_dataset("rivrs")
    with pytest.raises(ReaderError, match=r"nowhere\.txt"):
        load_dataset("rivers", "nowhere.txt")
    Path("rivers.txt").write_text(LINES)
    counts = rows_of("datasets rivers --path rivers.txt")
    assert {row["value"]: row["n"] for row in counts}["with a reference"] == 2


# -- a reader

STARS = "STARS\nq1 ***\nq2 *****\nq3 \n"


def read_stars(source, *, symbol="*"):
    rows = [line.split(" ") for line in source.text.splitlines()[1:]]
    counts = [len(stars) if set(stars) <= {symbol} else None for _, stars in rows]
    frame = pd.DataFrame({"query_id": [query for query, _ in rows], "stars": counts})
    metrics = {"stars": {"kind": "ordinal", "bounds": (0, 5)}}
    return [ScoreFile(frame, source.stem, metrics=metrics)]


def fail(*_, **__):
    raise ZeroDivisionError("division by zero")


@pytest.fixture
def add_reader():
    def add(**fields):
        recognise = fields.pop("recognise", lambda source: 0.95 * source.head.startswith(b"STARS"))
        reader = Reader("stars", "stars", recognise, **{"read": read_stars, **fields})
        READERS.add("stars", reader)

    Path("run.stars").write_text(STARS)
    return add


def test_a_reader(add_reader):
    add_reader(options=("symbol",))
    loaded = RAGPipelineEvaluation.load("mine", "run.stars")
    assert loaded.scores["stars"].tolist() == [3.0, 5.0, 0.0]
    assert loaded.metrics["stars"].bounds == (0.0, 5.0)
    assert read_scores("run.stars")["run"].scores.equals(loaded.scores)
    assert [(row["metric"], row["n"]) for row in rows_of("report run.stars")] == [("stars", 3)]
    Path("run.stars").write_text(STARS.replace("*", "+"))
    assert run("export run.stars --option symbol=+").stdout.splitlines()[1].startswith("q1,3")
    with pytest.raises(DataError, match=r"has no option 'symbl'\. Did you mean 'symbol'"):
        RAGPipelineEvaluation.load("mine", "run.stars", symbl="+")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"read": fail}, "the reader 'stars' of .* failed: ZeroDivisionError: division by zero"),
        ({"read": lambda _: []}, r"run\.stars contains no pipeline"),
        ({"read": lambda _: pd.DataFrame()}, r"the reader 'stars' of \S+ returned a DataFrame"),
    ],
)
def test_a_reader_that_fails_is_blamed_by_name(add_reader, fields, message):
    add_reader(**fields)
    with pytest.raises(DataError, match=message):
        RAGPipelineEvaluation.load("mine", "run.stars")


def test_a_reader_that_cannot_look_at_a_file_is_skipped(add_reader):
    add_reader(read=fail)
    assert "the reader 'stars' of" in run("report run.stars", 2).stderr
    add_reader(recognise=fail)
    Path("run.csv").write_text("query_id,recall\na,0.5\n")
    with pytest.warns(RagevalWarning, match="the reader 'stars' of .* failed and is skip"):
        assert list(read_scores("run.csv")) == ["run"]


# -- a format, and a plot

OLD = "query_id,recall@5,mrr\na,0.5,1\nb,1,0.5\n"


def render_rst(result, *, underline="="):
    title = f"{result.title}\n{underline * len(result.title)}\n"
    return title + "".join(f"\n:{row.metric}: {row.mean:g}" for row in result.frame.itertuples())


def test_a_format():
    RENDERERS.add("rst", Renderer("rst", render_rst, suffixes=(".rst",), cli_name="my_format"))
    Path("old.csv").write_text(OLD)
    told = run("report old.csv --format my_format").stdout
    assert told == "Evaluation of old\n=================\n\n:recall@5: 0.75\n:mrr: 0.75\n"
    run("report old.csv -o out.rst --quiet")
    assert Path("out.rst").read_text() == told
    result = RAGPipelineEvaluation.load("old", "old.csv").evaluation_report()
    assert "\n---" in render(result, "rst", underline="-")
    with pytest.raises(TypeError, match=r"no option 'underlin'\. Did you mean 'underline'"):
        render(result, "rst", underlin="-")
    assert "'junit', 'my_format'." in run("report old.csv --format doc", 2).stderr
    assert ".md .rst .tex" in run("report old.csv -o out.doc", 2).stderr


def draw_bars(evaluation, metrics=None, *, threshold=None, ax=None):
    ax = ax or plt.figure().add_subplot()
    names = [metrics] if isinstance(metrics, str) else list(metrics or evaluation.metrics)
    ax.bar(names, [evaluation.scores[name].mean() for name in names])
    ax.set_title(f"{', '.join(names)} of {evaluation.name}")
    return ax


def test_a_plot(join):
    bars = Plot("bars", draw_bars, subject="evaluation", most_metrics=1)
    join("plots", bars=bars)
    Path("old.csv").write_text(OLD)
    evaluation = RAGPipelineEvaluation.load("old", "old.csv")
    assert evaluation.plot("bars", "mrr").get_title() == "mrr of old"
    assert plot(evaluation, bars, "mrr").get_title() == "mrr of old"
    with pytest.raises(TypeError, match=r"no option 'treshold'\. Did you mean 'threshold'"):
        plot(evaluation, "bars", treshold=3)
    save_plot(evaluation, bars, "a.png", "mrr")
    run("plot old.csv --kind bars --metric mrr --threshold 0.5 -o b.png")
    assert all(Path(name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))
    for words, message in {
        "old.csv b=old.csv --kind bars": "draws one pipeline; got 2",
        "old.csv --kind bars --metric mrr --metric recall@5": "at most 1 metric",
        "old.csv --kind bars --metric mrr --scale own": "--scale does not belong",
    }.items():
        assert message in run(f"plot {words} -o c.png", 2).stderr


# -- a figure of gates


def measure_spread(column):
    return column.measurement(column.scores.maximum - column.scores.minimum)


def measure_loss_rate(pair):
    return pair.measurement(float(pair.row["losses"] / pair.row["n"]))


def test_a_figure_of_gates():
    FIGURES.add("spread", GateFigure("the largest score minus the smallest", measure_spread))
    share = {"of": "pair", "value_range": lambda _: (0.0, 1.0), "queries": "regressions"}
    PAIR_FIGURES.add("loss_rate", GateFigure("the share of losses", measure_loss_rate, **share))
    Path("v1.csv").write_text("query_id,recall@5\na,0.25\nb,1\nc,\nd,0.75\n")
    evaluation = RAGPipelineEvaluation.load("v1", "v1.csv")
    result = evaluation.gate("spread(recall@5) >= 0.5", "spread(recall@5) <= 0.5")
    assert result.frame["passed"].tolist() == [True, False]
    why = "spread(recall@5) is 0.75, not at most 0.5 (3 scored, 1 unscored)"
    assert result.frame["why"][1] == why
    with pytest.raises(RuleError, match="Did you mean 'spread'"):
        evaluation.gate("spred(recall@5) >= 0.5")
    sides = [
        RAGPipelineEvaluation(name, {"query_id": list("abcd"), "mrr": scores})
        for name, scores in (("before", [1, 1, 0, 0.5]), ("after", [1, 0.5, 0, 0.5]))
    ]
    result = compare(*sides).gate("loss_rate(mrr) <= 10%")
    assert result.frame["value"].tolist() == [0.25]
    assert result.failing_queries()[0].frame.index.tolist() == ["b"]
    with pytest.raises(RuleError, match="is from 0 to 1, so 60 cannot be right"):
        compare(*sides).gate("loss_rate(mrr) <= 60")
    for limit, code in ((0.5, 0), (0.9, 1)):
        Path("gates.toml").write_text(f'rules = ["spread(recall@5) >= {limit}"]\n')
        [row] = rows_of("gate v1.csv --gates gates.toml", code)
        assert (row["figure"], row["metric"], row["value"]) == ("spread", "recall@5", 0.75)


# -- a test, and an interval

PVALUE = 0.0123


def median_test(pairs, *, alternative, n_resamples, seed):
    assert (alternative, n_resamples, seed) == ("two-sided", 9999, 0)
    return float(np.median(pairs.differences.listed())), PVALUE


def wide_interval(pairs, *, confidence_level, n_resamples, seed):
    return Interval(pairs.mean, pairs.mean - 0.5, pairs.mean + 0.5, 0.5, "wide", confidence_level)


def test_a_test_and_an_interval():
    PAIRED_INTERVALS.add("wide", wide_interval)
    TESTS.add("my_test", PairedTest(median_test, statistic="median difference", interval="wide"))
    TESTS.add("bare_test", median_test)
    old, new = [0.31, 0.22, 0.44, 0.05, 0.61, 0.72], [0.41, 0.35, 0.40, 0.25, 0.66, 0.81]
    assert paired_test(old, new, test="my_test").pvalue == PVALUE
    sides = [
        RAGPipelineEvaluation(name, {"query_id": list("abcdef"), "faithfulness": scores})
        for name, scores in (("old", old), ("new", new))
    ]

    [row] = compare(*sides, test="my_test").frame.to_dict("records")
    assert (row["pvalue"], row["ci_high"] - row["ci_low"]) == (PVALUE, pytest.approx(1.0))
    assert rank(*sides, test="my_test").pairs.frame["pvalue"].tolist() == [PVALUE]
    with pytest.raises(DataError, match="'bare_test' has no interval of its own"):
        compare(*sides, test="bare_test")
    for side in sides:
        side.data.to_csv(f"{side.name}.csv", index=False)
    [row] = rows_of("compare old.csv new.csv --test my_test")
    assert (row["pvalue"], row["ci_method"]) == (PVALUE, "wide")
    assert "has no interval" in run("compare old.csv new.csv --test bare_test", 2).stderr
    assert "mean 'my_test'?" in run("compare old.csv new.csv --test my_tset", 2).stderr
