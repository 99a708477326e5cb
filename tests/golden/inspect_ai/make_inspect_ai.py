"""Write logs of Inspect on questions made up here, with a solver and scorers that work by rote.

pip install inspect_ai==0.3.285 pandas pyarrow
python tests/golden/inspect_ai/make_inspect_ai.py

``toy.eval`` and ``toy.json`` are of one task: letters, a scorer of objects that gives up on q4, one
that raises on q2, two epochs. ``header.json`` is the header alone, ``samples.csv`` the frame of
samples, ``evals.csv`` that of evaluations. Inspect's own figures, with ``samples`` its reductions
over epochs, stand in ``expected.json``.
"""

import json
import tempfile
from importlib.metadata import version
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.analysis import evals_df, samples_df
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, accuracy, mean, scorer
from inspect_ai.solver import solver

HERE = Path(__file__).parent
LETTERS = {"q1": "C", "q2": "I", "q3": "P", "q4": "N"}


@scorer(metrics=[accuracy()])
def letters():
    async def score(state, target):
        letter = LETTERS[state.sample_id]
        return Score(value=letter, answer="a", explanation=f"because {letter}")

    return score


@scorer(metrics={"f1": [mean()], "em": [mean()]})
def overlap():
    async def score(state, target):
        if state.sample_id == "q4":
            return Score.unscored(reason="no_grade", explanation="could not parse the grade")
        value = {"f1": 0.25 * state.epoch, "em": state.epoch == 2}
        return Score(value=value, explanation="counted")

    return score


@scorer(metrics=[mean()])
def failing():
    async def score(state, target):
        if state.sample_id == "q2":
            raise RuntimeError("judge timed out")
        return Score(value=0.5)

    return score


@solver
def canned():
    async def solve(state, generate):
        text = f"answer to {state.sample_id}"
        state.output = ModelOutput.from_content("mockllm/model", text)
        return state

    return solve


def without_traces(log):
    """The log without where it was written: events and tracebacks hold paths."""
    for sample in log.samples:
        sample.events = []
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
    log.eval.revision = None
    return log


if __name__ == "__main__":
    questions = [
        Sample(id=f"q{n}", input=f"Question {n}?", target=f"t{n}", metadata={"topic": topic})
        for n, topic in enumerate("xxyy", 1)
    ]
    task = Task(
        dataset=MemoryDataset(questions, name="toy"),
        solver=canned(),
        scorer=[letters(), overlap(), failing()],
        epochs=2,
        name="toy",
    )
    with tempfile.TemporaryDirectory() as folder:
        [log] = run(
            task, model="mockllm/model", log_dir=folder, display="none", fail_on_error=False
        )
        log = without_traces(read_eval_log(log.location))
        for kind in ("eval", "json"):
            write_eval_log(log, str(HERE / f"toy.{kind}"))
    header = json.loads((HERE / "toy.json").read_text())
    for key in ("samples", "reductions"):
        reductions = header.pop(key)
    (HERE / "header.json").write_text(json.dumps(header) + "\n", encoding="utf-8")
    samples = samples_df(str(HERE / "toy.eval"))
    samples["log"] = "logs/toy.eval"
    samples.to_csv(HERE / "samples.csv", index=False)
    evals = evals_df(str(HERE / "toy.eval"))
    evals["log"] = "logs/toy.eval"
    evals.to_csv(HERE / "evals.csv", index=False)
    expected = {
        "tool": "inspect_ai",
        "version": version("inspect_ai"),
        "means": {
            score.name: {name: metric.value for name, metric in score.metrics.items()}
            for score in log.results.scores
        },
        "samples": reductions,
    }
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
