"""plan and audit: queries needed before an evaluation, and what somebody's claim can show."""

from __future__ import annotations

from rageval_report.analysis.plan import audit as audit_claim
from rageval_report.analysis.plan import plan as plan_queries
from rageval_report.cli.output import Output
from rageval_report.cli.plan import AuditArguments, PlanArguments
from rageval_report.cli.sources import Loading


def plan(options: PlanArguments) -> None:
    """Load the baseline and the pilot run, if there are any, and write the plan."""
    output = Output.of(options)
    loading = Loading.of(options)
    # Repeated runs may have one name.
    baseline = loading.load_runs(options.files, options.metrics) if options.files else []
    pilot = None
    if options.candidate is not None:
        (pilot,) = loading.load_runs((options.candidate,), options.metrics)
    result = plan_queries(
        *baseline,
        metrics=options.metrics or None,
        differences=options.differences or None,
        candidate=pilot,
        mean=options.mean,
        sd=options.sd,
        n=options.n,
        correlation=options.correlation,
        repeats=options.repeats or 1,
        judges=options.judges or 1,
        n_tests=options.n_tests,
        power=options.power,
        confidence_level=options.confidence_level,
        clusters=options.clusters,
    )
    output.write({result.title: result})


def audit(options: AuditArguments) -> None:
    """Write what the claim can show."""
    output = Output.of(options)
    result = audit_claim(
        options.baseline_mean,
        options.candidate_mean,
        n=options.n,
        sd=options.sd,
        power=options.power,
        confidence_level=options.confidence_level,
    )
    output.write({result.title: result})
