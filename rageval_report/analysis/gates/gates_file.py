"""A file of gates, TOML or YAML: the rules and the settings of the gate.

::

    rules = [
      "ci_low(recall@5) >= 0.7",
      "no_regression(faithfulness, margin=0.02)",   # checked if there is a baseline
    ]
    missing = "worst"
    correct = { faithfulness = 0.8 }
    clusters = "document"                           # questions on one document count together
    margin_method = "strict"                        # no_regression also counts losses not sampled
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from rageval_report._registry import import_yaml
from rageval_report.analysis.gates.columns import GATE_MISSING, GateKeywords
from rageval_report.analysis.gates.grammar import Rule, parse_rule
from rageval_report.errors import ReaderError, UnknownNameError, explain_keywords, quoted_choices
from rageval_report.stats.equivalence import EQUIVALENCE_METHODS

_LARGEST = 1_000_000
_AT_LINE = re.compile(r"\(at line (?P<line>\d+)")

_ValueCheck = Callable[[object], bool]


@dataclass(frozen=True)
class Gates:
    """The content of a file of gates.

    Parameters
    ----------
    rules : tuple of Rule
        The parsed rules, each with its place in the file.
    settings : GateKeywords
        The other arguments of `rageval_report.analysis.gates.gate.gate`.
    """

    rules: tuple[Rule, ...]
    settings: GateKeywords = field(default_factory=GateKeywords)


@explain_keywords
def read_gates(path: str | Path) -> Gates:
    r"""Read the rules and settings of a file.

    Parameters
    ----------
    path : str or Path
        Ends in .toml, .yaml or .yml; YAML needs the extra ``yaml``. ``rules`` is a list of texts;
        ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct`` and ``clusters``
        (the name of a column) are those of `rageval_report.analysis.gates.gate.gate`, and
        ``margin_method`` is that of `compare`.

    Raises
    ------
    ReaderError
        If the file cannot be read, or contains anything else; it names the line.
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
        raise ReaderError(f"the name of a gates file must end in {', '.join(_PARSERS)}", path)
    text = _read_text(path)
    document = parse(text, path)
    if not isinstance(document, Mapping):
        raise ReaderError(
            f'expected rules = ["mean(faithfulness) >= 0.8"]; got {_describe_value(document)}', path
        )
    for key in document:
        _check_key(str(key), document[key], text, path)
    settings = {str(key): value for key, value in document.items() if key != "rules"}
    return Gates(
        _parse_rules(document.get("rules"), text, path),
        cast("GateKeywords", settings),  # `_check_key` has checked the names and the types
    )


def _read_text(path: str | Path) -> str:
    try:
        data = Path(path).read_bytes()
    except OSError as exc:
        raise ReaderError(f"cannot be read: {exc.strerror or exc}", path) from exc
    if len(data) > _LARGEST:
        raise ReaderError(
            f"expected a file of at most {_LARGEST:,} bytes; it has {len(data):,}", path
        )
    try:
        # Editors on Windows may begin a file with a byte order mark.
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise ReaderError("expected UTF-8", path, line) from exc


# -- the two formats


def _parse_toml(text: str, path: str | Path) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        match = _AT_LINE.search(str(exc))
        line = int(match["line"]) if match else None
        raise ReaderError(f"not TOML: {str(exc).partition(' (at ')[0]}", path, line) from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or an integer too long
        raise ReaderError(f"not TOML: {exc}", path) from exc


def _parse_yaml(text: str, path: str | Path) -> object:
    yaml = import_yaml()
    try:
        # The nodes keep what loading loses: repeated keys, and the line of each key.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        document: object = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        mark = getattr(exc, "problem_mark", None)
        problem = getattr(exc, "problem", None) or str(exc).partition("\n")[0]
        line = None if mark is None else mark.line + 1
        raise ReaderError(f"not YAML: {problem}", path, line) from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or not a valid date
        raise ReaderError(f"not YAML: {exc}", path) from exc
    if isinstance(root, yaml.MappingNode):
        _check_unique_keys([(key.value, key.start_mark.line + 1) for key, _ in root.value], path)
    return document


def _check_unique_keys(keys: list[tuple[object, int]], path: str | Path) -> None:
    """Refuse a repeated key, as TOML does; YAML would silently keep the last one."""
    times = Counter(str(key) for key, _ in keys)
    for key, line in reversed(keys):
        if times[str(key)] > 1:
            raise ReaderError(f"{key!r} appears twice", path, line)


_PARSERS: dict[str, Callable[[str, str | Path], object]] = {
    ".toml": _parse_toml,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}
GATES_SUFFIXES = frozenset(_PARSERS)


# -- the content


# True is an int in Python, but not a number in a file.
def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_correct(value: object) -> bool:
    is_table = isinstance(value, Mapping) and all(map(_is_number, value.values()))
    return isinstance(value, str) or is_table


_KEYS: dict[str, tuple[str, _ValueCheck]] = {
    "rules": ("a list of rules", lambda value: isinstance(value, list)),
    "missing": (quoted_choices(GATE_MISSING), lambda value: value in GATE_MISSING),
    "confidence_level": ("a number, such as 0.95", _is_number),
    "n_resamples": ("an integer", _is_integer),
    "seed": ("an integer", _is_integer),
    "correct": ("the name of a metric, or a table of thresholds", _is_correct),
    "clusters": ("the name of a column", lambda value: isinstance(value, str)),
    "margin_method": (
        quoted_choices(EQUIVALENCE_METHODS),
        lambda value: value in EQUIVALENCE_METHODS,
    ),
}


def _check_key(key: str, value: object, text: str, path: str | Path) -> None:
    line = _line_of(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*[=:]|^\s*\[+\s*{re.escape(key)}", text)
    if key not in _KEYS:
        raise ReaderError(str(UnknownNameError("setting of gates", key, _KEYS)), path, line)
    expected, is_valid = _KEYS[key]
    if not is_valid(value):
        raise ReaderError(f"{key} must be {expected}; got {_describe_value(value)}", path, line)


def _parse_rules(value: object, text: str, path: str | Path) -> tuple[Rule, ...]:
    rules = value if isinstance(value, list) else []
    if not rules:
        raise ReaderError('expected rules = ["mean(faithfulness) >= 0.8"]; there is no rule', path)
    n_before: Counter[str] = Counter()
    parsed = []
    for number, rule in enumerate(rules, start=1):
        if not isinstance(rule, str):
            line = _line_of(r"^\s*[\"']?rules", text)
            raise ReaderError(
                f"rule {number} must be a text; got {_describe_value(rule)}", path, line
            )
        line = _line_of(re.escape(rule), text, n_before[rule])
        n_before[rule] += 1
        place = f"rule {number}" if line is None or not rule.strip() else f"line {line}"
        parsed.append(parse_rule(rule, f"{path}, {place}"))
    return tuple(parsed)


def _line_of(pattern: str, text: str, skipped: int = 0) -> int | None:
    """The line of a pattern; None if it is written differently, for example with escapes."""
    for count, match in enumerate(re.finditer(pattern, text, re.MULTILINE)):
        if count == skipped:
            start = match.end() - len(match[0].lstrip())
            return text.count("\n", 0, start) + 1
    return None


def _describe_value(value: object) -> str:
    return "nothing" if value is None else f"{value!r}"[:80]
