"""One reader, one metric, one rubric, one chat and one plot for rageval_report."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from rageval_report import Metric, RAGPipelineEvaluation
from rageval_report.files.source import Source
from rageval_report.judges import FunctionChat, Rubric
from rageval_report.metrics.text import Answers
from rageval_report.plots import Plot
from rageval_report.readers import Reader, ScoreFile


def recognise_stars(source: Source) -> float:
    """How certain it is that a file is one of ours: its first line says so."""
    return 0.95 if source.head.startswith(b"STARS") else 0.0


def read_stars(source: Source) -> list[ScoreFile]:
    """Read lines such as "q1 ***"."""
    pairs = [line.split() for line in source.text.splitlines()[1:]]
    frame = pd.DataFrame({"query_id": [query for query, _ in pairs]})
    frame["stars"] = [len(stars) for _, stars in pairs]
    metrics = {"stars": {"kind": "ordinal", "bounds": (0, 5)}}
    return [ScoreFile(frame, source.stem, metrics=metrics)]


STARS = Reader(
    "stars",
    "a line of stars per query",
    recognise=recognise_stars,
    read=read_stars,
    example="run.stars",
)


def count_words(answers: Answers, _: int | None) -> np.ndarray:
    """The number of words of each answer; NaN if there is none."""
    counts = [np.nan if answer is None else len(answer.split()) for answer in answers.answer]
    return np.array(counts, dtype=np.float64)


ANSWER_WORDS = Metric("answer_words", greater_is_better=False, compute=count_words, needs="answers")

POLITENESS = Rubric("politeness", "Is it polite?", "How polite is this? {answer}", scale=(1, 5))


def answer_please(text: str) -> str:
    """A model that likes the word "please"."""
    return json.dumps({"reasoning": "its words", "score": 5 if "please" in text else 1})


def please_chat(model: str, **_: object) -> FunctionChat:
    """A provider whose model runs in this process."""
    return FunctionChat(answer_please, model)


def draw_bars(
    evaluation: RAGPipelineEvaluation, *metrics: str, height: float = 1.0, ax: Axes | None = None
) -> Axes:
    """The mean of each metric as a bar."""
    axes = ax or plt.figure().add_subplot()
    names = list(metrics) or list(evaluation.metrics)
    axes.bar(names, [height * evaluation.scores[name].mean() for name in names])
    return axes


BARS = Plot("bars", draw_bars, subject="evaluation")
