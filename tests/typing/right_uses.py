"""Uses of the public names that every type checker must accept; nothing here is run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

import rageval_report as rr
from rageval_report import RAGPipelineEvaluation, Report, Result
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import openai_chat
from rageval_report.metrics import precision_at_k_exact, score_traces
from rageval_report.plots import PLOTS, plot
from rageval_report.stats import adjust_pvalues, mean_interval, paired_test

rows = {"query_id": ["a", "b"], "recall@5": [1.0, 0.5], "faithfulness": [0.2, 0.9]}

# -- evaluations

baseline = RAGPipelineEvaluation("bm25", rows, metrics=["recall@5"], duplicates="mean")
candidate = RAGPipelineEvaluation.load("hybrid", Path("hybrid.csv"), delimiter=";", strict=True)
every: dict[str, RAGPipelineEvaluation] = rr.read_scores("both.csv", decimal=",")
described = RAGPipelineEvaluation("x", rows, metrics={"recall@5": "higher", "faithfulness": {}})
ruled = RAGPipelineEvaluation("x", rows, correct=("faithfulness", 0.8))

report = baseline.evaluation_report(confidence_level=0.9, percentiles=(10, 90), seed=1)
mean: float = report["Recall@5"]
one: float = baseline.get_aggregated_scores("recall@5")
all_means: pd.Series = baseline.get_aggregated_scores()
cells: pd.DataFrame = baseline.get_detailed_scores(["recall@5"], query_ids=["a"])
thresholds: Result = baseline.find_thresholds(percentiles=(25, 75), method="exclusive")
worst: pd.DataFrame = baseline.get_scores_below_threshold("recall@5", "p25")
failing: Result = baseline.failures("recall@5", 0.5, cause="retrieval", k=5)
by_type: Result = baseline.slices("question_type", ["recall@5"], interval="t")
ids: pd.DataFrame = baseline.comparative_detailed_summary(candidate, correct="faithfulness")
text = baseline.aggregated_report(output_format="csv")
frame = baseline.to_frame()
saved: Path = baseline.save("bm25.json", created="2026-08-01", force=False)
renamed: RAGPipelineEvaluation = baseline.with_name("old").with_notes("as of Monday")

# -- comparisons, rankings, gates

comparison = rr.compare(
    baseline, candidate, test="sign-flip", correction="bh", missing="worst", margin=0.02
)
same = baseline.comparative_summary(candidate, clusters="document", n_resamples=999)
lost: pd.DataFrame = comparison.regressions("recall@5")
slices: Result = comparison.slices("question_type")
gate = comparison.gate("no_regression(faithfulness, margin=0.02)")
passed: bool = baseline.gate("ci_low(recall@5) >= 0.7", missing="worst").passed
ranking = rr.rank(baseline, candidate, metrics=["recall@5"], correction="holm")
weighted = ranking.weighted({"recall@5": 2.0, "faithfulness": 1.0})
front = ranking.pareto(["recall@5", "faithfulness"])
trend = rr.history("runs", fixed=["judge_model"], pipeline="hybrid")
calibration = rr.calibrate(baseline, "faithfulness", {"a": 1, "b": 0}, threshold=0.5)

# -- pictures and pages

axes: Axes = baseline.plot("distribution", "recall@5", threshold=0.7)
other_axes: Axes = comparison.plot("forest", ax=axes, scale="own")
direct: Axes = plot(baseline, "distribution", "recall@5", percentiles=())
from_outside: Axes = baseline.plot(PLOTS["radar"], spokes=5)
page: Report = baseline.report(title="BM25", by="question_type", pictures=False)
compared: Report = comparison.report(longest_text=200)
written = page.save("report.html")

# -- scores from records

records = rr.read_records("records.jsonl")
scored = rr.score(
    records,
    ["recall@5", "faithfulness"],
    chat=openai_chat("llama3.1", base_url="http://localhost:11434/v1", temperature=0.0),
    judging={"max_cost": 2.0, "n_repeats": 3},
)
ranked = rr.score_rankings("run.trec", {"q1": {"d1": 1}}, ["ndcg@10"], ties="docid")
traces = score_traces([{"qid": "a"}], "trace.jsonl", k=5)
precision = precision_at_k_exact(["a"], ["a", "b"], 2)

# -- statistics

interval = mean_interval([0.1, 0.5], method="bca", bounds=(0, 1))
low: float = interval.low
tested = paired_test([0.1, 0.5], [0.3, 0.4], alternative="two-sided")
pvalues = adjust_pvalues([0.01, 0.2], method="holm")

# -- results and errors

html: str = thresholds.to_html()
signature: str = thresholds.signature
try:
    rr.METRICS["recal"]
except UnknownNameError as error:
    known: list[str] = error.known
except (DataError, rr.RagevalError):
    pass
