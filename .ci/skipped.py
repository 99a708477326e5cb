"""A plugin of pytest for tests that were skipped: `-p skipped`, with .ci on the path.

`--skipped-to FILE` writes which tests were skipped, a line each: a test, or a file that was skipped
as a whole. `--skipped-from FILE` runs these and no others, where more is installed.
"""

from pathlib import Path


def pytest_addoption(parser):
    """The two options."""
    parser.addoption("--skipped-to", help="write the tests that are skipped to this file")
    parser.addoption("--skipped-from", help="run only the tests that this file lists")


class Skipped:
    """The tests that were skipped so far; workers of pytest-xdist report them to one process."""

    def __init__(self, path):
        self.path, self.found = path, set()

    def pytest_runtest_logreport(self, report):
        """A test that was skipped before its first line, or by one of its lines."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.found.add(report.nodeid)

    def pytest_collectreport(self, report):
        """A file that was skipped as a whole."""
        if report.skipped:
            self.found.add(report.nodeid)

    def pytest_sessionfinish(self):
        """Write the list, in an order that does not depend on the workers."""
        self.path.write_text("".join(f"{test}\n" for test in sorted(self.found)), encoding="utf-8")


def pytest_configure(config):
    """One process writes the list."""
    path = config.getoption("--skipped-to")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Skipped(Path(path)))


def pytest_collection_modifyitems(config, items):
    """Leave the tests that ran."""
    path = config.getoption("--skipped-from")
    if path:
        listed = set(Path(path).read_text(encoding="utf-8").splitlines())
        chosen = [item for item in items if listed & {item.nodeid, item.nodeid.partition("::")[0]}]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
