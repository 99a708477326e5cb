"""Dialects: the names and rules of other evaluation systems, with which their numbers come out.

To add one, write a `Dialect` and an entry in `DIALECTS`. A metric whose definition differs from the
one of the catalogue names the function that computes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from rageval_report._registry import Registry
from rageval_report.errors import DataError, check_choice
from rageval_report.scores.metric import METRICS, Catalogue, Metric, normalise_name, title_of

DialectName = Literal["datapizza", "haystack", "ragbench", "wfgy"]
DialectPercentiles = Literal["linear", "exclusive", "upper"]
DIALECT_NAMES: tuple[DialectName, ...] = get_args(DialectName)
DIALECT = "dialect"
"""The key of an evaluation's configuration, and of the settings of its reports."""

# The lowest grade above 0: gold of any grade is relevant.
ANY_GRADE = 5e-324

_K = "{k}"


@dataclass(frozen=True)
class DialectMetric:
    """A metric as a system calls it and computes it.

    Parameters
    ----------
    name : str
        The name in the system; ``{k}`` stands for the cutoff.
    metric : str
        The metric of the catalogue that it is, or that is nearest.
    compute : "module:function", optional
        The function that computes it, if the system's definition differs from the catalogue's.
    needs : str, optional
        The view of the records that `compute` takes; if omitted, that of the catalogue.
    bounds : (float, float), optional
        The bounds, if `compute` is set; None if a score may lie outside 0 and 1.
    cutoffs : tuple of int
        The cutoffs of the system's own configuration.
    is_default : bool
        Whether it is computed if no metric is named and the fields of the records allow it.
    """

    name: str
    metric: str
    compute: str | None = None
    needs: str = ""
    bounds: tuple[float, float] | None = (0.0, 1.0)
    cutoffs: tuple[int, ...] = ()
    is_default: bool = True

    @property
    def has_cutoff(self) -> bool:
        """Whether the name contains a cutoff."""
        return _K in self.name

    def cutoff_in(self, name: str) -> str | None:
        """The cutoff in a name of this metric, "" if it has none; None for any other name."""
        before, _, after = self.name.partition(_K)
        pattern = re.escape(before) + (r"(\d{1,9})" if self.has_cutoff else "()") + re.escape(after)
        match = re.fullmatch(pattern, name)
        return None if match is None else match[1]

    def entry(self, k: int | None, label: str) -> Metric:
        """The description of the metric with a cutoff, under the name of the system."""
        known = METRICS[self.metric]
        known = known if k is None else known.at(k)
        column = normalise_name(self.name.replace(_K, str(k)))
        entry = replace(known, name=column, title=f"{title_of(column)} ({label})", aliases=())
        if self.compute is None:
            return entry
        kind = entry.kind if self.bounds == (0.0, 1.0) else "real"
        needs = self.needs or entry.needs
        return replace(entry, compute=self.compute, needs=needs, kind=kind, bounds=self.bounds)


