"""Walk through pages as a reader would: every block in order, in one folder, from the first on.

::

    python tests/pages/walk.py README.md docs/reading.md      # with what is installed here

A block is fenced, and begins with its language. ``python`` runs in one namespace for the page,
``bash`` in the folder that the block before it left, and ``text`` after one of them holds lines
that it printed. A command alone in the cell of a table runs too. ``extra=http`` behind the language
says that a block needs an extra: without it the block is skipped, and counted. A block after
``<!-- needs: a server of MLflow -->`` needs more than an extra; it is not run, and counted too. A
table after such a line names commands that are not typed as they stand.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rageval_report.cli.demo import FOLDER

REPOSITORY = Path(__file__).parents[2]
_PART = re.compile(
    r"^(?:<!-- needs: (?P<needs>[^\n]+) -->\n(?:<!-- [^\n]+ -->\n)?)?"
    r"```(?P<kind>\w+)(?P<words>[^\n]*)\n(?P<code>.*?)^```"
    r"|^\|.*?\| `(?P<command>rageval-report [^`]+)` \|",
    re.DOTALL | re.MULTILINE,
)
_TABLE_OF_NAMES = re.compile(r"^<!-- needs: [^\n]+ -->\n((?:\|[^\n]*\n)+)", re.MULTILINE)
_DEMO = "rageval-report demo"
_MADE_DEMO = "WALK_MADE_DEMO"  # the variable that names the folder to the processes of the pages
_PRINTED = "printed.txt"


@dataclass(frozen=True)
class Block:
    """A block of a page, and where it begins."""

    page: str
    line: int
    kind: str
    extra: str | None
    code: str
    needs: str = ""


@dataclass
class Walk:
    """What happened on the way."""

    run: int = 0
    compared: int = 0
    skipped: int = 0
    stated: int = 0


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page, and the commands of its tables, in order."""
    text = page.read_text(encoding="utf-8")
    # Empty lines in their place keep the numbers of the lines behind them.
    text = _TABLE_OF_NAMES.sub(lambda table: "\n" * table[0].count("\n"), text)
    for found in _PART.finditer(text):
        # A command of a table has no fence; the line of a block is that of its fence.
        start = found.start("command") if found["kind"] is None else found.start("kind")
        line = text.count("\n", 0, start) + 1
        extra = re.search(r"extra=(\w+)", found["words"] or "")
        yield Block(
            page.name,
            line,
            found["kind"] or "bash",
            extra and extra[1],
            found["code"] if found["kind"] else f"{found['command']}\n",
            found["needs"] or "",
        )


def has_extra(extra: str) -> bool:
    """Whether the packages of an extra are installed."""
    for line in metadata.requires("rageval-report") or []:
        needed, _, when = line.partition(";")
        if f"extra == '{extra}'" in when.replace('"', "'"):
            name = re.split(r"[<>=!~\[ ]", needed.strip())[0]
            try:
                metadata.version(name)
            except metadata.PackageNotFoundError:
                return False
    return True


def walk(
    page: Path, folder: Path, adapt: Callable[[str], str] = str, *, demo_runs: bool = False
) -> Walk:
    """Run a page in a folder in which the demonstration was made.

    Parameters
    ----------
    page : Path
        A page of Markdown.
    folder : Path
        An empty folder.
    adapt : callable, optional
        Changes the text of a block before it runs, such as the address of a server.
    demo_runs : bool, default False
        Whether the demonstration runs on this page too, instead of being copied.

    Raises
    ------
    AssertionError
        If a block fails, or prints other lines than the page shows; with page and line.
    """
    done, names, printed = Walk(), {"__name__": "__main__"}, ""
    _activation(folder)
    with contextlib.chdir(folder):
        for block in blocks_of(page):
            if block.needs:
                done.stated += 1
                printed = ""
            elif block.extra and not has_extra(block.extra):
                done.skipped += 1
                printed = ""  # so that a text is never compared with what an earlier block printed
            elif block.kind in ("python", "bash"):
                code = _as_typed(adapt(block.code))
                if not demo_runs:
                    code = _with_made_demo(code)
                printed = (
                    _python(block, code, names) if block.kind == "python" else _bash(block, code)
                )
                done.run += 1
            elif block.kind == "text" and printed:
                _check_printed(block, printed)
                done.compared += 1
    return done


def _activation(folder: Path) -> None:
    """A file that a reader would source: it puts this Python's programs first."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    here = shlex.quote(str(Path(sys.executable).parent))
    (programs / "activate").write_text(f"export PATH={here}:$PATH\n", encoding="utf-8")


def _as_typed(code: str) -> str:
    """Commands that set up an environment are run by CI itself; here it stands already."""
    lines = code.splitlines(keepends=True)
    return "".join(
        (_DEMO + "\n" if _DEMO in line else "") if " -m venv " in line else line for line in lines
    )


def _with_made_demo(code: str) -> str:
    """The same block, with a copy of the demonstration where it would make it once more."""
    made = os.environ.get(_MADE_DEMO) or _made_demo()
    copied = f"cp -r {made}/{FOLDER} . && cat {made}/{_PRINTED}"
    return re.sub(rf"^{_DEMO}(?= &&|$)", copied, code, flags=re.MULTILINE)


@functools.cache
def _made_demo() -> str:
    """The folder in which the demonstration ran once: it computes and draws for some seconds."""
    folder = tempfile.TemporaryDirectory(prefix="walk-")
    atexit.register(folder.cleanup)
    command = [sys.executable, "-m", "rageval_report", *_DEMO.split()[1:]]
    printed = subprocess.run(command, cwd=folder.name, stdout=subprocess.PIPE, check=True).stdout
    Path(folder.name, _PRINTED).write_bytes(printed)
    return folder.name


def _python(block: Block, code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    # The line numbers of an error are those of the page.
    source = "\n" * block.line + code
    with contextlib.redirect_stdout(printed):
        exec(compile(source, block.page, "exec"), names)
    return printed.getvalue()


def _bash(block: Block, code: str) -> str:
    here = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    place = Path(tempfile.gettempdir(), f"walk-{os.getpid()}.txt")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f'trap "pwd > {place}" EXIT\n{code}'],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )
    where = f"{block.page}, line {block.line}"
    assert done.returncode == 0, f"{where}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    os.chdir(place.read_text(encoding="utf-8").strip())
    place.unlink()
    return done.stdout


def _check_printed(block: Block, printed: str) -> None:
    lines = iter(line.strip() for line in printed.splitlines())
    for shown in block.code.splitlines():
        where = f"{block.page}, line {block.line}"
        assert shown.strip() in lines, f"{where}: not printed, or not in this order: {shown!r}"


def walk_in_empty_folder(page: str) -> str:
    """Walk through a page in a folder of its own; returns what happened in a line."""
    with tempfile.TemporaryDirectory() as folder:
        done = walk(Path(page).resolve(), Path(folder), demo_runs=Path(page).stem == "README")
    return (
        f"{page}: {done.run} blocks run, {done.compared} compared, "
        f"{done.skipped} without their extra, {done.stated} that need more"
    )


def main(pages: list[str]) -> None:
    """Walk through pages, several at a time, each in a process of its own."""
    # In the environment, so that a page that draws nothing does not import matplotlib.
    os.environ["MPLBACKEND"] = "Agg"
    os.environ[_MADE_DEMO] = _made_demo()
    # Not by fork: a page may use threads, and what it adds to tables would stay for the next one.
    context = multiprocessing.get_context("spawn")
    with context.Pool(maxtasksperchild=1) as pool:
        for line in pool.imap(walk_in_empty_folder, pages, chunksize=1):
            print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
