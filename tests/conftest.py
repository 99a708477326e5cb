"""What tests of several wings share."""

from __future__ import annotations

import os

# Before NumPy is imported: each worker of xdist, and each process that a test starts, would have as
# many threads for its sums as the machine has cores, and they would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import functools
import inspect
import shutil
import socketserver
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pandas as pd
import pytest
from click.testing import CliRunner

from rageval_report.readers import ScoreFile, read

_REPOSITORY = Path(__file__).resolve().parents[1]

# A busy machine is no fault of the code: an example may take as long as it takes, everywhere.
# The parent is Hypothesis's own profile "ci" where the environment variable CI is set.
hypothesis.settings.register_profile(
    "without-a-clock",
    parent=hypothesis.settings.default,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("without-a-clock")

# A server in a test writes the head and the body of an answer one after the other. The second would
# wait for the acknowledgement of the first, which the other side delays by 40 milliseconds.
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

# Before version 8.2 click's runner puts stderr among stdout unless it is asked not to.
if "mix_stderr" in inspect.signature(CliRunner).parameters:
    CliRunner.__init__ = functools.partialmethod(CliRunner.__init__, mix_stderr=False)


def pytest_collection_finish() -> None:
    """Make runs of pytest that a test starts runs of their own.

    Not earlier: the workers of pytest-xdist read the options of this run from the environment, and
    would measure no coverage and run the tests that ``-m`` leaves out.
    """
    os.environ.pop("PYTEST_ADDOPTS", None)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """A file or folder of public results that nobody on the project wrote; skips without them.

    They lie in the folder that the environment variable RAGEVAL_DATA names, else in
    ``shared/data`` beside the repository.
    """
    named = os.environ.get("RAGEVAL_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"no {name} among the public data; RAGEVAL_DATA may name their folder")
        return folder / name

    return find


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """A file with this content; texts are written as UTF-8, line ends as they are."""

    def write_(content: str | bytes, name: str = "run") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write_


@pytest.fixture
def read_text(write: Callable[..., Path]) -> Callable[..., ScoreFile]:
    """The one pipeline of a file with this content."""

    def read_text_(content: str | bytes, **options: Any) -> ScoreFile:
        [found] = read(write(content), **options)
        return found

    return read_text_


@pytest.fixture
def frame_text(read_text: Callable[..., ScoreFile]) -> Callable[..., pd.DataFrame]:
    """The frame of a file with this content."""

    def frame_text_(content: str | bytes, **options: Any) -> pd.DataFrame:
        return read_text(content, **options).frame

    return frame_text_


# -- the browser


def chromium_path() -> str | None:
    """Where a Chromium is: the environment variable CHROMIUM names it, or it is on the path."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = (shutil.which(name) for name in names)
    return os.environ.get("CHROMIUM") or next(filter(None, found), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium is found; the environment variable CHROMIUM may name one")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a file as a page; in the end nothing was complained of, and nothing else asked for."""
    contexts, complaints, requests, allowed = [], [], [], set()

    def open_(path: Path, fragment: str = "", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        allowed.add(path.as_uri())

        def only_the_file(route: Any) -> None:
            is_ours = route.request.url.partition("#")[0] in allowed
            route.continue_() if is_ours else route.abort()

        context.route("**/*", only_the_file)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        context.on("page", lambda popup: complaints.append(f"opened {popup.url}"))
        page.goto(path.as_uri() + (f"#{fragment}" if fragment else ""))
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert set(requests) <= allowed
