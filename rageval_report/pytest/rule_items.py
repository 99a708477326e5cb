"""Files of gates as tests, the scores they check, and `assert_gates`; loaded with pandas."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TypeVar, Unpack

import pytest

from rageval_report.analysis.gate import GateResult, Outcome, failing_queries
from rageval_report.analysis.gate_figures import GateKeywords
from rageval_report.analysis.gates_file import GATES_SUFFIXES, Gates, read_gates
from rageval_report.analysis.rules import IN_PYTHON, Rule, parse_rule
from rageval_report.cli.sources import Loading
from rageval_report.errors import GateError, RagevalError, RagevalWarning, is_doubt, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.pytest import file_named, gates_path, require_file
from rageval_report.reports.cells import clean
from rageval_report.reports.sentences import number

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ScoreFiles:
    """The evaluation to check, and what it is compared with."""

    evaluation: RAGPipelineEvaluation
    baseline: RAGPipelineEvaluation | None = None


_READ = pytest.StashKey[ScoreFiles]()


def score_files(config: pytest.Config) -> ScoreFiles:
    """The evaluations that the options name, read at the first call."""
    if _READ not in config.stash:
        config.stash[_READ] = failing_plainly(lambda: _read(config))
    return config.stash[_READ]


def gates_of(path: Path) -> Gates:
    """The rules and settings of a file of gates."""
    return failing_plainly(lambda: read_gates(path))


def failing_plainly(action: Callable[[], T]) -> T:
    """The result of an action; its errors about files and rules fail a test without a traceback."""
    try:
        return action()
    except (RagevalError, pytest.UsageError) as exc:
        message = str(exc).replace(IN_PYTHON, "--rageval-baseline FILE")
    pytest.fail(message, pytrace=False)  # here, so that pytest does not show the error twice


def _read(config: pytest.Config) -> ScoreFiles:
    scores, baseline = require_file(config, "scores"), file_named(config, "baseline")
    *before, evaluation = Loading().load_all([*([baseline] if baseline else []), scores])
    return ScoreFiles(evaluation, *before)


class GatesCollector:
    """The hooks that collect files of gates; registered only if the command line asks for gates."""

    def __init__(self, config: pytest.Config):
        self._scores = require_file(config, "scores")
        self._baseline = file_named(config, "baseline")
        # Without the option, files of gates are arguments, as files of tests are, or else the one
        # of the configuration. With it, a .yaml argument may belong to another plug-in.
        folder = config.invocation_params.dir
        arguments = [folder / argument.partition("::")[0] for argument in config.args]
        paths = [path for path in arguments if path.suffix.lower() in GATES_SUFFIXES]
        if config.getoption("rageval_gates") or not paths:
            paths = [gates_path(config)]
        self._paths = dict.fromkeys(path.resolve() for path in paths)
        self._collected: set[Path] = set()

    def pytest_report_header(self) -> str:
        """The files, in the lines above the tests."""
        against = f" against {self._baseline}" if self._baseline else ""
        return f"rageval-report: gates of {self._scores}{against}"

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """The rules of a file that is an argument; other .toml and .yaml files are left alone."""
        if parent.session.isinitpath(file_path) and file_path.resolve() in self._paths:
            return GatesFile.from_parent(parent, path=file_path)
        return None

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Remember which files were collected, with or without success."""
        if isinstance(collector, GatesFile):
            self._collected.add(collector.path.resolve())

    # First, so that -k and other selections apply to the rules too.
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the rules of the other files after all tests, which may write the scores."""
        for path in self._paths:
            if path not in self._collected:
                items.extend(session.genitems(GatesFile.from_parent(session, path=path)))


class GatesFile(pytest.File):
    """A file of gates; its rules are checked together, because p-values are adjusted over them."""

    _gates: Gates
    _outcomes: tuple[Outcome, ...]

    def collect(self) -> Iterable[RuleItem]:
        """One test per rule, named as the rule is written."""
        try:
            self._gates = read_gates(self.path)
        except RagevalError as exc:
            raise self.CollectError(str(exc)) from exc
        names = _unique_names(clean(rule.text) for rule in self._gates.rules)
        for place, name in enumerate(names):
            yield RuleItem.from_parent(self, name=name, number=place)

    def setup(self) -> None:
        """Check all rules; what cannot be read is an error of each of them."""
        failing_plainly(self._evaluate)

    def _evaluate(self) -> None:
        files = score_files(self.config)
        result = self._gates.check(files.evaluation, files.baseline)
        self._outcomes = result.outcomes
        for doubt in filter(is_doubt, result.notes):
            self.warn(RagevalWarning(doubt))

    def outcome(self, number: int) -> Outcome:
        """The outcome of a rule, by its place in the file."""
        return self._outcomes[number]


def _unique_names(texts: Iterable[str]) -> Iterable[str]:
    """The texts; one that was there before gets its number, as ids of tests must be unique."""
    times: Counter[str] = Counter()
    for text in texts:
        times[text] += 1
        yield text if times[text] == 1 else f"{text} ({times[text]})"


class RuleItem(pytest.Item):
    """The test of one rule."""

    def __init__(self, name: str, parent: GatesFile, number: int):
        super().__init__(name, parent)
        self._file, self._number = parent, number

    def runtest(self) -> None:
        """Fail if the rule does not hold, with the reason and the queries to look at."""
        outcome = self._file.outcome(self._number)
        self.user_properties.extend(outcome_properties(outcome))
        if not outcome.passed:
            pytest.fail(failure_text(outcome), pytrace=False)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and the rule, for the report of pytest."""
        return self.path, None, self.name


