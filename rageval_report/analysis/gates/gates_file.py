"""A file of gates, TOML or YAML: the rules, and the settings under which they are asked.

::

    rules = [
      "ci_low(recall@5) >= 0.7",
      "no_regression(faithfulness, margin=0.02)",   # asked where there is a baseline
    ]
    missing = "worst"
    correct = { faithfulness = 0.8 }
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rageval_report._registry import load
from rageval_report.analysis.gates.figures import MISSING
from rageval_report.analysis.gates.grammar import Rule, parse_rule
from rageval_report.errors import ReaderError, UnknownNameError

_LARGEST = 1_000_000
_AT_LINE = re.compile(r"\(at line (?P<line>\d+)")

_Check = Callable[[object], bool]


@dataclass(frozen=True)
class Gates:
    """What a file of gates says.

    Parameters
    ----------
    rules : tuple of Rule
        Parsed, each with the place where it stands.
    settings : dict of str to object
        What `rageval_report.analysis.gates.gate.gate` takes besides.
    """

    rules: tuple[Rule, ...]
    settings: dict[str, Any] = field(default_factory=dict)


def read_gates(path: str | Path) -> Gates:
    r"""The rules and settings of a file.

    Parameters
    ----------
    path : str or Path
        Ends in .toml, .yaml or .yml; YAML needs the extra ``yaml``. ``rules`` is a list of texts;
        ``missing``, ``confidence_level``, ``n_resamples``, ``seed`` and ``correct`` are those of
        `rageval_report.analysis.gates.gate.gate`.

    Raises
    ------
    ReaderError
        If the file cannot be read, or holds anything else; it names the line.
    RuleError
        If a rule cannot be read; it names the line and points at the character.
    MissingDependencyError
        If it is YAML, and the extra is not installed.

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
    parse = _PARSERS.get(Path(path).suffix.lower())
    if parse is None:
        raise ReaderError(f"a file of gates ends in {', '.join(_PARSERS)}", path)
    text = _text_of(path)
    document = parse(text, path)
    if not isinstance(document, Mapping):
        raise ReaderError(
            f'expected rules = ["mean(faithfulness) >= 0.8"]; got {_kind(document)}', path
        )
    for key in document:
        _check_key(str(key), document[key], text, path)
    return Gates(
        _rules(document.get("rules"), text, path),
        {str(key): value for key, value in document.items() if key != "rules"},
    )


def _text_of(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as exc:
        raise ReaderError(f"cannot be read: {exc.strerror or exc}", path) from exc
    if len(data) > _LARGEST:
        raise ReaderError(
            f"a file of gates has at most {_LARGEST:,} bytes, not {len(data):,}", path
        )
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise ReaderError("expected UTF-8", path, line) from exc


# -- the two formats


def _toml(text: str, path: str | Path) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        found = _AT_LINE.search(str(exc))
        line = int(found["line"]) if found else None
        raise ReaderError(f"not TOML: {str(exc).partition(' (at ')[0]}", path, line) from exc
    except RecursionError as exc:
        raise ReaderError("not TOML: nested too deeply", path) from exc


def _yaml(text: str, path: str | Path) -> object:
    yaml = load("yaml")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document: object = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        problem = getattr(exc, "problem", None) or str(exc).partition("\n")[0]
        line = None if mark is None else mark.line + 1
        raise ReaderError(f"not YAML: {problem}", path, line) from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or a date that is none
        raise ReaderError(f"not YAML: {exc}", path) from exc
    if isinstance(root, yaml.MappingNode):
        _check_once([(key.value, key.start_mark.line + 1) for key, _ in root.value], path)
    return document


def _check_once(keys: list[tuple[Any, int]], path: str | Path) -> None:
    """TOML refuses a key that stands there twice; of YAML's the last would win in silence."""
    times = Counter(str(key) for key, _ in keys)
    for key, line in reversed(keys):
        if times[str(key)] > 1:
            raise ReaderError(f"{key!r} stands there twice", path, line)


_PARSERS: dict[str, Callable[[str, str | Path], object]] = {
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
}


# -- what it says


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_correct(value: object) -> bool:
    is_table = isinstance(value, Mapping) and all(_is_number(one) for one in value.values())
    return isinstance(value, str) or is_table


_KEYS: dict[str, tuple[str, _Check]] = {
    "rules": ("a list of rules", lambda value: isinstance(value, list)),
    "missing": (" or ".join(f'"{one}"' for one in MISSING), lambda value: value in MISSING),
    "confidence_level": ("a number, as 0.95", _is_number),
    "n_resamples": ("a whole number", _is_whole),
    "seed": ("a whole number", _is_whole),
    "correct": ("the name of a metric, or a table of thresholds", _is_correct),
}


def _check_key(key: str, value: object, text: str, path: str | Path) -> None:
    line = _line_of(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*[=:]|^\s*\[+\s*{re.escape(key)}", text)
    if key not in _KEYS:
        raise ReaderError(str(UnknownNameError("setting of gates", key, _KEYS)), path, line)
    expected, is_right = _KEYS[key]
    if not is_right(value):
        raise ReaderError(f"{key!r} must be {expected}; got {_kind(value)}", path, line)


def _rules(told: object, text: str, path: str | Path) -> tuple[Rule, ...]:
    rules = told if isinstance(told, list) else []
    if not rules:
        raise ReaderError('expected rules = ["mean(faithfulness) >= 0.8"]; there is no rule', path)
    seen: Counter[str] = Counter()
    found = []
    for number, rule in enumerate(rules, start=1):
        if not isinstance(rule, str):
            line = _line_of(r"^\s*[\"']?rules", text)
            raise ReaderError(f"rule {number} must be a text; got {_kind(rule)}", path, line)
        line = _line_of(re.escape(rule), text, seen[rule])
        seen[rule] += 1
        place = f"rule {number}" if line is None or not rule.strip() else f"line {line}"
        found.append(parse_rule(rule, f"{path}, {place}"))
    return tuple(found)


def _line_of(pattern: str, text: str, skipped: int = 0) -> int | None:
    """The line on which a pattern stands; None where it is written otherwise, as with escapes."""
    for count, match in enumerate(re.finditer(pattern, text, re.MULTILINE)):
        if count == skipped:
            start = match.end() - len(match[0].lstrip())
            return text.count("\n", 0, start) + 1
    return None


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{value!r}"[:80]
