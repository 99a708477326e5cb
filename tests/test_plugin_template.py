"""The template of a plug-in package works where it is installed: its own tests pass there.

CI installs it with pip beside the wheel. Here its entry points are offered as an installed package
offers them, by a folder of metadata on the path.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TEMPLATE = REPOSITORY / "docs" / "plugin_template"
PROJECT = tomllib.loads((TEMPLATE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def install(folder):
    """The metadata of the template, as pip would write them."""
    info = folder / "rageval_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"]
    (info / "METADATA").write_text("".join(lines))
    groups = [
        "\n".join([f"[{group}]", *(f"{name} = {place}" for name, place in points.items())])
        for group, points in PROJECT["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def test_its_own_tests_pass_where_it_is_installed(tmp_path):
    install(tmp_path / "site")
    paths = [str(tmp_path / "site"), str(TEMPLATE), str(REPOSITORY)]
    tests = [str(TEMPLATE / "tests"), "-c", str(TEMPLATE / "pyproject.toml")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tmp_path,
        # Options of the run around it, such as a second -q, would change what it prints.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 passed" in done.stdout


def test_its_readme_names_every_member():
    text = (TEMPLATE / "README.md").read_text(encoding="utf-8")
    for points in PROJECT["entry-points"].values():
        for name in points:
            assert f"`{name}`" in text