@dataclass(frozen=True)
class Dialect:
    """The rules of a system; a rule that is None is left to the caller.

    Parameters
    ----------
    name : str
        The name of the dialect.
    system : str
        The system, and the version whose rules these are.
    metrics : tuple of DialectMetric
        Its metrics.
    duplicates : {"error", "best", "keep"}, optional
        What is done with a passage that was retrieved twice.
    no_relevant : {"skip", "zero"}, optional
        The retrieval score of a question without relevant documents.
    level : {"auto", "chunk", "document"}, optional
        The level of the ids that are compared.
    ties : {"docid", "input", "error"}, optional
        The order of documents of equal score in a ranking file.
    relevance_level : float
        The lowest grade that is relevant.
    percentile_method : {"linear", "exclusive", "upper"}
        The rule of percentiles, as in `rageval_report.stats.describe`.
    judges_unanswerable : bool
        Whether the gold of a question that has no answer counts all the same.
    rewards_refusals : bool
        Whether a right refusal is a right answer for metrics such as exact match.
    denominators : str
        What the metrics divide by, for the note.
    failed : str
        How a query counts for which the pipeline failed, for the note.
    """

    name: DialectName
    system: str
    metrics: tuple[DialectMetric, ...]
    duplicates: Literal["error", "best", "keep"] | None = "keep"
    no_relevant: Literal["skip", "zero"] | None = "skip"
    level: Literal["auto", "chunk", "document"] | None = None
    ties: Literal["docid", "input", "error"] | None = "input"
    relevance_level: float = ANY_GRADE
    percentile_method: DialectPercentiles = "linear"
    judges_unanswerable: bool = True
    rewards_refusals: bool = False
    denominators: str = ""
    failed: str = "a failed query is unscored"

    @property
    def note(self) -> str:
        """What the dialect fixes, in a sentence."""
        rules = {
            "duplicates": self.duplicates,
            "no_relevant": self.no_relevant,
            "level": self.level,
            "ties": self.ties,
            "percentiles": self.percentile_method,
        }
        fixed = ", ".join(f"{name}={rule}" for name, rule in rules.items() if rule is not None)
        return (
            f"dialect: names and rules of {self.system}: {fixed}; {self.denominators}; gold of any "
            f"grade above 0 is relevant; {self.failed}"
        )

    def find(self, name: str) -> Metric | None:
        """The description of a metric by the system's name of it, or by one of the catalogue."""
        spelled = normalise_name(name)
        for metric in self.metrics:
            for candidate in (name.strip().lower(), spelled):
                cutoff = metric.cutoff_in(candidate)
                if cutoff is not None:
                    return self._entry(metric, int(cutoff) if cutoff else None)
            # The column of such a metric: recall_at_5 is recall@5 in normal form.
            stem, at, k = spelled.partition("@")
            if at and metric.has_cutoff and normalise_name(metric.name.replace(_K, k)) == spelled:
                return self._entry(metric, int(k))
        known = Catalogue().find(name)
        if known is None:
            return None
        stem, _, k = known.known_as.partition("@")
        for metric in self.metrics:
            if metric.metric == stem and metric.has_cutoff == bool(k):
                return self._entry(metric, int(k) if k else None)
        return None

    def _entry(self, metric: DialectMetric, k: int | None) -> Metric | None:
        return None if k == 0 else metric.entry(k, self.name)

    def names(self) -> list[str]:
        """The names of its metrics, with ``{k}`` for a cutoff."""
        return [metric.name for metric in self.metrics]

    def default_names(self) -> list[str]:
        """The metrics of the system's own configuration, with its cutoffs."""
        return [
            metric.name.replace(_K, str(k))
            for metric in self.metrics
            if metric.is_default
            for k in (metric.cutoffs or (0,))
        ]

    def settle(self, **options: object) -> dict[str, object]:
        """The options of a call, completed by the rules.

        Raises
        ------
        DataError
            If an option that is not None contradicts a rule.
        """
        settled = dict(options)
        for option, value in options.items():
            rule = getattr(self, option)
            if rule is None:
                continue
            if value is not None and value != rule:
                raise DataError(
                    f"{option}={_show(value)} contradicts dialect={_show(self.name)}, which has "
                    f"{option}={_show(rule)}; leave out one of the two"
                )
            settled[option] = rule
        return settled


def _show(value: object) -> str:
    if value == ANY_GRADE:
        return "any grade above 0"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


_HERE = "rageval_report.metrics.dialect_metrics"

