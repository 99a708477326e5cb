"""Checks what a built wheel contains: all of the package, and nothing else.

    python .ci/check_wheel.py dist/*.whl              # lists the contents by folder
    python .ci/check_wheel.py --upload dist/*.whl     # placeholders are errors too

The files must be those that version control has, the version that of ``_version.py``, and the
license, the types and the entry points must be there. Other arguments, such as a source
distribution, are passed over: the build makes the wheel from it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "rageval_report"
PLACEHOLDER = "example.org"  # a domain that nobody can own: RFC 2606
_ENTRY_POINTS = ("rageval-report = rageval_report.cli:main", "[pytest11]")


def version_of(root: Path = ROOT) -> str:
    """The version in the one place that has it."""
    text = (root / PACKAGE / "_version.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)[0]


def files_of(root: Path = ROOT) -> set[str]:
    """The files of the package in version control."""
    command = ["git", "-C", str(root), "ls-files", "--cached", PACKAGE]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return {name for name in listed.stdout.splitlines() if (root / name).exists()}


def faults_of(wheel: Path, expected: set[str], version: str) -> Iterator[str]:
    """What is wrong with a wheel, one sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = f"{PACKAGE}-{version}.dist-info"
        inside = {name for name in names if not name.startswith(f"{info}/")}
        yield from (f"{name} is missing" for name in sorted(expected - inside))
        yield from (f"{name} does not belong in the wheel" for name in sorted(inside - expected))
        for name in (f"{info}/METADATA", f"{info}/entry_points.txt", f"{info}/licenses/LICENSE"):
            if name not in names:
                yield f"{name} is missing"
                return
        found = metadata_of(archive)["Version"]
        if found != version:
            yield f"METADATA has version {found!r}; _version.py has {version!r}"
        points = archive.read(f"{info}/entry_points.txt").decode()
        yield from (
            f"entry_points.txt lacks {line!r}" for line in _ENTRY_POINTS if line not in points
        )


def metadata_of(archive: zipfile.ZipFile) -> dict[str, str]:
    """The fields of METADATA; those that occur several times are joined by line ends."""
    (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    parsed = HeaderParser().parsestr(archive.read(name).decode("utf-8"))
    return {key: "\n".join(parsed.get_all(key, [])) for key in parsed}


def placeholders_of(wheel: Path) -> list[str]:
    """The addresses in METADATA that must be replaced before the first upload."""
    with zipfile.ZipFile(wheel) as archive:
        lines = metadata_of(archive).get("Project-URL", "").splitlines()
    return [line for line in lines if PLACEHOLDER in line]


def contents_of(wheel: Path) -> str:
    """How many files each room has in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        rooms = Counter("/".join(name.split("/")[:2]) for name in archive.namelist())
    return "\n".join(f"{count:5d}  {room}" for room, count in sorted(rooms.items()))


def main(arguments: list[str]) -> int:
    """Check each wheel; 1 if one has a fault."""
    wheels = [Path(name) for name in arguments if name.endswith(".whl")]
    if not wheels:
        sys.stderr.write("check_wheel: name at least one wheel, such as dist/*.whl\n")
        return 2
    n_faults = 0
    for wheel in wheels:
        sys.stdout.write(f"{wheel.name}\n{contents_of(wheel)}\n")
        faults = list(faults_of(wheel, files_of(), version_of()))
        placeholders = [f"placeholder: {line}" for line in placeholders_of(wheel)]
        notes = [] if "--upload" in arguments else placeholders
        faults += placeholders if "--upload" in arguments else []
        sys.stdout.write("".join(f"note: {line}\n" for line in notes))
        sys.stderr.write("".join(f"{wheel.name}: {fault}\n" for fault in faults))
        n_faults += len(faults)
    return min(n_faults, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
