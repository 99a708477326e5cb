"""The witness is a small reader of LaTeX: groups and environments nest, nothing special is bare."""

import re

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report._version import __version__
from rageval_report.reports.latex import escape_latex, render
from rageval_report.results import Result

GOLDEN = rf"""
% Needs \usepackage{{booktabs}} in the preamble.
% confidence_level:0.95|version:{__version__}
\begin{{table}}
  \centering
  \caption{{50 \% of hyde}}
  \label{{tab:50-of-hyde}}
  \begin{{tabular}}{{lrrr}}
    \toprule
    metric & difference & 95 \% CI & W/T/L \\
    \midrule
    \multicolumn{{4}}{{l}}{{\textit{{retrieval}}}} \\
    recall@5 & +0.100 & 0.050 to 0.150 & 6/3/1 \\
    \midrule
    \multicolumn{{4}}{{l}}{{\textit{{a\&b}}}} \\
    exact\_match & $-$0.012 & $-$0.040 to 0.010 & 1/3/6 \\
    {{[}}x{{]}} & -- & -- & 0/0/0 \\
    \bottomrule
  \end{{tabular}}
  \par\medskip
  \begin{{minipage}}{{\linewidth}}
    \footnotesize
    Note: 2 of 10 \& more\par
  \end{{minipage}}
\end{{table}}""".strip()

COMMANDS = re.compile(r"\\(?:[a-zA-Z]+|[\\{}&%$#_,])")


def assert_is_latex(text):
    """Braces and environments nest; outside commands and comments no special character is left."""
    body = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
    environments = []
    for verb, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if verb == "begin":
            environments.append(name)
        else:
            assert environments.pop() == name
    assert environments == []
    bare = COMMANDS.sub("", body)
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    assert not set(bare) & set('#%_~^"<>|')
    assert bare.count("$") % 2 == 0
    for line in body.split("\n"):
        assert COMMANDS.sub("", line).count("$") % 2 == 0


def cells_per_row(text):
    lines = [line for line in text.split("\n") if not line.startswith("%")]
    rows = [line for line in lines if line.endswith(r"\\") and "multicolumn" not in line]
    return [len(re.findall(r"(?<!\\)&", line)) + 1 for line in rows]


def test_a_comparison_is_written_as_laid_out_by_hand():
    nan = float("nan")
    frame = pd.DataFrame(
        {
            "metric": ["recall@5", "exact_match", "[x]"],
            "group": ["retrieval", "a&b", "a&b"],
            "difference": [0.1, -0.0123, nan],
            "ci_low": [0.05, -0.04, nan],
            "ci_high": [0.15, 0.01, nan],
            "wins": [6, 1, 0],
            "ties": [3, 3, 0],
            "losses": [1, 6, 0],
        }
    )
    result = Result(
        "50 % of hyde",
        frame,
        {"confidence_level": 0.95},
        ("2 of 10 & more",),
        grouped_by="group",
    )
    assert render(result) == GOLDEN
    assert_is_latex(GOLDEN)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\\", r"\textbackslash{}"),
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("a_b^c~d", r"a\_b\textasciicircum{}c\textasciitilde{}d"),
        ("1 % & 2 # $x$", r"1 \% \& 2 \# \$x\$"),
        ("<|>", r"\textless{}\textbar{}\textgreater{}"),
        ("1\u20132 \u2014 \u22123 \u2026", r"1--2 --- $-$3 \ldots{}"),
        ("---", "-{}-{}-"),  # no ligature of dashes
        ('a "quoted" `word`', "a ''quoted'' \\textasciigrave{}word\\textasciigrave{}"),
        ("*[1]", "{*}{[}1{]}"),  # no option of the row before
        ("≤ ± ∞", r"$\le$ $\pm$ $\infty$"),
        ("Zürich", "Zürich"),
    ],
)
def test_special_characters_are_written_out(text, written):
    assert escape_latex(text) == written


@given(
    st.text(
        st.characters(codec="utf-8") | st.sampled_from('\\{}&%$#_~^<>|`"[]*-–−…\n'), max_size=40
    )
)
@example("\\\\")  # the comment with the settings ends as a row does
@settings(max_examples=200)
def test_no_text_breaks_the_table(text):
    frame = pd.DataFrame({"g": [text], text + "x": [text], "n": [-0.5], "verdict": [text]})
    written = render(Result(text, frame, {"x": text}, (text,), grouped_by="g"))
    assert_is_latex(written)
    assert set(cells_per_row(written)) == {2}
