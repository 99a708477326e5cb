"""Uses the package beside this file in an environment where pip installed it with rageval_report.

    python use_it.py FOLDER

It needs the core packages only. It writes a few files into FOLDER, uses every extension through
Python and through the command line, and ends with an AssertionError if one does not work.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl

from rageval_report import RAGPipelineEvaluation, read_scores, score
from rageval_report.errors import RagevalError, UnknownNameError
from rageval_report.judges import FunctionChat
from rageval_report.plots import PLOTS

mpl.use("Agg")

ROWS = [
    {
        "query_id": "q1",
        "question": "Where?",
        "answer": "Over there, please.",
        "reference": "There.",
    },
    {"query_id": "q2", "question": "When?", "answer": "No.", "reference": "Now."},
]


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of this environment."""
    program = [sys.executable, "-m", "rageval_report", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def check(done: subprocess.CompletedProcess[str], code: int, text: str) -> None:
    """Stop with what the command printed if its exit code or its text is another one."""
    output = done.stdout + done.stderr
    if done.returncode != code or text not in output:
        raise AssertionError(f"{done.args}: exit {done.returncode}, expected {text!r} in\n{output}")


def expect(error: type[Exception], text: str, metric: str) -> None:
    """Stop unless scoring a metric raises an error with this text."""
    try:
        score(ROWS, [metric])
    except error as raised:
        if text not in str(raised):
            raise AssertionError(f"expected {text!r} in {raised}") from raised
    else:
        raise AssertionError(f"score(ROWS, [{metric!r}]) raised nothing")


def main(folder: Path) -> None:
    """Use everything once."""
    stars, records = folder / "run.stars", folder / "records.jsonl"
    stars.write_text("STARS\nq1 ***\nq2 *****\n")
    records.write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    # Python
    (evaluation,) = read_scores(stars).values()
    assert evaluation.get_aggregated_scores("stars") == 4.0
    assert RAGPipelineEvaluation.load("mine", stars).metrics["stars"].bounds == (0.0, 5.0)
    assert score(ROWS, ["answer_words"]).scores["answer_words"].tolist() == [3.0, 1.0]
    from_package = __import__("rageval_outside").answer_please
    judged = score(ROWS, ["politeness"], chat=FunctionChat(from_package, "please-1"))
    assert judged.scores["politeness"].tolist() == [1.0, 0.0]
    assert len(evaluation.plot(PLOTS["bars"], "stars", height=2.0).patches) == 1

    # The command line
    check(command("report", str(stars)), 0, "Stars")
    done = command("score", "--records", str(records), "--metric", "answer_words")
    check(done, 0, "Answer Words")
    picture = folder / "stars.png"
    check(
        command("plot", str(stars), "--kind", "bars", "-o", str(picture), "--force"),
        0,
        str(picture),
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    judge = ("judge", str(records), "--judge", "politeness", "--provider", "please")
    check(command(*judge, "--model", "please-1", "--no-cache"), 0, "Politeness")

    # Errors: a misspelt name asks for no extra, and a broken plug-in is named
    expect(UnknownNameError, "Did you mean 'answer_words'?", "answer_wordz")
    expect(RagevalError, "rageval-outside 1.0", "broken_metric")
    misspelt = command("score", "--records", str(records), "--metric", "answer_wordz")
    check(misspelt, 2, "Did you mean 'answer_words'?")
    broken = command("score", "--records", str(records), "--metric", "broken_metric")
    check(broken, 2, "rageval-outside 1.0")
    sys.stdout.write("the outside package: reader, metric, rubric, chat and plot work\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
