"""`EvaluationRun`: what an evaluation gave, in memory and in its folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from rageval_report.analysis.gate import GateResult
from rageval_report.errors import DataError
from rageval_report.evaluating.judge_setup import judges_results, noise_results
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Judged
from rageval_report.readers.record_files import read_records
from rageval_report.reports.report import Report, Section
from rageval_report.results import Result
from rageval_report.scores.write import save_scores

SCORES, REPORT = "scores.json", "report.html"


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationRun:
    """What `rageval_report.evaluate` gave: records, scores, costs, timings, gates, weighted score.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        All scores, computed and judged.
    judged : Judged, optional
        The verdicts of the judge; None if nothing was judged.
    costs : Result
        One row for the pipeline and one per rubric of the judge: queries, queries of known cost,
        tokens, US dollars. Unknown costs are NaN, and a note says why.
    timings : Result
        Latencies of the pipeline, its throughput, and the seconds of each step.
    gates : GateResult, optional
        The outcome of the gates; None if there are none.
    weighted : Result, optional
        The weighted score; None without weights and objectives.
    notes : tuple of str
        What happened on the way, in order.
    folder : Path, optional
        The folder with the files of the run; None if none was named, and nothing is kept.
    failure : str, optional
        Why the judge failed. What was computed is in `evaluation` all the same.
    record_source : Path or DataFrame
        The file of records, or the records themselves.
    stopping : Result, optional
        The stopping rules: whether each holds, and the evidence; None without such rules.
    """

    evaluation: RAGPipelineEvaluation
    judged: Judged | None
    costs: Result
    timings: Result
    gates: GateResult | None
    weighted: Result | None
    notes: tuple[str, ...]
    folder: Path | None
    failure: str | None
    record_source: Path | pd.DataFrame
    stopping: Result | None = None

    @cached_property
    def records(self) -> pd.DataFrame:
        """The records: one row per query, with the answer of the pipeline; read when needed."""
        if isinstance(self.record_source, pd.DataFrame):
            return self.record_source
        return read_records(self.record_source, unretrieved_citations="keep", unplaced_gold="drop")

    @property
    def passed(self) -> bool:
        """Whether all gates hold; true without gates."""
        return self.gates is None or self.gates.passed

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped the judging before it was complete."""
        return self.judged is not None and self.judged.is_interrupted

    @property
    def tables(self) -> dict[str, Result]:
        """The tables besides that of the scores, by name, e.g. noise, weighted, gates, costs."""
        tables = {**judges_results(self.evaluation, self.judged), **noise_results(self.judged)}
        if self.stopping is not None:
            tables["stopping"] = self.stopping
        if self.weighted is not None:
            tables["weighted"] = self.weighted
        if self.gates is not None:
            tables["gates"] = self.gates
        if self.costs.frame["cost_usd"].notna().any():
            tables["costs"] = self.costs
        return tables

    def report(self) -> Report:
        """The page of the scores, with the tables of the run after them.

        Returns
        -------
        rageval_report.reports.Report
            Its ``save("report.html")`` writes the page.
        """
        page = self.evaluation.report()
        sections = [Section(key, result.title, (result,)) for key, result in self.tables.items()]
        return replace(page, sections=(*page.sections, *sections))

    def save(self, folder: str | Path | None = None) -> Path:
        """Write ``scores.json`` and ``report.html``.

        The run file ``scores.json`` holds the scores, the details and the tables of the run; the
        page shows every query. `evaluate` has written both already if a folder was named.

        Parameters
        ----------
        folder : str or Path, optional
            If omitted, the folder of the run.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        DataError
            If the run has no folder and `folder` is omitted.
        """
        place = self.folder if folder is None else Path(folder)
        if place is None:
            raise DataError("folder must be named: this run has no folder of its own")
        place.mkdir(parents=True, exist_ok=True)
        evaluation = self.evaluation
        save_scores(
            *(evaluation, place / SCORES),
            config=evaluation.config,
            notes=evaluation.notes,
            created=evaluation.created,
            correct=evaluation.correct_rule,
            results={name: result.to_dict() for name, result in self._kept_tables().items()},
        )
        self.report().save(place / REPORT)
        return place

    def _kept_tables(self) -> dict[str, Result]:
        tables = {
            "costs": self.costs,
            "timings": self.timings,
            "stopping": self.stopping,
            "weighted": self.weighted,
            "gates": self.gates,
        }
        return {name: result for name, result in tables.items() if result is not None}

    def __repr__(self) -> str:
        evaluation = self.evaluation
        parts = [
            f"{evaluation.name!r}",
            f"{evaluation.n_queries} queries",
            f"{len(evaluation.metrics)} metrics",
        ]
        if self.weighted is not None:
            parts.append(f"weighted score {self.weighted.frame['value'].iloc[0]:.3f}")
        if self.gates is not None:
            parts.append(
                f"gates {self.gates.state if self.gates.passed else self.gates.state.upper()}"
            )
        cost = self.costs.frame["cost_usd"].sum(min_count=1)
        if not pd.isna(cost):
            parts.append(f"{cost:.4g} USD")
        if self.failure is not None:
            parts.append("the judge failed")
        if self.folder is not None:
            parts.append(f"folder {str(self.folder)!r}")
        return f"EvaluationRun({', '.join(parts)})"
