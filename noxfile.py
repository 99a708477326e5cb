"""The five things that people do here, each in an environment of its own.

    nox -s tests -- tests/stats     # the tests; after -- come arguments of pytest
    nox -s lint types               # ruff; mypy --strict, and the types as users see them
    nox -s docs                     # the site in docs/_build, warnings as errors
    nox -s release                  # build the distribution and check what is in it

`pip install nox` installs it. Without a name, `nox` runs lint, types and tests. `.ci/run` checks
more: other orders and versions, the browser, small changes that tests must notice.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml("pyproject.toml")


def groups(*names: str) -> list[str]:
    """The requirements of these dependency groups."""
    return nox.project.dependency_groups(PROJECT, *names)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests, all or those named after --."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", "-q", "-n", "auto", *session.posargs, env={"CI": "true"})


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format; `nox -s lint -- --fix` corrects both."""
    session.install(*[name for name in groups("lint") if name.startswith("ruff")])
    is_fixed = "--fix" in session.posargs
    session.run("ruff", "check", *(["--fix"] if is_fixed else []), ".")
    session.run("ruff", "format", *([] if is_fixed else ["--check"]), ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types inside, and right and wrong uses from outside."""
    session.install("-e", ".[test]", *groups("lint"))
    session.run("mypy")
    session.run("python", "tests/typing/check.py", "mypy", "pyright")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site; a warning is an error."""
    session.install("-e", ".[docs]")
    session.run("python", "-m", "sphinx", "-W", "--keep-going", "docs", "docs/_build")


@nox.session
def release(session: nox.Session) -> None:
    """Build the distribution and check its contents; `nox -s release -- --upload` is stricter."""
    session.install("build", "twine")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    session.run("python", "-m", "build")
    built = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "dist").iterdir())
    session.run("twine", "check", "--strict", *built)
    session.run("python", ".ci/check_wheel.py", *built, *session.posargs)
