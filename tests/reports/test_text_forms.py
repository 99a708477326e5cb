"""The other forms: Markdown, plain text, and LaTeX that compiles where a TeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from rageval_report import RAGPipelineEvaluation, compare


@pytest.fixture(scope="module")
def report(comparison):
    return comparison.report(pictures=False)


def test_plain_text_fits_a_hundred_columns(report):
    text = report.to_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "hybrid against bm25\n===================\n" in text


HOSTILE = [
    r"100% & \input{/etc/passwd}",
    "$x_1$ #{}~^",
    "<b>|`'\"",
    "– — … ≤ × é ü ß",
    "a\x00b\u202ec",
]


def hostile_report():
    n = len(HOSTILE)
    runs = [
        RAGPipelineEvaluation(
            name,
            {
                "query_id": [f"q{k}" for k in range(4 * n)],
                "topic & co": HOSTILE * 4,
                "f1_score%": [(k * step % 7) / 7 for k in range(4 * n)],
                "recall": [(k * step % 5) / 5 for k in range(4 * n)],
            },
            config={"model_name": r"a_b\c", "50%": "#1"},
        )
        for name, step in (("old_1 & co", 3), ("new\\2 {x}", 2))
    ]
    return compare(*runs).report(correct=("recall", 0.5), pictures=False, title=r"50% of \LaTeX_")


def test_latex_nests_and_leaves_no_special_character_bare():
    text = hostile_report().to_latex()
    assert text.count(r"\begin{") == text.count(r"\end{")
    body = text.split(r"\begin{document}")[1]
    lines = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("%"))
    bare = re.sub(r"\\(?:[a-zA-Z]+\*?|[\\{}&%$#_,])", "", lines)
    assert not set(bare) & set('#%_~^"<>|')
    assert bare.count("{") == bare.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
def test_latex_compiles_as_it_is(report, tmp_path):
    for name, one in (("plain", report), ("hostile", hostile_report())):
        one.save(tmp_path / f"{name}.tex")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", name],
            cwd=tmp_path,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 10_000
