"""Write Ragas's files of a made-up evaluation, and what its objects report.

    python tests/golden/ragas/make_ragas.py     # pip install ragas==0.4.3 "langchain-community<0.4"

One metric is Ragas's own that asks no model, the others are made up: one raises on a sample, one
has a mode in its name. The frame of 0.1 is the same with the names that it had then, and with
arrays instead of lists, as it came from a data set. The experiments are written by Ragas's own
back ends, with results of metrics as they are and as their values.
"""

import asyncio
import json
import math
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"

import numpy as np
from ragas import Dataset, EvaluationDataset, evaluate, experiment
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import ExactMatch
from ragas.metrics.base import MetricType, SingleTurnMetric
from ragas.metrics.result import MetricResult

HERE = Path(__file__).parent.resolve()
SAMPLES = [
    ("Capital of Italy?", ["Rome is.", "It's old."], "Rome", "Rome"),
    ("Größe von Köln?", ['"Köln", says he', "line\nbreak"], "1.1 million people", "1.1 million"),
    ('Who wrote "Emma"?', ["only one"], "I don't know, \\d", "Jane Austen"),
]
MADE = {"faithfulness": [1.0, 0.5, None], "noise_sensitivity(mode=relevant)": [0.0, 0.25, 0.75]}


@dataclass
class Made(SingleTurnMetric):
    """A metric of made-up scores."""

    name: str = "made"
    _required_columns: dict = field(
        default_factory=lambda: {MetricType.SINGLE_TURN: {"user_input", "response"}}
    )

    def init(self, run_config):
        pass

    async def _single_turn_ascore(self, sample, callbacks):
        number = [one[0] for one in SAMPLES].index(sample.user_input)
        score = MADE[self.name][number]
        if score is None:
            raise ValueError("no answer of the judge")
        return score


def evaluated():
    samples = [
        SingleTurnSample(user_input=one, retrieved_contexts=texts, response=answer, reference=truth)
        for one, texts, answer, truth in SAMPLES
    ]
    metrics = [Made(name=name) for name in MADE] + [ExactMatch()]
    return evaluate(
        EvaluationDataset(samples),
        metrics,
        llm=object(),
        embeddings=object(),
        raise_exceptions=False,
        show_progress=False,
    )


def write_frames(result):
    frame = result.to_pandas()
    frame.to_csv(HERE / "frame.csv", index=False)
    frame.to_json(HERE / "frame.jsonl", orient="records", lines=True)
    frame.to_json(HERE / "frame.json", orient="records", indent=1)
    frame.to_parquet(HERE / "frame.parquet")
    old = frame.rename(
        columns={
            "user_input": "question",
            "retrieved_contexts": "contexts",
            "response": "answer",
            "reference": "ground_truth",
        }
    )
    old["contexts"] = [np.array(texts) for texts in old["contexts"]]
    old.to_csv(HERE / "frame_0.1.csv")


async def write_experiments():
    rows = [
        {"user_input": asked, "response": answer, "reference": truth}
        for asked, _, answer, truth in SAMPLES
    ]
    results = [MetricResult(1.0, reason="it's there"), MetricResult(0.5), MetricResult(math.nan)]
    for backend in ("local/csv", "local/jsonl"):
        with tempfile.TemporaryDirectory() as folder:
            data = Dataset("made", backend, data=rows, root_dir=folder)

            @experiment(backend=data.backend, name_prefix="made")
            async def run(row, backend=backend):
                number = [one[0] for one in SAMPLES].index(row["user_input"])
                result = results[number]
                if backend == "local/jsonl":
                    return {**row, "score": result.value, "score_reason": result.reason}
                return {**row, "score": result, "ratio": result.value}

            await run.arun(data, name="made")
            kind = backend.removeprefix("local/")
            [kept] = (Path(folder) / "experiments").glob(f"*.{kind}")
            shutil.copy(kept, HERE / f"experiment.{kind}")


if __name__ == "__main__":
    result = evaluated()
    write_frames(result)
    asyncio.run(write_experiments())
    told = {
        "tool": "ragas",
        "version": version("ragas"),
        "command": "python tests/golden/ragas/make_ragas.py",
        "values": [
            {name: None if math.isnan(score) else score for name, score in row.items()}
            for row in result.scores
        ],
        "experiment": [1.0, 0.5, None],
    }
    (HERE / "expected.json").write_text(json.dumps(told, indent=1) + "\n")