def failure_text(outcome: Outcome) -> str:
    """The text of a rule that does not hold."""
    return "\n".join(map(clean, _lines(outcome)))


def _lines(outcome: Outcome) -> Iterator[str]:
    yield outcome.why
    interval = outcome.measurement
    # The sentence of a rule on a limit has that limit as its value, and no interval.
    if outcome.request.limit and not math.isnan(interval.low) and not math.isnan(interval.high):
        level = f"{100 * outcome.level:g} % CI"
        yield f"{level} {number(interval.low)} to {number(interval.high)}"
    queries = failing_queries(outcome)
    if queries is not None:
        yield f"{queries.title}: {named(map(str, queries.frame.index))}"


def outcome_properties(outcome: Outcome) -> list[tuple[str, object]]:
    """The value, its interval and its counts, as properties of a test in JUnit XML."""
    measurement = outcome.measurement
    figures = {
        "pipeline": outcome.run.name,
        "state": outcome.state,
        "value": measurement.value,
        "ci_low": measurement.low,
        "ci_high": measurement.high,
        "threshold": outcome.request.threshold,
        "n": measurement.n,
        "n_unscored": measurement.n_unscored,
    }
    is_missing = {name: isinstance(x, float) and math.isnan(x) for name, x in figures.items()}
    return [(name, value) for name, value in figures.items() if not is_missing[name]]


def assert_gates(
    evaluation: RAGPipelineEvaluation,
    gates: str | PathLike[str] | Gates | Iterable[str | Rule],
    baseline: RAGPipelineEvaluation | None = None,
    **options: Unpack[GateKeywords],
) -> GateResult:
    """Fail the test if a rule does not hold on an evaluation.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        The scores to check.
    gates : str, Path, Gates, or iterable of str
        A file of gates, .toml or .yaml; its content, as `rageval_report.read_gates` gives it; or
        rules such as ``["ci_low(recall@5) >= 0.7"]``.
    baseline : RAGPipelineEvaluation, optional
        The scores that they are compared with, e.g. for no_regression.
    **options
        ``missing``, ``confidence_level``, ``n_resamples``, ``seed``, ``correct`` and ``clusters``,
        which override those of the file.

    Returns
    -------
    GateResult
        One row per rule; all of them hold.

    Raises
    ------
    GateError
        If a rule does not hold or cannot be evaluated; it is an AssertionError, and says for each
        such rule the value, the interval and the first queries to look at.
    RuleError
        If a rule makes no sense.
    ReaderError
        If the file cannot be read.

    Examples
    --------
    >>> from rageval_report.pytest import assert_gates
    >>> v1 = RAGPipelineEvaluation("v1", {"query_id": ["q1", "q2"], "mrr": [0.5, 1.0]})
    >>> assert_gates(v1, ["mean(mrr) >= 0.7"]).passed
    True
    >>> assert_gates(v1, ["min(mrr) >= 0.7", "n(mrr) == 2"])
    Traceback (most recent call last):
        ...
    rageval_report.errors.GateError: 1 of 2 gates does not hold
    min(mrr) >= 0.7
      min(mrr) is 0.5, not at least 0.7 (2 scored)
      1 query below 0.7 on mrr: 'q1'
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    result = _gates(gates).with_settings(**options).check(evaluation, baseline)
    if not result.passed:
        raise GateError(_message(result))
    return result


def _gates(gates: str | PathLike[str] | Gates | Iterable[str | Rule]) -> Gates:
    if isinstance(gates, Gates):
        return gates
    if isinstance(gates, str | PathLike):
        return read_gates(Path(gates))
    return Gates(tuple(parse_rule(rule) for rule in gates))


def _message(result: GateResult) -> str:
    broken = [outcome for outcome in result.outcomes if not outcome.passed]
    verb = "does" if len(broken) == 1 else "do"
    lines = [f"{len(broken)} of {len(result.outcomes)} gates {verb} not hold"]
    for outcome in broken:
        text = "\n".join((outcome.request.rule.text, failure_text(outcome)))
        lines.append(text.replace("\n", "\n  "))
    return "\n".join(lines)
