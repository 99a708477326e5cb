"""Scans of small tables, which say what memory says; results and pages as files."""

from __future__ import annotations

import html.parser
import math
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
from made import demo, pipelines
from promises import DATA, parsed
from views import attempts

import rageval_report as rr

scan = rr.RAGPipelineEvaluation.scan
METRICS = ["faithfulness", "recall@5", "exact_match", "latency_ms"]


@cache
def scans(form: str) -> list[Any]:
    """Three pipelines of 60 queries in files of a form, and the two of the demonstration."""
    if form == "csv":
        return [scan(DATA / "demo" / f"{name}.csv", name=name) for name in ("bm25", "hybrid")]
    places = [Path("scans") / form / one.name for one in pipelines()[:3]]
    for place, one in zip(places, pipelines(), strict=False):
        place.mkdir(parents=True, exist_ok=True)
        table = one.to_frame().reset_index()
        for n, part in enumerate((table[:25], table[25:]) if form == "parts" else (table,)):
            part.to_parquet(place / f"{n}.parquet", index=False)
    source = "{}/*.parquet" if form == "parts" else "{}/0.parquet"
    return [scan(source.format(place), name=place.name, metrics=METRICS) for place in places]


def memory(form: str) -> list[Any]:
    """The same pipelines in memory."""
    if form == "csv":
        return list(demo())
    return [
        rr.RAGPipelineEvaluation(p.name, p.to_frame(), metrics=METRICS) for p in pipelines()[:3]
    ]


QUESTIONS: dict[str, Callable[..., Any]] = {
    "report": lambda a, *_: a.evaluation_report(),
    "aggregates": lambda a, *_: a.get_aggregated_scores(),
    "thresholds": lambda a, *_: a.find_thresholds(),
    "failures": lambda a, *_: a.failures("faithfulness", "p25"),
    "gate": lambda a, *_: a.gate("mean(faithfulness) >= 0.4", "n(faithfulness) >= 50"),
    "gate of two": lambda a, b, *_: rr.compare(a, b).gate("no_regression(recall@5, margin=0.1)"),
    "compare": lambda a, *others: rr.compare(a, *others),
    "compare, worst": lambda a, b, *_: rr.compare(a, b, missing="worst", metrics="faithfulness"),
    "compare, t": lambda a, b, *_: rr.compare(a, b, test="t", correction="bh"),
    "rank": lambda *all_: rr.rank(*all_),
    "regressions": lambda a, b, *_: rr.compare(a, b).regressions("recall@5").sort_index(),
    "improvements": lambda a, b, *_: rr.compare(a, b).improvements("recall@5").sort_index(),
    "by a column": lambda a, *_: a.slices("domain" if a.name == "bm25" else "topic"),
    "compare by a column": lambda a, b, *_: rr.compare(a, b).slices(
        "domain" if a.name == "bm25" else "topic", metrics="recall@5"
    ),
    "unknown metric": lambda a, *_: a.failures("recal", 0.5),
    "unknown column": lambda a, *_: a.slices("colour"),
}


OF_PARTS = ("report", "gate", "compare", "compare, worst", "rank", "regressions", "by a column")


def asked(form: str, question: str) -> dict[str, Any]:
    """What the scans say, and the largest difference of a number from memory."""
    ask = QUESTIONS[question]
    tries = {"scan": partial(ask, *scans(form)), "memory": partial(ask, *memory(form))}
    said = attempts(tries)()
    return {"scan": said["scan"], "as_in_memory": alike(said["scan"], said["memory"])}


def alike(one: Any, other: Any) -> bool:
    """Whether all that both say is equal, numbers to 1e-6."""
    match one, other:
        case dict(), dict():
            return all(alike(one[key], other[key]) for key in one.keys() & other.keys())
        case list(), list():
            return len(one) == len(other) and all(map(alike, one, other))
        case float() | int(), float() | int():
            return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9) or one != one != other
    return bool(one == other)


def bad() -> dict[str, Any]:
    """Scans of what cannot be scanned."""
    twice = Path("twice.csv")
    twice.write_text("query_id,recall\na,1\na,0\n", "utf-8")
    table = {
        "no such file": lambda: scan("nowhere.parquet").evaluation_report(),
        "no such glob": lambda: scan("nowhere/*.parquet"),
        "id twice": lambda: scan(twice).evaluation_report(),
        "another kind": lambda: scan(5),
        "unknown engine": lambda: scan(twice, engine="spork"),
        "query id": lambda: scan(DATA / "demo" / "bm25.csv", query_id="nom").evaluation_report(),
        "collected": lambda: scans("csv")[0].collect().get_aggregated_scores(),
    }
    return attempts(table)()


# --- results as files --------------------------------------------------------------------------

RESULTS: dict[str, Callable[[], Any]] = {
    "report": lambda: demo()[0].evaluation_report(),
    "comparison": lambda: rr.compare(*demo()),
    "ranking": lambda: rr.rank(*pipelines()),
    "gate": lambda: demo()[0].gate("mean(recall@5) >= 0.5", "mean(exact_match) >= 0.9"),
    "thresholds": lambda: demo()[0].find_thresholds(),
}


def files(name: str) -> dict[str, Any]:
    """A result as files: JSON, CSV and JUnit parsed; the rows of Markdown and LaTeX."""
    result = RESULTS[name]()
    suffixes = ["json", "csv", "md", "tex", *(["xml"] if name == "gate" else [])]
    for suffix in suffixes:
        result.save(f"{name}.{suffix}")
    table = re.findall(r"^\|(.*)\|$", Path(f"{name}.md").read_text("utf-8"), re.MULTILINE)
    lines = re.findall(r"^ *(.*)\\\\$", Path(f"{name}.tex").read_text("utf-8"), re.MULTILINE)
    written = {suffix: parsed(f"{name}.{suffix}") for suffix in suffixes if suffix[0] in "jcx"}
    return {
        **written,
        "json": pd.DataFrame(written["json"]["rows"]),
        "markdown": [row.partition("|")[0].strip() for row in table if "--" not in row],
        "latex": [line.partition("&")[0].strip() for line in lines],
    }


class Captions(html.parser.HTMLParser):
    """The captions of tables and the headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, _: Any) -> None:
        self.inside = tag in ("caption", "h2")

    def handle_data(self, text: str) -> None:
        if self.inside:
            self.found.append(text)
        self.inside = False


def page(name: str, made: Callable[[], Any]) -> list[str]:
    """The tables and headings of a page."""
    made().save(f"{name}.html")
    captions = Captions()
    captions.feed(Path(f"{name}.html").read_text("utf-8"))
    return sorted(set(captions.found))


CALLS: dict[str, Callable[[], Any]] = {
    **{f"csv: {question}": partial(asked, "csv", question) for question in QUESTIONS},
    **{f"parts: {question}": partial(asked, "parts", question) for question in OF_PARTS},
    "one Parquet file: compare": partial(asked, "parquet", "compare"),
    "bad input": bad,
    **{f"files of a {name}": partial(files, name) for name in RESULTS},
    "page of one": partial(page, "one", lambda: demo()[0].report(by="domain")),
    "page of two": partial(page, "two", lambda: rr.compare(*demo()).report()),
    "page of many": partial(page, "many", lambda: rr.rank(*pipelines()).report()),
}