DATAPIZZA = Dialect(
    "datapizza",
    "datapizza-ai (datapizza-ai-eval of September 2025)",
    (
        DialectMetric("precision_at_{k}_exact", "precision", cutoffs=(1, 3, 5, 10)),
        DialectMetric("recall_at_{k}_exact", "recall", cutoffs=(1, 3, 5, 10)),
        DialectMetric("f1_at_{k}_exact", "f1", cutoffs=(1, 3, 5, 10)),
        DialectMetric("hybrid_log_rank_score_exact", "hybrid_log_rank"),
        DialectMetric("precision_at_{k}_similarity", "precision_similarity", is_default=False),
        DialectMetric("recall_at_{k}_similarity", "recall_similarity", is_default=False),
        DialectMetric("f1_at_{k}_similarity", "f1_similarity", is_default=False),
        DialectMetric(
            "hybrid_log_rank_score_similarity", "hybrid_log_rank_similarity", is_default=False
        ),
        DialectMetric("bleu_score", "bleu", is_default=False),
    ),
    denominators="precision@k divides by k, also if less was retrieved",
)

HAYSTACK = Dialect(
    "haystack",
    "Haystack's evaluators (haystack-ai 3.4)",
    (
        DialectMetric("document_mrr", "reciprocal_rank"),
        DialectMetric("document_map", "average_precision"),
        DialectMetric("document_ndcg", "ndcg"),
        DialectMetric("document_recall_single_hit", "document_recall_single_hit"),
        DialectMetric("document_recall_multi_hit", "document_recall_multi_hit"),
        # The names of the modes of its DocumentRecallEvaluator; its proposal of 2024 meant others.
        DialectMetric("single_hit", "document_recall_single_hit", is_default=False),
        DialectMetric("multi_hit", "document_recall_multi_hit", is_default=False),
        DialectMetric("reciprocal_rank", "reciprocal_rank", is_default=False),
        DialectMetric("exact_match", "exact_match"),
        DialectMetric("semantic_answer_similarity", "semantic_answer_similarity", is_default=False),
    ),
    no_relevant="zero",
    percentile_method="exclusive",
    denominators="there are no cutoffs, and recall divides by the distinct relevant documents",
)

RAGBENCH = Dialect(
    "ragbench",
    "ragbench (ids as in January 2026; undefined values are null, as since August 2026)",
    (
        DialectMetric("recall_at_{k}", "recall", cutoffs=(1, 3, 5, 10)),
        DialectMetric(
            "precision_at_{k}",
            "precision",
            f"{_HERE}:precision_of_retrieved",
            cutoffs=(1, 3, 5),
        ),
        DialectMetric("mrr", "reciprocal_rank"),
        DialectMetric(
            # A repeated chunk gains each time, so that a score may exceed 1.
            "ndcg_at_{k}",
            "ndcg",
            f"{_HERE}:ndcg_with_repeats",
            bounds=None,
            cutoffs=(10,),
        ),
        DialectMetric("citation_precision", "citation_precision"),
        DialectMetric("citation_recall", "citation_recall"),
        DialectMetric("section_accuracy", "section_accuracy"),
        DialectMetric("unanswerable_accuracy", "abstention_accuracy"),
        DialectMetric("abstention_false_positive_rate", "false_refusal"),
        DialectMetric("abstention_false_negative_rate", "hallucinated_answer"),
        DialectMetric("latency_ms", "latency_ms"),
        DialectMetric("cost_per_query", "cost_usd"),
    ),
    level="chunk",
    percentile_method="upper",
    denominators=(
        "precision@k divides by min(k, distinct chunks among the first k); a repeat counts once, "
        "but gains in nDCG again"
    ),
)

WFGY = Dialect(
    "wfgy",
    "the gold and trace scorer of WFGY (August 2025)",
    (
        DialectMetric(
            "precision", "answered_precision", f"{_HERE}:answered_precision", "gold_and_traces"
        ),
        DialectMetric(
            "chr", "answered_citation_hit", f"{_HERE}:answered_citation_hit", "gold_and_traces"
        ),
        DialectMetric(
            "under_refusal", "hallucinated_answer", f"{_HERE}:under_refusal", "gold_and_traces"
        ),
        DialectMetric("over_refusal", "false_refusal", f"{_HERE}:over_refusal", "gold_and_traces"),
        DialectMetric(
            "recall_at_{k}", "full_recall", f"{_HERE}:full_recall", "gold_and_traces", cutoffs=(5,)
        ),
    ),
    no_relevant=None,
    ties=None,
    denominators=(
        "precision and chr divide by all answered questions, under-refusal by those without an "
        "answer, over-refusal and recall (all gold or nothing) by those with one"
    ),
    failed="a failed query is an answered, wrong question",
)

