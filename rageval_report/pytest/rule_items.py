"""A file of gates as pytest collects it: one test per rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from rageval_report.analysis.gate import Outcome
from rageval_report.analysis.gates_file import GATES_SUFFIXES, Gates, read_gates
from rageval_report.errors import RagevalError, RagevalWarning, is_doubt
from rageval_report.pytest.failure_text import failure_text, outcome_properties
from rageval_report.pytest.options import file_named, gates_path, require_file
from rageval_report.pytest.score_files import failing_plainly, score_files
from rageval_report.render.display import clean


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
        for number, name in enumerate(names):
            yield RuleItem.from_parent(self, name=name, number=number)

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
