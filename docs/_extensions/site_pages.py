"""Makes the site with Sphinx: generated pages, links by name, words of the glossary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from api_pages import write_api
from command_pages import command_names, write_commands
from docutils import nodes
from docutils.parsers.rst.states import Inliner
from gallery_pages import write_gallery
from generated import GeneratedPages
from markdown_pages import adapt, terms, write_outside_pages
from public_names import PACKAGE, origins, pages, short_names
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode
from sphinx.util.typing import ExtensionMetadata
from table_pages import write_tables

_FOLDERS = ("reference/api", "reference/commands", "notebooks", "project")
# A name alone in backticks, such as "compare(...)" or "RAGPipelineEvaluation.load".
_NAME = re.compile(r"^(?P<name>[A-Za-z_][\w.]*)(?P<call>\(.*\))?$", re.DOTALL)
_COMMAND = re.compile(r"^rageval-report (?P<name>[a-z-]+)\b")
# Words of the glossary that every sentence has: a link on each would hide the others.
_EVERYDAY = frozenset(
    "answer document family figure id metric model pipeline query question report row run score "
    "test tried".split()
)


def generate(app: Sphinx) -> None:
    """Write all pages that are made from the package."""
    out = GeneratedPages(Path(app.srcdir), _FOLDERS)
    write_api(out)
    write_commands(out)
    write_tables(out)
    write_gallery(out)
    write_outside_pages(out)
    out.finish()


def adapt_source(app: Sphinx, page: str, source: list[str]) -> None:
    """Add to a page of Markdown what the site needs besides."""
    if page.endswith("index") or Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = adapt(page, source[0])


# -- names


def public_path(name: str, module: str | None = None, holder: str | None = None) -> str | None:
    """The public path of what a name in a text means, or None."""
    name = name.removeprefix("rr.")
    for candidate in (name, f"{PACKAGE}.{name}", f"{module}.{name}", f"{module}.{holder}.{name}"):
        if candidate in pages():
            return pages()[candidate].path
        if candidate in origins():
            return origins()[candidate]
    first, _, rest = name.partition(".")
    if rest:
        found = public_path(first, module)
        thing = pages()[found].thing if found in pages() else None
        return f"{found}.{rest}" if thing is not None and hasattr(thing, rest) else None
    if holder and (found := public_path(holder, module)) and hasattr(pages()[found].thing, name):
        return f"{found}.{name}"
    return short_names().get(name)


def _reference(target: str, *content: nodes.Node) -> addnodes.pending_xref:
    """A link to a public name; plain text if the name has no page."""
    node = addnodes.pending_xref(
        "", *content, refdomain="py", reftype="obj", reftarget=target, refexplicit=True
    )
    node["optional"] = True
    return node


def name_role(
    role: str,  # noqa: ARG001
    rawtext: str,
    text: str,
    lineno: int,  # noqa: ARG001
    inliner: Inliner,
    options: dict[str, Any] | None = None,  # noqa: ARG001
    content: list[str] | None = None,  # noqa: ARG001
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What single backticks in a docstring mean: a link if the text is a public name, else code."""
    literal = nodes.literal(rawtext, text, classes=["xref", "py"])
    env = inliner.document.settings.env
    found = _NAME.match(text)
    path = found and public_path(
        found["name"], env.ref_context.get("py:module"), env.ref_context.get("py:class")
    )
    return [_reference(path, literal) if path else literal], []


class NamesInMarkdown(SphinxTransform):
    """Public names and commands in backticks become links, on pages of Markdown."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:  # noqa: ARG002  (docutils's signature)
        """Link the names of one page."""
        if self.env.doc2path(self.env.docname).suffix != ".md":
            return
        for literal in list(self.document.findall(nodes.literal)):
            if isinstance(literal.parent, nodes.reference | nodes.title | addnodes.pending_xref):
                continue
            node = self._link(literal)
            if node is not None:
                literal.replace_self(node)

    def _link(self, literal: nodes.literal) -> nodes.Node | None:
        text = literal.astext()
        command = _COMMAND.match(text)
        if command and command["name"] in command_names():
            node = addnodes.pending_xref("", literal.deepcopy(), reftype="command")
            node["reftarget"] = f"reference/commands/{command['name']}"
            return node
        found = _NAME.match(text)
        # A word without a dot, a call or a capital may be a column or a kind of plot.
        if not found or not (found["call"] or re.search(r"[A-Z._]", found["name"])):
            return None
        path = public_path(found["name"])
        return _reference(path, literal.deepcopy()) if path else None


class WordsOfTheGlossary(SphinxTransform):
    """The first time that a docstring uses a word of the glossary, it becomes a link."""

    default_priority = 450

    def apply(self, **kwargs: object) -> None:  # noqa: ARG002  (docutils's signature)
        """Link the words of one page of the reference."""
        if not self.env.docname.startswith("reference/api/"):
            return
        words = sorted(set(terms()) - _EVERYDAY, key=len, reverse=True)
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})(?P<plural>s?)\b")
        linked: set[str] = set()
        for classifier in list(self.document.findall(nodes.classifier)):
            _link_types(classifier)
        for paragraph in list(self.document.findall(nodes.paragraph)):
            for text in list(paragraph.findall(nodes.Text)):
                if isinstance(text.parent, nodes.paragraph):
                    self._link_words(text, pattern, linked)

    def _link_words(self, text: nodes.Text, pattern: re.Pattern[str], linked: set[str]) -> None:
        parts: list[nodes.Node] = []
        end = 0
        for found in pattern.finditer(text.astext()):
            if found[1] in linked:
                continue
            linked.add(found[1])
            parts.append(nodes.Text(text.astext()[end : found.start()]))
            parts.append(
                addnodes.pending_xref(
                    "",
                    nodes.inline("", found[0], classes=["std", "std-term"]),
                    refdomain="std",
                    reftype="term",
                    reftarget=found[1],
                    refexplicit=True,
                )
            )
            end = found.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(text.astext()[end:])])


def _link_types(classifier: nodes.classifier) -> None:
    """Link the public classes in the type of a parameter."""
    for text in list(classifier.findall(nodes.Text)):
        words = re.split(r"\b([A-Z][A-Za-z]+)\b", text.astext())
        links = [
            _reference(short_names()[word], nodes.inline("", word))
            if word in short_names()
            else nodes.Text(word)
            for word in words
            if word
        ]
        text.parent.replace(text, links)


def resolve_missing(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """Find what a signature names by the place of its definition; leave other types as text."""
    target = node.get("reftarget", "")
    if node.get("reftype") == "command":
        return make_refnode(app.builder, node["refdoc"], target, "", content)
    if node.get("refdomain") != "py":
        return None
    path = public_path(target, node.get("py:module"), node.get("py:class"))
    if path and path != target:
        domain = env.domains.python_domain
        found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", path, node, content)
        if found is not None:
            return found
    is_written_by_hand = node.get("refexplicit") or node.get("reftype") not in (
        "class",
        "obj",
        "data",
        "exc",
    )
    return None if is_written_by_hand and not node.get("optional") else content


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect everything to Sphinx."""
    app.connect("builder-inited", generate)
    app.connect("source-read", adapt_source)
    app.connect("missing-reference", resolve_missing)
    app.add_role("name", name_role)
    app.add_transform(NamesInMarkdown)
    app.add_transform(WordsOfTheGlossary)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
