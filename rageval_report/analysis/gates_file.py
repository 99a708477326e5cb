"""A file of gates, TOML or YAML: the rules and the settings of the gate, and how it is applied."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack, cast

from rageval_report._registry import import_yaml
from rageval_report.analysis.arguments import ScoredOrScanned
from rageval_report.analysis.compare import compare
from rageval_report.analysis.gate import GateResult, gate
from rageval_report.analysis.gate_figures import GATE_MISSING, GateKeywords
from rageval_report.analysis.rules import Rule, parse_rule
from rageval_report.errors import ReaderError, UnknownNameError, check_options, quoted_choices
from rageval_report.stats.equivalence import EQUIVALENCE_METHODS

GATES_SUFFIXES = (".toml", ".yaml", ".yml")
_LARGEST = 1_000_000


@dataclass(frozen=True)
class Gates:
    """The content of a file of gates."""

    rules: tuple[Rule, ...]
    settings: GateKeywords = field(default_factory=GateKeywords)

    def with_settings(self, **settings: Unpack[GateKeywords]) -> Gates:
        """The gates with some settings replaced."""
        check_options("a gate", settings, GateKeywords.__annotations__)
        return replace(self, settings={**self.settings, **settings})

    def check(
        self, evaluation: ScoredOrScanned, baseline: ScoredOrScanned | None = None
    ) -> GateResult:
        """Check an evaluation, alone or against a baseline, which some rules need."""
        settings = cast("dict[str, Any]", dict(self.settings))
        if baseline is None:
            settings.pop("margin_method", None)  # it needs a baseline
            return gate(evaluation, *self.rules, **settings)
        correct = settings.pop("correct", None)  # a comparison has no rule of its own
        return compare(baseline, evaluation, **settings).gate(*self.rules, correct=correct)


def read_gates(path: str | Path) -> Gates:
    r"""Read the rules and settings of a file.

    Parameters
    ----------
    path : str or Path
        Ends in .toml, .yaml or .yml; YAML needs the extra ``yaml``. ``rules`` is a list of texts;
        ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct`` and ``clusters``
        (the name of a column) are those of `rageval_report.analysis.gate.gate`, and
        ``margin_method`` is that of `compare`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "gates.toml")
    ...     _ = path.write_text('rules = ["mean(mrr) >= 0.5"]\nmissing = "worst"\n')
    ...     gates = read_gates(path)
    >>> gates.rules[0].text, gates.settings
    ('mean(mrr) >= 0.5', {'missing': 'worst'})
    """
    suffix = Path(path).suffix.lower()
    if suffix not in GATES_SUFFIXES:
        raise ReaderError(f"the name of a gates file must end in {', '.join(GATES_SUFFIXES)}", path)
    document = (_parse_toml if suffix == ".toml" else _parse_yaml)(_read_text(path), path)
    if not isinstance(document, Mapping):
        kind = _describe(document)
        raise ReaderError(f'expected rules = ["mean(faithfulness) >= 0.8"]; got {kind}', path)
    for key, value in document.items():
        if key not in _KEYS:
            raise ReaderError(str(UnknownNameError("setting of gates", key, _KEYS)), path)
        expected, is_valid = _KEYS[key]
        if not is_valid(value):
            raise ReaderError(f"{key} must be {expected}; got {_describe(value)}", path)
    rules = document.get("rules") or []
    if not rules:
        raise ReaderError(
            'expected rules = ["mean(faithfulness) >= 0.8"]; the file has no rule', path
        )
    for position, rule in enumerate(rules, start=1):
        if not isinstance(rule, str):
            raise ReaderError(f"rule {position} must be a text; got {_describe(rule)}", path)
    settings = {key: value for key, value in document.items() if key != "rules"}
    # The names and the types of the settings are checked above.
    parsed = (parse_rule(rule, f"{path}, rule {n}") for n, rule in enumerate(rules, start=1))
    return Gates(tuple(parsed), cast("GateKeywords", settings))


def _read_text(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as exc:
        raise ReaderError(f"cannot be read: {exc.strerror or exc}", path) from exc
    if len(data) > _LARGEST:
        raise ReaderError(f"must have at most {_LARGEST:,} bytes; it has {len(data):,}", path)
    try:
        # Editors on Windows may begin a file with a byte order mark.
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise ReaderError("expected UTF-8", path, data.count(b"\n", 0, exc.start) + 1) from exc


def _parse_toml(text: str, path: str | Path) -> object:
    try:
        return tomllib.loads(text)
    except (RecursionError, ValueError) as exc:  # also nested too deeply, or an integer too long
        place = re.search(r"\(at line (\d+)", str(exc))
        problem, line = str(exc).partition(" (at ")[0], int(place[1]) if place else None
        raise ReaderError(f"not TOML: {problem}", path, line) from exc


def _parse_yaml(text: str, path: str | Path) -> object:
    yaml = import_yaml()
    try:
        # The nodes keep what loading loses: repeated keys, and the line of each key.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document: object = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:  # also a date that is none
        mark = getattr(exc, "problem_mark", None)
        problem = getattr(exc, "problem", None) or str(exc).partition("\n")[0]
        raise ReaderError(f"not YAML: {problem}", path, mark and mark.line + 1) from exc
    seen: set[str] = set()
    for key, _ in root.value if isinstance(root, yaml.MappingNode) else ():
        # As in TOML; YAML would silently keep the last one.
        if str(key.value) in seen:
            raise ReaderError(f"{key.value!r} appears twice", path, key.start_mark.line + 1)
        seen.add(str(key.value))
    return {str(key): document[key] for key in document} if isinstance(document, dict) else document


def _is_number(value: object) -> bool:
    return type(value) in (int, float)  # by type: True is an int in Python, but none in a file


def _is_correct(value: object) -> bool:
    is_table = isinstance(value, Mapping) and all(map(_is_number, value.values()))
    return is_table or isinstance(value, str)


_KEYS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "rules": ("a list of rules", lambda value: isinstance(value, list)),
    "missing": (quoted_choices(GATE_MISSING), lambda value: value in GATE_MISSING),
    "confidence_level": ("a number, such as 0.95", _is_number),
    "n_resamples": ("an integer", lambda value: type(value) is int),
    "seed": ("an integer", lambda value: type(value) is int),
    "correct": ("the name of a metric, or a table of thresholds", _is_correct),
    "clusters": ("the name of a column", lambda value: isinstance(value, str)),
    "margin_method": (quoted_choices(EQUIVALENCE_METHODS), lambda v: v in EQUIVALENCE_METHODS),
}


def _describe(value: object) -> str:
    return "nothing" if value is None else f"{value!r}"[:80]
