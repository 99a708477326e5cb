"""The gallery: one page per kind of plot, with its picture and the code that draws it.

The code is cut out of docs/make_gallery.py, which draws the pictures, so both are the same.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from generated import GeneratedPages
from public_names import short_names

DOCS = Path(__file__).parents[1]
_SOURCE = DOCS / "make_gallery.py"
_ROW = re.compile(r"^\| ([^|]+) \| \[(\w+)\]\(gallery/\2\.png\) \| ([^|]+) \|$", re.MULTILINE)


def questions() -> dict[str, tuple[str, str]]:
    """The question that each kind answers, and of what it is drawn, from docs/pictures.md."""
    rows = _ROW.findall((DOCS / "pictures.md").read_text(encoding="utf-8"))
    return {kind: (question, subject) for question, kind, subject in rows}


def codes() -> dict[str, str]:
    """The code that draws each kind."""
    source = _SOURCE.read_text(encoding="utf-8")
    tree = ast.parse(source)
    definitions = _definitions(tree, source)
    function = next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "calls"
    )
    steps = {
        name.id: node
        for node in function.body
        if isinstance(node, ast.Assign)
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name)
    }
    table = next(node.value for node in function.body if isinstance(node, ast.Return))
    found = {}
    for key, call in zip(table.keys, table.values, strict=True):
        kind = ast.literal_eval(key)
        found[kind] = _code(kind, call, steps, definitions)
    return found


def _definitions(tree: ast.Module, source: str) -> dict[str, str]:
    """The helpers and the constants of the script, by name."""
    found = {}
    for node in tree.body:
        text = ast.get_source_segment(source, node) or ""
        if isinstance(node, ast.FunctionDef):
            found[node.name] = text
        elif isinstance(node, ast.Assign):
            for name in ast.walk(node.targets[0]):
                if isinstance(name, ast.Name):
                    found[name.id] = text
    return found


def _code(
    kind: str, call: ast.expr, steps: dict[str, ast.Assign], definitions: dict[str, str]
) -> str:
    subject, names, options = call.elts  # a tuple of three, as `calls` says
    words = [repr(kind).replace("'", '"')]
    words += [ast.unparse(name).replace("'", '"') for name in names.elts]
    words += [
        f"{ast.literal_eval(key)}={ast.unparse(value)}".replace("'", '"')
        for key, value in zip(options.keys, options.values, strict=True)
    ]
    last = f"{ast.unparse(subject)}.plot({', '.join(words)})".replace("'", '"')
    lines = [last]
    needed = _names_in(call)
    for step in reversed(list(dict.fromkeys(steps.values()))):
        made = {name.id for name in ast.walk(step.targets[0]) if isinstance(name, ast.Name)}
        if made & needed:
            needed |= _names_in(step.value)
            lines.insert(0, ast.unparse(step))
    helpers = _helpers(needed, definitions)
    parts = [_imports("\n".join([*helpers, *lines])), *helpers, "\n".join(lines)]
    return "\n\n".join(part for part in parts if part)


def _names_in(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def _helpers(needed: set[str], definitions: dict[str, str]) -> list[str]:
    """The definitions that the code needs, and what those need, in the order of the script."""
    queue, used = list(needed), set()
    while queue:
        name = queue.pop()
        if name in definitions and name not in used:
            used.add(name)
            queue += _names_in(ast.parse(definitions[name]))
    return list(dict.fromkeys(text for name, text in definitions.items() if name in used))


def _imports(code: str) -> str:
    """The imports of the names that the code uses."""
    tree = ast.parse(code)
    made = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    used = _names_in(tree) - made
    modules: dict[str, list[str]] = {}
    for name in sorted(used & set(short_names())):
        module = short_names()[name].rpartition(".")[0]
        modules.setdefault(module, []).append(name)
    lines = ["import numpy as np", ""] if "np" in used else []
    return "\n".join(
        [
            *lines,
            *(f"from {module} import {', '.join(modules[module])}" for module in sorted(modules)),
        ]
    )


def write_gallery(out: GeneratedPages) -> None:
    """Write a page per kind, and one with all pictures."""
    code, asked = codes(), questions()
    cards = []
    for kind in code:
        question, subject = asked[kind]
        out.write(f"gallery/{kind}.md", _page(kind, question, subject, code[kind]))
        cards.append(
            f":::{{grid-item-card}} {kind}\n:link: {kind}\n:link-type: doc\n"
            f":img-top: {kind}.png\n:img-alt: A picture of the kind {kind}\n\n{question}\n:::\n"
        )
    text = "# Gallery\n\nEvery kind of plot, with the code that draws it. "
    text += "[Pictures](../pictures.md) says how plots behave.\n\n"
    text += "::::{grid} 1 2 3 3\n:gutter: 3\n\n" + "\n".join(cards) + "::::\n\n"
    text += "```{toctree}\n:hidden:\n\n" + "\n".join(code) + "\n```\n"
    out.write("gallery/index.md", text)


def _page(kind: str, question: str, subject: str, code: str) -> str:
    return (
        f"# Plot: {kind}\n\n{question} Drawn of {subject}.\n\n"
        f"![A picture of the kind {kind}]({kind}.png)\n\n```python\n{code}\n```\n\n"
        f"It returns Axes of matplotlib and draws on `ax=` if given. In a terminal: "
        f"`rageval-report plot FILE ... --kind {kind} -o {kind}.png`. "
        "[All kinds](index.md), [how plots behave](../pictures.md).\n"
    )