DIALECTS: Registry[Dialect] = Registry(
    DIALECT, {dialect.name: dialect for dialect in (DATAPIZZA, HAYSTACK, RAGBENCH, WFGY)}
)


def dialect_of_name(name: DialectName | None) -> Dialect | None:
    """The dialect of that name; None for None.

    Raises
    ------
    UnknownNameError
        If no dialect has that name.

    Examples
    --------
    >>> dialect_of_name("wfgy").find("recall@5").name
    'recall@5'
    """
    if name is None:
        return None
    check_choice(DIALECT, name, tuple(DIALECTS))
    return DIALECTS[name]


def recorded_dialect(evaluation: object) -> Dialect | None:
    """The dialect in which an evaluation was scored or read, from its configuration."""
    config = getattr(evaluation, "config", None)
    # "dialect" in a configuration of somebody's own may be that of an SQL database.
    name = config.get(DIALECT) if isinstance(config, Mapping) else None
    return DIALECTS[name] if isinstance(name, str) and name in DIALECTS else None


def dialect_settings(evaluations: Iterable[object]) -> dict[str, str]:
    """The setting of a result that the dialects of evaluations are; empty if none has one."""
    rules = [recorded_dialect(evaluation) for evaluation in evaluations]
    names = ["none" if dialect is None else dialect.name for dialect in rules]
    if set(names) <= {"none"}:
        return {}
    return {DIALECT: names[0] if len(set(names)) == 1 else ",".join(names)}


def percentile_method(evaluation: object) -> DialectPercentiles:
    """The rule of percentiles of an evaluation: that of its dialect, or "linear"."""
    dialect = recorded_dialect(evaluation)
    return "linear" if dialect is None else dialect.percentile_method


_RULES_IN_WORDS: dict[DialectPercentiles, str] = {
    "linear": "linear, as in NumPy",
    "exclusive": "exclusive, as in statistics.quantiles",
    "upper": "upper, the score at place n * p of the sorted scores, from 0",
}


def note_on_percentiles(evaluation: object, method: DialectPercentiles) -> tuple[str, ...]:
    """A note on the rule of percentiles, unless it is the usual one of an evaluation of ours.

    Examples
    --------
    >>> note_on_percentiles(None, "linear")
    ()
    >>> note_on_percentiles(None, "exclusive")
    ('percentiles: exclusive, as in statistics.quantiles',)
    """
    dialect = recorded_dialect(evaluation)
    words = _RULES_IN_WORDS[method]
    if dialect is None:
        return () if method == "linear" else (f"percentiles: {words}",)
    if dialect.percentile_method == method:
        return (f'percentiles: {words}; the rule of dialect="{dialect.name}"',)
    return (
        f"percentiles: {words}, as this call says; the rule of "
        f'dialect="{dialect.name}" is {dialect.percentile_method}',
    )


def note_on_dialects(evaluations: Iterable[object]) -> tuple[str, ...]:
    """A note if evaluations that are compared were scored by different rules."""
    by_dialect: dict[str, list[str]] = {}
    for evaluation in evaluations:
        dialect = recorded_dialect(evaluation)
        name = "no dialect" if dialect is None else f'dialect="{dialect.name}"'
        by_dialect.setdefault(name, []).append(str(getattr(evaluation, "name", evaluation)))
    if len(by_dialect) < 2:
        return ()
    parts = [f"{', '.join(map(repr, names))} with {name}" for name, names in by_dialect.items()]
    return (
        f"the pipelines were not scored by the same rules: {'; '.join(parts)}. A difference may "
        "come from the rules alone; score all of them with one dialect",
    )
