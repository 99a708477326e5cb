"""What a text from data may not do in the program that opens it: one policy, one home.

- In a terminal or a log it stays on its line, and moves no cursor: `clean`.
- In Markdown it is text: no HTML, no images, no links, no footnotes (`escape_markdown`), and no
  mentions, references or addresses that become links (`inert_markdown`, `inert_cell`).
- In a spreadsheet it is not computed: `neutralise_formula`, which `restore_formula` undoes.

HTML pages are escaped by their templates.
"""

from __future__ import annotations

import re

_BLANKS = re.compile(r"\s+")
# Invisible characters (soft hyphens, zero-width spaces, direction marks, variation selectors, tags)
# are removed, because terminals disagree on their width.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]"
)
# Characters that move the cursor, reverse the rest of the line, or cannot be written as UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff]"
)

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# Characters that Markdown interprets anywhere; it leaves an underscore inside a word alone.
_MARKS = re.compile(r"[\\`*|\[\]~$]|(?<![^\W_])_|_(?![^\W_])")
# Characters that start a heading or a list at the beginning of a line.
_OPENING = re.compile(r"^(?:[#+=-]|\d+(?=[.)]))")
# What GitHub and GitLab turn into a mention, a reference, an address of mail or a link; the texts
# of queries come from anywhere, and must not notify people. The @ of a metric such as recall@5
# mentions nobody.
_LIVE = re.compile(
    r"(?<!\w)@(?=\w)|(?<=\w)@(?=[\w-]+\.\w)|#(?=\d)|(?<!\w)(?:!|%|&amp;)(?=\d)|~(?=\w)|\$(?=\d)"
    r"|\bGH-(?=\d)|\bwww(?=\.)|:(?=//)|\b(?:mailto|xmpp|javascript|data|vbscript):(?=\S)",
    re.IGNORECASE,
)
_NO_BREAK = "\u200b"

# The first four are those of CWE-1236; OWASP (ASVS 1.2.10) adds the tab. Blanks before them are
# dropped by some spreadsheets.
_FORMULA_START = r"(?:[\t\r\n＝＋－＠]|\s*[=+\-@])"
# An apostrophe before a formula is doubled, so that restoring gives back the text that was there.
_FORMULA = re.compile(rf"'*{_FORMULA_START}")
_NEUTRALISED = re.compile(rf"'+{_FORMULA_START}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def clean(text: str) -> str:
    r"""The text on one line, without anything that could disturb the page around it."""
    return _UNSAFE.sub("\ufffd", _UNSEEN.sub("", _BLANKS.sub(" ", text))).strip()


# -- Markdown


def escape_markdown(text: str) -> str:
    r"""The text with every character escaped that Markdown would interpret."""
    return _MARKS.sub(r"\\\g<0>", text).translate(_ENTITIES)


def escape_markdown_line(text: str) -> str:
    r"""As `escape_markdown`, for a text that may also start a line."""
    line = escape_markdown(text)
    opening = _OPENING.match(line)
    if opening is None:
        return line
    mark, rest = opening[0], line[opening.end() :]
    # Of "1." the dot is escaped, because a backslash before a digit would be printed.
    return f"{mark}\\{rest}" if mark.isdigit() else f"\\{line}"


def disarm_markdown(text: str) -> str:
    """Markdown whose names, numbers and addresses do not become mentions, references or links."""
    return _LIVE.sub(lambda match: match[0] + _NO_BREAK, text)


def inert_markdown(text: str) -> str:
    r"""A text from data as one line of Markdown that is shown as it is, and does nothing."""
    return disarm_markdown(escape_markdown_line(clean(text)))


def inert_cell(text: str) -> str:
    r"""As `inert_markdown`, for a text on one line that does not start it, such as a cell."""
    return disarm_markdown(escape_markdown(text))


# -- spreadsheets


def neutralise_formula(text: str) -> str:
    """The text with an apostrophe before it if a spreadsheet would compute it; numbers stay."""
    if not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"


def restore_formula(text: str) -> str:
    """The text that `neutralise_formula` was given."""
    return text[1:] if is_neutralised(text) else text


def is_neutralised(text: str) -> bool:
    """Whether a text has the apostrophe that `neutralise_formula` writes."""
    return _NEUTRALISED.match(text) is not None
