"""Typical mistakes that every type checker must report, each on a line that ends in "# wrong".

Nothing here is run. `check.py` compares the marked lines with those that a checker reports.
"""

from __future__ import annotations

import rageval_report as rr
from rageval_report import RAGPipelineEvaluation
from rageval_report.judges import openai_chat
from rageval_report.plots import plot
from rageval_report.stats import adjust_pvalues, paired_test

rows = {"query_id": ["a", "b"], "recall@5": [1.0, 0.5]}
baseline = RAGPipelineEvaluation("bm25", rows)
candidate = RAGPipelineEvaluation("hybrid", rows)
comparison = rr.compare(baseline, candidate)
ranking = rr.rank(baseline, candidate)

# -- names that do not exist
rr.comparee(baseline, candidate)  # wrong
baseline.evaluation_reports()  # wrong
comparison.regresions("recall@5")  # wrong
rr.stats.paired_tests([1.0], [2.0])  # wrong

# -- keywords that do not exist
RAGPipelineEvaluation("bm25", rows, duplicate="mean")  # wrong
RAGPipelineEvaluation.load("bm25", "bm25.csv", delimeter=";")  # wrong
baseline.evaluation_report(confidence=0.9)  # wrong
rr.compare(baseline, candidate, corrections="holm")  # wrong
rr.rank(baseline, candidate, metric=["recall@5"])  # wrong
baseline.gate("mean(recall@5) >= 0.7", n_resample=99)  # wrong
baseline.plot("distribution", treshold=0.7)  # wrong
baseline.report(picture=False)  # wrong
comparison.report(longest=3)  # wrong
rr.score([], ["recall@5"], dupliactes="best")  # wrong
rr.score([], ["faithfulness"], judging={"max_costs": 2.0})  # wrong
openai_chat("llama3.1", temprature=0.0)  # wrong

# -- texts that are not among the values
RAGPipelineEvaluation("bm25", rows, duplicates="average")  # wrong
rr.compare(baseline, candidate, missing="zero")  # wrong
rr.score_rankings({}, {}, ["ndcg@10"], ties="random")  # wrong
baseline.plot("histogramm")  # wrong
plot(baseline, "boxplot")  # wrong
paired_test([1.0], [2.0], alternative="both")  # wrong

# -- wrong types
rr.compare("bm25.csv", "hybrid.csv")  # wrong
baseline.get_scores_below_threshold(0.5, "recall@5")  # wrong
baseline.failures("recall@5", 0.5, k="5")  # wrong
adjust_pvalues(0.05, method=3)  # wrong
threshold: float = baseline.get_aggregated_scores()  # wrong
ranking.weighted(["recall@5"])  # wrong
