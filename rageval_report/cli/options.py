"""The options of the command line: options.toml has a line for each, and here is what it becomes.

The name of an option is where its value goes: an attribute of `Options`, and mostly the keyword of
the library's function. Another command is described in commands.toml, see `command`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from rageval_report.files.strict_json import load_json
from rageval_report.reports.formats import RENDERERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rageval_report.scores import Metric

    _ValueType = click.ParamType[Any]  # generic for type checkers only: click 8.1 is not
else:
    _ValueType = click.ParamType


class Options(SimpleNamespace):
    """What the command line says: the value of every option and argument by its name."""

    def get(self, name: str, default: Any = None) -> Any:
        """A value, or the default if the command has no such option."""
        return vars(self).get(name, default)

    def only(self, *names: str) -> dict[str, Any]:
        """Some of the values, as keywords of the library; nothing chosen is None."""
        values = vars(self)
        return {name: None if values[name] == () else values[name] for name in names}

    def having(self, **values: object) -> Options:
        """The same options with other values."""
        return Options(**{**vars(self), **values})


def stated_flags(names: Iterable[str]) -> list[str]:
    """The flags of those options that the user wrote on the command line."""
    context = click.get_current_context(silent=True)
    if context is None:
        return []
    flags = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    return [
        flags[name]
        for name in names
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]


# -- kinds of values


class Kind(_ValueType):
    """A kind of value: how its text is read, and what was expected if it cannot be.

    Parameters
    ----------
    expected : str
        The end of the message "expected ...".
    read : callable
        It takes the text and raises a ValueError if it is wrong.
    is_secret : bool
        Whether the message shows only the first word of the text.
    """

    def __init__(self, expected: str, read: Callable[[str], object], *, is_secret: bool = False):
        self.name = "value"
        self._expected, self._read, self._is_secret = expected, read, is_secret

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The value; a default is one already."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except (ValueError, RecursionError):
            shown = re.split(r"[=:\s]", value, maxsplit=1)[0] if self._is_secret else value
            what = "a text that begins with " if self._is_secret else ""
            self.fail(f"expected {self._expected}; got {what}{shown!r}", param, ctx)


class LateChoice(_ValueType):
    """A name of a table that plug-ins add to: it is read when a value is checked."""

    name = "choice"

    def __init__(self, names: Callable[[], list[str]]):
        self._names = names

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The names, as `click.Choice` shows them."""
        del param, ctx
        return f"[{'|'.join(self._names())}]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The name, if the table has it."""
        if value not in self._names():
            listed = ", ".join(map(repr, self._names()))
            self.fail(f"{value!r} is not one of {listed}.", param, ctx)
        return value


class Threshold(NamedTuple):
    """A part of a rule, such as ``faithfulness>=0.8``."""

    metric: str
    sign: str
    value: float


@dataclass(frozen=True)
class CorrectRule:
    """What a correct answer is: a name, or thresholds that must all hold."""

    name: str
    thresholds: tuple[Threshold, ...] = ()

    @classmethod
    def read(cls, text: str) -> CorrectRule:
        """The rule of a text.

        Examples
        --------
        >>> CorrectRule.read("faithfulness>=0.8, latency_ms<=2000").value
        {'faithfulness': 0.8, 'latency_ms': 2000.0}
        """
        if "," not in text and not re.search("[<>]", text):
            return cls(text.strip())
        parts = [re.fullmatch(r"\s*(.+?)\s*(>=|<=)\s*(\S+)\s*", part) for part in text.split(",")]
        if not all(parts):
            raise ValueError(text)
        return cls("", tuple(Threshold(p[1], p[2], float(p[3])) for p in parts if p))

    @property
    def value(self) -> str | dict[str, float]:
        """The rule as the library takes it."""
        return self.name or {part.metric: part.value for part in self.thresholds}

    @property
    def metrics(self) -> list[str]:
        """The metrics, or the column of booleans, that it names."""
        return [self.name] if self.name else [part.metric for part in self.thresholds]

    def check(self, metrics: Mapping[str, Metric]) -> None:
        """Refuse a threshold that asks for bad scores; the metric knows which direction is good."""
        from rageval_report.errors import DataError
        from rageval_report.scores import resolver

        for part in self.thresholds:
            metric = metrics[resolver(metrics)(part.metric)]
            sign, direction = (">=", "higher") if metric.greater_is_better else ("<=", "lower")
            if part.sign != sign:
                raise DataError(
                    f"{metric.name}: {direction} is better, so a correct answer has "
                    f"{metric.name}{sign}{part.value:g}; if the opposite is true, say so with "
                    f"--{'lower' if metric.greater_is_better else 'higher'} {metric.name}"
                )


