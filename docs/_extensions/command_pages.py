"""The reference of the command line: one page per command, made from click."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click
from generated import GeneratedPages, escape_rst, heading, hidden_toctree

from rageval_report.cli import rageval_report
from rageval_report.cli.group import COMMANDS, SECTIONS

FOLDER = "reference/commands"
PROGRAM = "rageval-report"


def write_commands(out: GeneratedPages) -> None:
    """Write the page of every command, and the list of them in the sections of the help page."""
    context = click.Context(rageval_report, info_name=PROGRAM)
    lines = [heading("Command line"), f".. program:: {PROGRAM}\n", *_prose(rageval_report), ""]
    for title, names in SECTIONS.items():
        lines += [heading(title, "-"), ".. list-table::", "   :widths: 25 75", "   :class: names"]
        lines += [""]
        for name in names:
            sentence = escape_rst(COMMANDS[name].get_short_help_str(200))
            lines += [f"   * - :doc:`{PROGRAM} {name} <{name}>`", f"     - {sentence}"]
        lines.append("")
    out.write(f"{FOLDER}/index.rst", "\n".join(lines) + hidden_toctree(command_names()))
    for name in command_names():
        out.write(f"{FOLDER}/{name}.rst", _page(COMMANDS[name], name, context))


def command_names() -> list[str]:
    """The commands in the order of the help page."""
    return [name for section in SECTIONS.values() for name in section]


def _page(command: click.Command, name: str, above: click.Context) -> str:
    return "\n".join(_describe(command, click.Context(command, info_name=name, parent=above), "="))


def _describe(command: click.Command, context: click.Context, line: str) -> Iterator[str]:
    """Usage, prose, options and examples of a command, then its own commands."""
    yield heading(context.command_path, line)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f".. code-block:: console\n\n   {usage}\n"
    yield from _prose(command)
    yield f".. program:: {context.command_path}\n"
    yield from _options(command, context)
    yield from _examples(command)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _describe(inner, click.Context(inner, info_name=name, parent=context), "-")


def _prose(command: click.Command) -> list[str]:
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return [f"{_paragraph(paragraph)}\n" for paragraph in paragraphs]


def _paragraph(text: str) -> str:
    """A paragraph; click keeps the lines of one that begins with a backspace."""
    if text.startswith("\b"):
        lines = text.removeprefix("\b").strip("\n").splitlines()
        return "\n".join(f"| {escape_rst(line)}" for line in lines)
    return escape_rst(" ".join(text.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The options under the headings of the help page; those without one come first."""
    groups: dict[str, list[tuple[str, str]]] = {"": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            groups.setdefault(getattr(parameter, "heading", ""), []).append(record)
    for title, records in groups.items():
        yield f".. rubric:: {title or 'Options'}\n"
        for flags, text in records:
            yield f".. option:: {flags}\n\n   {escape_rst(' '.join(text.split()))}\n"


def _examples(command: click.Command) -> Iterator[str]:
    lines = [line.strip() for line in (command.epilog or "").splitlines()]
    commands = [line for line in lines if line.startswith(PROGRAM)]
    if commands:
        yield ".. rubric:: Examples\n"
        yield ".. code-block:: console\n\n" + "\n".join(f"   {line}" for line in commands) + "\n"
