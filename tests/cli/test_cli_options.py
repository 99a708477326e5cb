"""Options and bodies: a body takes the options of its command, and help imports nothing heavy."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import click
import pytest

import rageval_report.cli
from rageval_report._registry import load
from rageval_report.cli.command import (
    Command,
    Options,
    TableChoice,
    argument,
    option,
    parameters_of,
)
from rageval_report.cli.group import COMMANDS

CLI = Path(rageval_report.cli.__file__).parent


def every_command() -> dict[str, Command]:
    found = {}
    for name, command in COMMANDS.items():
        members = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"{name} {member}".strip(): one for member, one in members.items()}
    return found


EVERY = every_command()
# What click calls the types that make values of each Python type; others are Literals of choices.
CLICK_TYPES = {"bool": "boolean", "int": "integer", "float": "float", "str": "text", "Path": "path"}


@pytest.mark.parametrize("command", EVERY.values(), ids=EVERY)
def test_a_body_takes_the_options_of_its_command_and_returns_an_exit_code(command):
    body = load(command.body)
    hints = typing.get_type_hints(body)
    assert [hints[name] for name in inspect.signature(body).parameters] == [command.options]
    assert hints["return"] in (int, type(None))


def hints_of(options: type[Options]) -> dict[str, str]:
    levels = [inspect.get_annotations(level) for level in reversed(options.__mro__)]
    return {name: hint for level in levels for name, hint in level.items()}


CASES = [
    pytest.param(command, name, hint, id=f"{title} {name}")
    for title, command in EVERY.items()
    for name, hint in hints_of(command.options).items()
]


@pytest.mark.parametrize(("command", "name", "hint"), CASES)
def test_the_type_of_an_option_is_what_click_makes_of_it(command, name, hint):
    (parameter,) = [one for one in command.params if one.name == name]
    if parameter.callback is not None:  # the type is what its parser returns
        return
    is_many = parameter.multiple or parameter.nargs == -1
    default = parameter.get_default(click.Context(command))
    assert hint.startswith("tuple[") == is_many
    assert hint.endswith(" | None") == (
        not is_many and not parameter.required and not isinstance(default, str | int | float)
    )
    plain = re.sub(r"^tuple\[(.*), \.\.\.\]$", r"\1", hint).removesuffix(" | None")
    kind = parameter.type.name
    if plain in CLICK_TYPES and not isinstance(parameter.type, click.Choice | TableChoice):
        assert kind.replace("directory", "path").startswith(CLICK_TYPES[plain])


def test_every_parameter_is_a_field():
    for command in EVERY.values():
        assert {one.name for one in command.params} - {"help"} == set(hints_of(command.options))


def test_every_help_page_is_shown_without_importing_pandas_numpy_or_a_body():
    program = (
        "import sys\n"
        "from rageval_report.cli import rageval_report\n"
        f"pages = {[name.split() for name in ['', *COMMANDS, *EVERY]]!r}\n"
        "for page in pages:\n"
        "    rageval_report.main([*page, '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'pandas', 'scipy', 'matplotlib', 'yaml', 'httpx2'} & set(sys.modules)\n"
        "bodies = [name for name in sys.modules if name.endswith('_body')]\n"
        "print('LOADED', sorted(heavy), bodies)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED [] []"


def test_every_body_is_imported_without_any_extra():
    """What needs an extra says so when it is used: eval without a judge needs no http."""
    program = (
        "import importlib, pkgutil, sys\n"
        "from rageval_report._registry import EXTRAS\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in EXTRAS:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "import rageval_report.cli as cli\n"
        "for module in pkgutil.walk_packages(cli.__path__, 'rageval_report.cli.'):\n"
        "    importlib.import_module(module.name)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_things_are_loaded_by_name_in_five_places_at_most():
    calls = [
        f"{path.relative_to(CLI)}:{node.lineno}"
        for path in CLI.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "load"
    ]
    assert len(calls) <= 5, calls


def test_no_function_of_the_command_line_takes_settings_without_names():
    allowed = {"command.py", "group.py"}  # where click's own signatures are overridden
    found = [
        f"{path.name}:{node.lineno}"
        for path in CLI.rglob("*.py")
        if path.name not in allowed
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.Lambda) and (node.args.kwarg or node.args.vararg)
    ]
    assert [place for place in found if not place.startswith(("output.py", "setup.py"))] == []


# -- the classes themselves


class Base(Options):
    seed: int = option("--seed", default=0)


class Example(Base):
    file: str = argument(metavar="FILE")
    seed: int = option("--from", default=7)


def test_own_options_come_first_and_replace_those_of_the_base():
    file, seed = parameters_of(Example)
    assert (file.name, seed.name) == ("file", "seed")
    assert seed.opts == ["--from"]
    assert seed.type is click.INT


def test_options_cannot_be_changed_and_are_all_set():
    options = Example(file="a", seed=1)
    assert (options.file, options.seed) == ("a", 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        options.seed = 2
    with pytest.raises(TypeError, match="Example needs seed"):
        Example(file="a")
