"""Tokens of texts in scripts without blanks between words."""

from __future__ import annotations

import re

# Scripts without blanks between words: Thai, Lao, Myanmar, Khmer; kana; Han with its extensions.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
_UNSPACED += "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")


def characters_or_words(text: str) -> list[str]:
    """The tokens of a text: characters of scripts without blanks, otherwise words, in lower case.

    A tokenizer for `token_f1`, ROUGE and BLEU. By default a Japanese or Thai sentence is one token
    for `token_f1` and BLEU and no token for ROUGE, so that only equal sentences score above 0.

    Parameters
    ----------
    text : str
        Any text; punctuation is not part of any token.

    Returns
    -------
    list of str

    Examples
    --------
    >>> characters_or_words("Python 3 は楽しい。")
    ['python', '3', 'は', '楽', 'し', 'い']
    """
    return _TOKEN.findall(text.lower())