def read_share(text: str) -> float:
    """A number, or a percentage.

    Examples
    --------
    >>> read_share("0.95"), read_share("95 %")
    (0.95, 0.95)
    """
    number, percent, rest = text.partition("%")
    if rest.strip():
        raise ValueError(text)
    return float(number) / 100 if percent else float(number)


def read_names(text: str) -> tuple[str, ...]:
    """The names in a list with commas; one within parentheses or beside a space separates nothing.

    Examples
    --------
    >>> read_names("recall@5,mrr"), read_names("success, weighted")
    (('recall@5', 'mrr'), ('success, weighted',))
    """
    return tuple(part for part in re.split(r"(?<!\s),(?!\s)(?![^(]*\))", text) if part)


def _read_numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))


def _read_pair(text: str, *, read: Callable[[str], object] = str) -> dict[str, object]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise ValueError(text)
    return {name.strip(): read(value.strip())}


def _read_last_pair(text: str, *, read: Callable[[str], object] = str) -> dict[str, object]:
    """A pair whose name may contain "=", such as a column or a file."""
    name, _, value = text.rpartition("=")
    if not name.strip():
        raise ValueError(text)
    return {name.strip(): read(value.strip())}


def _read_number_pairs(text: str) -> dict[str, float]:
    parts = [part.rpartition("=") for part in text.split(",")]
    if not all(name.strip() for name, _, _ in parts):
        raise ValueError(text)
    return {name.strip(): float(number) for name, _, number in parts}


def _read_range(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    return float(low), float(high)


def _read_price(text: str) -> tuple[float, float]:
    price = _read_range(text)
    if not all(0.0 <= value < float("inf") for value in price):
        raise ValueError(text)
    return price


def _read_margin(text: str) -> float | dict[str, float]:
    if "=" not in text:
        return read_share(text)
    margins: dict[str, float] = {}
    for part in text.split(","):
        name, _, size = part.rpartition("=")
        if not name.strip() or name.strip() in margins:
            raise ValueError(text)
        margins[name.strip()] = read_share(size)
    return margins


def _read_threshold(text: str) -> float | str:
    try:
        return read_share(text)
    except ValueError:
        return {"avg": "mean", "average": "mean"}.get(text, text)  # else "p25", "median", ...


def _read_counts(text: str) -> tuple[int, ...]:
    counts = re.fullmatch(r"\s*(\d+)/(\d+)\s*,\s*(\d+)/(\d+)\s*", text)
    if counts is None:
        raise ValueError(text)
    return tuple(map(int, counts.groups()))


NAMES = Kind("names", read_names)
FORMAT = LateChoice(lambda: [renderer.cli_name for renderer in RENDERERS.loaded().values()])

# By the names in options.toml.
KINDS: dict[str, click.ParamType[Any]] = {
    "text": click.STRING,
    "flag": click.BOOL,
    "int": click.INT,
    "float": click.FLOAT,
    "count": click.IntRange(1),
    "seconds": click.FloatRange(0),
    "port": click.IntRange(0, 65535),
    "threads": click.IntRange(1, 64),
    "path": click.Path(path_type=Path),
    "folder": click.Path(path_type=Path, file_okay=False),
    "format": FORMAT,
    "names": NAMES,
    "share": Kind("a share such as 0.05 or 5%", read_share),
    "numbers": Kind("numbers separated by commas, such as 10,25,50", _read_numbers),
    "pair": Kind("NAME=VALUE", _read_pair),
    "secret pair": Kind("NAME=VALUE", _read_pair, is_secret=True),
    "number pair": Kind("NAME=NUMBER, such as recall=2", _read_number_pairs),
    "share pair": Kind("NAME=SHARE, such as 500=5%", partial(_read_pair, read=read_share)),
    "part pair": Kind("FILE=SHARE, such as a.jsonl=30%", partial(_read_last_pair, read=read_share)),
    "role pair": Kind("COLUMN=ROLE, such as model=pipeline", _read_last_pair),
    "range": Kind("LOW:HIGH, such as 1:5", _read_range),
    "bounds": Kind("NAME=LOW:HIGH, such as score=1:5", partial(_read_last_pair, read=_read_range)),
    "price": Kind("SENT:RECEIVED, such as 0.15:0.6", _read_price),
    "prices": Kind(
        "MODEL=SENT:RECEIVED, such as small=0.15:0.6", partial(_read_pair, read=_read_price)
    ),
    "margin": Kind(
        "one number for all metrics, such as 0.02, or each metric once, such as "
        "faithfulness=0.05,latency_ms=50",
        _read_margin,
    ),
    "threshold": Kind("a number or a word", _read_threshold),
    "counts": Kind(
        "how many true 1 and how many true 0 the judge got right on another set, such as "
        "45/50,38/50",
        _read_counts,
    ),
    "rule": Kind(
        "the name of a metric or of a column of yes and no, or thresholds such as "
        "'faithfulness>=0.8', separated by commas",
        CorrectRule.read,
    ),
    "json": Kind("JSON", load_json, is_secret=True),
}


# -- the table


def read_table(name: str) -> dict[str, Any]:
    """A table of this folder, such as options.toml."""
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text("utf-8"))


