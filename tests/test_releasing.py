"""The check of a built wheel finds what is missing, what does not belong, and another version.

Whether the real wheel passes it is seen in CI, which builds one; here wheels are made by hand from
the files of the package.
"""

import re
import runpy
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import rageval_report

REPOSITORY = Path(__file__).parents[1]
check = runpy.run_path(str(REPOSITORY / ".ci" / "check_wheel.py"))
VERSION = rageval_report.__version__
INFO = f"rageval_report-{VERSION}.dist-info"
POINTS = (
    "[console_scripts]\nrageval-report = rageval_report.cli:main\n"
    "[pytest11]\nrageval_report.pytest = rageval_report.pytest\n"
)
URL = "https://example.org/rageval-report"


@pytest.fixture
def files():
    """The files of the package in version control."""
    is_clone = (REPOSITORY / ".git").exists()
    if not is_clone:
        pytest.skip("the sources are no clone, so nothing says which files belong to the package")
    try:
        return check["files_of"]()
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f"git cannot read the repository here: {exc}")


@pytest.fixture
def wheel(files, tmp_path):
    """Make a wheel of the package, with files changed by name; None leaves one out."""

    def make(**changes):
        metadata = f"Name: rageval-report\nVersion: {VERSION}\nProject-URL: Homepage, {URL}\n\ntext"
        contents = {
            **dict.fromkeys(files, ""),
            f"{INFO}/METADATA": metadata,
            f"{INFO}/entry_points.txt": POINTS,
            f"{INFO}/licenses/LICENSE": "Apache",
            **changes,
        }
        path = tmp_path / f"rageval_report-{VERSION}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                if content is not None:
                    archive.writestr(name, content)
        return path

    return make


def faults(path, files):
    return list(check["faults_of"](path, files, VERSION))


def test_a_wheel_with_all_files_has_no_fault(wheel, files, capsys):
    assert {"rageval_report/__init__.py", "rageval_report/py.typed"} <= files
    assert faults(wheel(), files) == []
    assert check["main"]([str(wheel())]) == 0
    assert re.search(r"^ +\d+  rageval_report/stats$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"rageval_report/py.typed": None}, "rageval_report/py.typed is missing"),
        ({"tests/test_results.py": ""}, "tests/test_results.py does not belong in the wheel"),
        ({"rageval_report/notes.txt": ""}, "rageval_report/notes.txt does not belong in the wheel"),
        ({f"{INFO}/licenses/LICENSE": None}, f"{INFO}/licenses/LICENSE is missing"),
        (
            {f"{INFO}/METADATA": "Version: 9.9\n\n"},
            f"METADATA has version '9.9'; _version.py has {VERSION!r}",
        ),
        (
            {f"{INFO}/entry_points.txt": "[pytest11]\n"},
            "entry_points.txt lacks 'rageval-report = rageval_report.cli:main'",
        ),
    ],
)
def test_each_fault_is_named(wheel, files, change, fault, capsys):
    path = wheel(**change)
    assert faults(path, files) == [fault]
    assert check["main"]([str(path)]) == 1
    assert fault in capsys.readouterr().err


def test_the_version_is_in_one_place():
    assert check["version_of"]() == VERSION
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "rageval_report/_version.py"
    citation = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8")
    assert not re.search(r"^version:", citation, re.MULTILINE)
