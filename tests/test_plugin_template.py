"""The template of a plug-in package; CI installs it beside the wheel and runs its own tests."""

import tomllib
from pathlib import Path

TEMPLATE = Path(__file__).parents[1] / "docs" / "plugin_template"
PROJECT = tomllib.loads((TEMPLATE / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_its_readme_names_every_member():
    text = (TEMPLATE / "README.md").read_text(encoding="utf-8")
    for points in PROJECT["entry-points"].values():
        for name in points:
            assert f"`{name}`" in text
