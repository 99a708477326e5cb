"""A plugin of pytest that counts the lines and branches that the tests reach: `-p lines`.

It needs .ci on the path. `--lines-floor PERCENT` fails if fewer of them are reached;
`--lines-missing` lists those that no test reaches, file by file. Each worker of pytest-xdist counts
for itself, and one process adds up. Processes that a test starts are not counted. SlipCover counts
in the bytecode of the package, and stops counting what it has seen, where a tracer also follows
each line of the libraries.
"""

import functools
import json
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder

import pytest
import slipcover
from _pytest.assertion.rewrite import AssertionRewritingHook
from slipcover.importer import SlipcoverLoader

# pytest would complain, as of each plugin that is loaded before it can rewrite its assertions.
slipcover.__doc__ = "PYTEST_DONT_REWRITE"

PACKAGE = "rageval_report"


def pytest_addoption(parser):
    """The two options."""
    parser.addoption("--lines-floor", type=float, default=0.0, help="percent that must be reached")
    parser.addoption("--lines-missing", action="store_true", help="list what no test reaches")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    """Count from here on: the first conftest.py imports the package."""
    early_config.pluginmanager.register(Lines())


class CountingLoader(SlipcoverLoader):
    """Loads a module so that its lines are counted."""

    def exec_module(self, module):
        """Load it; pytest within a test expects that its own rewriter has loaded the package."""
        super().exec_module(module)
        if module.__name__ == PACKAGE:
            module.__loader__ = next(
                finder for finder in sys.meta_path if isinstance(finder, AssertionRewritingHook)
            )


class CountingFinder(MetaPathFinder):
    """Finds the modules of the package before pytest does, which rewrites those of a plugin."""

    def __init__(self, load):
        self.load = load

    def find_spec(self, fullname, path=None, target=None):
        """A module of the package, loaded so that its lines are counted."""
        if fullname.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = self.load(spec.loader, spec.origin)
        return spec


class Lines:
    """The lines and branches that are reached in this process and its workers."""

    def __init__(self):
        early = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
        if early:
            raise pytest.UsageError(f"{early[0]} was imported before its lines could be counted")
        self.counter = slipcover.Slipcover(branch=True, source=[PACKAGE])
        self.finder = CountingFinder(functools.partial(CountingLoader, self.counter))
        sys.meta_path.insert(0, self.finder)
        self.of_workers = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        """Take what a worker counted."""
        if lines := getattr(node, "workeroutput", {}).get("lines"):
            self.of_workers.append(json.loads(lines))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        """Add up, and fail below the floor."""
        counted = self.counter.get_coverage()
        if hasattr(session.config, "workerinput"):
            session.config.workeroutput["lines"] = json.dumps(counted)
            return
        for lines in self.of_workers:
            slipcover.merge_coverage(counted, lines)
        self.counted = counted
        if self.percent < session.config.getoption("--lines-floor"):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    @property
    def percent(self):
        """How much of all lines and branches is reached."""
        return self.counted["summary"]["percent_covered"]

    def pytest_terminal_summary(self, terminalreporter, config):
        """Say how much is reached, and what is not."""
        if config.getoption("--lines-missing"):
            slipcover.print_coverage(
                self.counted, outfile=terminalreporter._tw._file, skip_covered=True
            )
        floor = config.getoption("--lines-floor")
        count = self.counted["summary"]
        lines = count["covered_lines"] + count["missing_lines"]
        branches = count["covered_branches"] + count["missing_branches"]
        terminalreporter.write_line(
            f"Reached: {self.percent:.2f} % of {lines:,} lines and {branches:,} branches"
            f" (floor: {floor:g} %{', MISSED' if self.percent < floor else ''})."
        )

    def pytest_unconfigure(self):
        """Leave imports as they were."""
        sys.meta_path.remove(self.finder)
