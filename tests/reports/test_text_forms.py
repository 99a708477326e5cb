"""The other forms: a page as plain text, and a result as LaTeX."""

from __future__ import annotations

import re

from rageval_report import RAGPipelineEvaluation, compare

HOSTILE = [
    r"100% & \input{/etc/passwd}",
    "$x_1$ #{}~^",
    "<b>|`'\"",
    "– — … ≤ × é ü ß",
    "a\x00b\u202ec",
]


def test_plain_text_fits_a_hundred_columns(comparison):
    text = comparison.report(pictures=False).to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "hybrid against bm25\n===================\n" in text


def test_latex_nests_and_leaves_no_special_character_bare():
    n = 4 * len(HOSTILE)
    old, new = (
        RAGPipelineEvaluation(
            name,
            {
                "query_id": [f"q{k}" for k in range(n)],
                "topic & co": HOSTILE * 4,
                "f1_score%": [(k * step % 7) / 7 for k in range(n)],
                "recall": [(k * step % 5) / 5 for k in range(n)],
            },
        )
        for name, step in (("old_1 & co", 3), ("new\\2 {x}", 2))
    )
    results = (compare(old, new), compare(old, new).slices("topic & co"))
    for text in (result.to_latex() for result in results):
        assert text.count(r"\begin{") == text.count(r"\end{")
        lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("%"))
        unescaped = re.sub(r"\\(?:[a-zA-Z]+\*?|[\\{}&%$#_,])", "", lines.replace(" & ", " "))
        bare = re.sub(r"\$[-<>]?\$", "", unescaped)  # signs are set as formulas
        assert not set(bare) & set('#%_~^"<>|$')
        assert bare.count("{") == bare.count("}")