@cache
def _rows() -> dict[str, tuple[str, dict[str, Any]]]:
    """The heading and the line of each option."""
    sections = read_table("options.toml").items()
    return {name: (heading, row) for heading, rows in sections for name, row in rows.items()}


def make_option(name: str, *, required: bool = False) -> click.Option:
    """The option of click for a line of options.toml.

    Parameters
    ----------
    name : str
        The name of the line; what stands before a colon is where the value goes.
    required : bool
        Whether it must be given.
    """
    heading, row = _rows()[name]
    words = row["flags"].split()
    flags = [word for word in words if word.startswith("-")]
    kind = row.get("kind", "text")
    settings: dict[str, Any] = {}
    if kind == "flag":
        settings = {"is_flag": True, "default": None if "/" in flags[0] else False}
    elif "default" in row:
        settings = {"default": row["default"], "show_default": True}
    if kind != "flag":
        settings["type"] = click.Choice(row["choices"]) if "choices" in row else KINDS[kind]
    return TableOption(
        [*flags, name.partition(":")[0]],
        heading=heading,
        late_help=row["help"],
        metavar=" ".join(words[len(flags) :]) or None,
        multiple=row.get("many", False),
        callback=_gather if row.get("many") else None,
        required=required,
        **settings,
    )


class TableOption(click.Option):
    """An option with a heading; its help is finished late, as plug-ins may add to it."""

    def __init__(self, words: list[str], heading: str, late_help: str, **settings: Any):
        super().__init__(words, **settings)
        self.heading, self._late_help = heading, late_help

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The flags, and the help with the names that are known now."""
        from rageval_report.plots import PLOTS

        self.help = self._late_help
        if "{suffixes}" in self.help:
            suffixes = " ".join(entry.suffixes[0] for entry in RENDERERS.loaded().values())
            self.help = self.help.replace("{suffixes}", suffixes)
        elif "{plots}" in self.help:
            self.help = self.help.replace("{plots}", ", ".join(PLOTS.loaded()))
        return super().get_help_record(ctx)


def _gather(_context: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    """All values of an option that may be repeated: pairs in one dict, lists in one tuple."""
    if values and isinstance(values[0], dict):
        return {name: value for pair in values for name, value in pair.items()}
    if parameter.type is NAMES:
        return tuple(name for names in values for name in names)
    return values
