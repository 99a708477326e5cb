"""Gold that is a text: find the retrieved chunk that contains it."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

# Fewer characters in common say nothing: "ro" at the end of a chunk is no half of "Rome", and "the"
# is in every long text.
_LEAST = 10

# Soft hyphens, joiners and the like, which are in a text but not seen.
_UNSEEN = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")

# Letters and digits of scripts that write blanks between words. Thai, Lao, Burmese, Khmer, Chinese
# and Japanese do not, so the character beside a text says nothing about where a word ends.
_SPACED = re.compile(
    "[^\\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


def simplify_passage(text: str) -> str:
    r"""A text for comparison: one form of each character, no upper case, single blanks.

    Examples
    --------
    >>> simplify_passage("The  SEINE\n is ７７７ km long")
    'the seine is 777 km long'
    """
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold()
    return " ".join(unicodedata.normalize("NFKC", plain).split())


def first_text_holders(chunks: Sequence[str], gold: Sequence[str], overlap: float) -> list[int]:
    """For each gold text the rank, from 0, of the first chunk that contains it; -1 if none does.

    Case, blanks and Unicode forms do not matter, nor punctuation at the ends of a gold text. A
    chunk contains a text if the text is part of it (a text of fewer than 10 characters as whole
    words), if it is itself part of the text, or if the end of one is the start of the other and
    this common part, of at least 10 characters, is `overlap` times the length of the shorter.

    Parameters
    ----------
    chunks : sequence of str
        The texts of the retrieved chunks, the best first.
    gold : sequence of str
        The gold texts.
    overlap : float
        Above 0, at most 1.

    Examples
    --------
    >>> chunks = ["Paris lies on a river.", "The Seine  is 777 KM long. It flows north."]
    >>> first_text_holders(chunks, ["the Seine is 777 km long.", "Rome"], overlap=0.5)
    [1, -1]
    """
    texts = [simplify_passage(chunk) for chunk in chunks]
    return [_first_holder(texts, _without_ends(simplify_passage(text)), overlap) for text in gold]


def _without_ends(text: str) -> str:
    """A text without punctuation at its ends; all of it if there is nothing else."""
    kept = [place for place, character in enumerate(text) if character.isalnum()]
    return text[kept[0] : kept[-1] + 1] if kept else text


def _first_holder(chunks: Sequence[str], gold: str, overlap: float) -> int:
    holders = (rank for rank, chunk in enumerate(chunks) if _contains(chunk, gold, overlap))
    return next(holders, -1) if gold else -1


def _contains(chunk: str, gold: str, overlap: float) -> bool:
    if gold in chunk:
        return len(gold) >= _LEAST or _has_as_words(chunk, gold)
    least = max(math.ceil(overlap * min(len(chunk), len(gold))), _LEAST)
    if len(chunk) < least:
        return False
    return chunk in gold or _follows(chunk, gold, least) or _follows(gold, chunk, least)


def _has_as_words(chunk: str, gold: str) -> bool:
    """Whether a short text is in a chunk other than as part of a longer word."""
    for match in re.finditer(re.escape(gold), chunk):
        before, after = chunk[: match.start()][-1:], chunk[match.end() :][:1]
        if not (_is_one_word(before, gold[0]) or _is_one_word(gold[-1], after)):
            return True
    return False


def _is_one_word(left: str, right: str) -> bool:
    return bool(_SPACED.match(left) and _SPACED.match(right))


def _follows(first: str, second: str, least: int) -> bool:
    """Whether the end of a text is the start of another, over at least that many characters."""
    head = second[:least]
    place = first.find(head, max(0, len(first) - len(second)))
    while place >= 0:
        if second.startswith(first[place:]):
            return True
        place = first.find(head, place + 1)
    return False
