"""The tables of the package as pages, made from its registries: what is listed is what there is."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generated import GeneratedPages, markdown_table

import rageval_report
from rageval_report._registry import resolve
from rageval_report.analysis.gate_figures import FIGURES, PAIR_FIGURES
from rageval_report.datasets import DATASETS
from rageval_report.judges import CHATS, JUDGES
from rageval_report.plots import PLOTS
from rageval_report.readers import READERS
from rageval_report.reports.formats import RENDERERS
from rageval_report.scores import METRICS, Metric
from rageval_report.sources import SOURCES
from rageval_report.stats import CORRECTIONS, EFFECTS, INTERVALS, PAIRED_INTERVALS, TESTS

_ROOT = Path(rageval_report.__file__).parent


def _code(text: object) -> str:
    return f"`{text}`" if str(text) else ""


def _sentence_of(member: Any) -> str:
    """The first sentence about a function, wherever the entry of a table keeps it."""
    function = getattr(member, "function", None) or getattr(member, "formula", None) or member
    text = inspect.getdoc(resolve(function)) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("``", "`")


def _bounds(metric: Metric) -> str:
    return "any number" if metric.bounds is None else "{:g} to {:g}".format(*metric.bounds)


def _metric_rows(group: str) -> Iterator[tuple[str, ...]]:
    for name, metric in METRICS.known().items():
        if metric.group == group:
            names = ", ".join(map(_code, metric.aliases))
            yield (
                _code(name),
                f"{metric.title}: {metric.description}" + (f" Also {names}." if names else ""),
                "higher" if metric.greater_is_better else "lower",
                f"{metric.kind}, {_bounds(metric)}",
                "yes" if metric.compute else "no",
            )


def metrics_page() -> str:
    """Every metric of the catalogue, by group."""
    columns = ["name", "what it is", "better", "values", "computed here"]
    groups = dict.fromkeys(metric.group for metric in METRICS.known().values())
    text = "# Metrics\n\nEvery metric that is known by name; any other number can be one too. "
    text += (
        "Metrics with a cutoff are written `recall@5`. Those that are not computed here are read "
    )
    text += "from files, or asked of a [judge](../judges.md).\n\n"
    return text + "\n".join(
        f"## {group.capitalize()} metrics\n\n{markdown_table(columns, _metric_rows(group))}"
        for group in groups
    )


def readers_page() -> str:
    """Every kind of file of scores."""
    rows = (
        (_code(name), reader.sentence, _code(reader.example), ", ".join(map(_code, reader.options)))
        for name, reader in READERS.known().items()
    )
    text = "# Readers: kinds of files\n\nThe content of a file says which reader reads it; "
    text += "`reader=` (on the command line `--reader`) overrules it. "
    text += "[Formats](../formats.md) says how columns are understood.\n\n"
    return text + markdown_table(["reader", "what it reads", "a usual name", "options"], rows)


@dataclass(frozen=True)
class _Table:
    """A registry as a table of a page."""

    title: str
    intro: str
    members: Mapping[str, Any]
    columns: tuple[str, ...]
    cells: Callable[[Any], tuple[object, ...]]

    def markdown(self) -> str:
        rows = ((_code(name), *self.cells(member)) for name, member in self.members.items())
        return f"## {self.title}\n\n{self.intro}\n\n{markdown_table(self.columns, rows)}"


def _tables() -> Iterator[_Table]:
    def described(member: Any) -> tuple[str]:
        return (_sentence_of(member),)

    two = ("name", "what it is")
    yield _Table("Tests", "For `test=` of `compare()`, and `paired_test()`.", TESTS, two, described)
    yield _Table(
        "Intervals of a mean", "For `method=` of `mean_interval()`.", INTERVALS, two, described
    )
    yield _Table(
        "Intervals of a difference",
        "For `method=` of `paired_interval()`.",
        PAIRED_INTERVALS,
        two,
        described,
    )
    yield _Table("Corrections", "For `correction=` of `compare()`.", CORRECTIONS, two, described)
    yield _Table("Effect sizes", "For `kind=` of `effect_size()`.", EFFECTS, two, described)
    yield _Table(
        "Figures of gates",
        "In rules about one pipeline, such as `mean(recall@5) >= 0.7`.",
        FIGURES,
        two,
        lambda figure: (figure.description,),
    )
    yield _Table(
        "Figures of gates with a baseline",
        "In rules about a comparison.",
        PAIR_FIGURES,
        two,
        lambda figure: (figure.description,),
    )
    yield _Table(
        "Judges",
        "For `judge()` and `rageval-report judge`.",
        JUDGES,
        ("name", "what it asks", "needs", "source"),
        lambda rubric: (rubric.question, ", ".join(map(_code, rubric.needs)), rubric.source),
    )
    yield _Table("Chat models", "Clients for judges.", CHATS, two, described)
    yield _Table(
        "Data sets",
        "For `load_dataset()` and `rageval-report eval --datasets`.",
        DATASETS,
        ("name", "what it is", "size", "licence"),
        lambda entry: (entry.sentence, entry.size, entry.licence),
    )
    yield _Table(
        "Sources",
        "Addresses that are read where a path is expected.",
        SOURCES,
        ("scheme", "what it is", "form"),
        lambda source: (source.sentence, _code(source.form)),
    )
    yield _Table(
        "Formats of results",
        "For `render()` and, by the suffix, `save()`.",
        RENDERERS,
        ("name", "suffixes"),
        lambda renderer: (", ".join(map(_code, renderer.suffixes)),),
    )
    yield _Table(
        "Plots",
        "For `plot()`; the [gallery](../gallery/index.md) shows them.",
        PLOTS,
        ("kind", "drawn of"),
        lambda entry: (entry.subject,),
    )


def tables_page() -> str:
    """All other tables."""
    text = "# Tables: tests, intervals, judges, gates, data sets, sources\n\n"
    text += "What each option can be. One more is one line; see [extending](../extending.md).\n\n"
    return text + "\n".join(table.markdown() for table in _tables())


def schemas() -> dict[str, Path]:
    """The JSON Schemas of the package, by file name."""
    return {path.name: path for path in sorted(_ROOT.rglob("*.schema.json"))}


def schemas_page() -> str:
    """Every JSON Schema: what it describes, its fields, and its text."""
    text = (
        "# JSON Schemas\n\nThe files that the library writes, as other programs can check them.\n"
    )
    for name, path in schemas().items():
        schema = json.loads(path.read_text(encoding="utf-8"))
        rows = (
            (_code(field), _type_of(rule), rule.get("description", ""))
            for field, rule in schema.get("properties", {}).items()
        )
        text += f"\n## {schema.get('title', name)}\n\n{schema.get('description', '')}\n\n"
        text += f"In the package: `{path.relative_to(_ROOT.parent).as_posix()}`.\n\n"
        text += markdown_table(["field", "type", "what it is"], rows)
        text += f"\n:::{{dropdown}} {name}\n```json\n{json.dumps(schema, indent=2)}\n```\n:::\n"
    return text


def _type_of(rule: Mapping[str, Any]) -> str:
    kinds = rule.get("type", "")
    return ", ".join(kinds) if isinstance(kinds, list) else str(kinds)


def write_tables(out: GeneratedPages) -> None:
    """Write the pages of tables."""
    out.write("reference/metrics.md", metrics_page())
    out.write("reference/readers.md", readers_page())
    out.write("reference/tables.md", tables_page())
    out.write("reference/schemas.md", schemas_page())
