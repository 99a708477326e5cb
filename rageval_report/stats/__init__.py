"""Arrays in, numbers out: intervals, paired tests, effect sizes, corrections, planning.

Nothing here knows a frame or a metric. Four rules hold everywhere and are not repeated:

- ``difference`` is candidate minus baseline.
- Scores are one number per query, both sides in the same order. NaN is an unscored query and is
  left out, pairwise where there are two sides; an infinite score raises `DataError`.
- ``confidence_level`` lies between 0 and 1. ``n_resamples`` and ``seed`` are used only by methods
  that draw at random, and their descriptions say so; the same seed gives the same numbers.
- A name that is not in a table raises `UnknownNameError`, which lists the names of the table.

A new interval, test, correction or effect size is a function and a line in its table. From outside
the package: ``TESTS.add("my_test", PairedTest(my_test, interval="t"))``.
"""

from rageval_report.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
)
from rageval_report.stats.base import Interval, PairedResult
from rageval_report.stats.columns import Column
from rageval_report.stats.corrections import CORRECTIONS, adjust_pvalues
from rageval_report.stats.effects import EFFECTS, effect_size
from rageval_report.stats.equivalence import equivalence_test, rare_loss_bound
from rageval_report.stats.many_pairs import all_pairs_test, friedman_test
from rageval_report.stats.means import INTERVALS, mean_interval, quantile_interval
from rageval_report.stats.pairs import (
    PAIRED_INTERVALS,
    TESTS,
    PairedTest,
    Pairs,
    paired_interval,
    paired_test,
)
from rageval_report.stats.planning import minimum_detectable_difference, power, required_n
from rageval_report.stats.pooling import heterogeneity_test, partial_pooling
from rageval_report.stats.prediction_powered import (
    JudgeErrors,
    ppi_difference,
    ppi_mean,
    rogan_gladen,
    stratified_ppi_mean,
)
from rageval_report.stats.units import clustered_standard_error

__all__ = [
    "CORRECTIONS",
    "EFFECTS",
    "INTERVALS",
    "PAIRED_INTERVALS",
    "TESTS",
    "Column",
    "Interval",
    "JudgeErrors",
    "PairedResult",
    "PairedTest",
    "Pairs",
    "adjust_pvalues",
    "all_pairs_test",
    "clustered_standard_error",
    "cohen_kappa",
    "effect_size",
    "equivalence_test",
    "fleiss_kappa",
    "friedman_test",
    "gwet_ac1",
    "gwet_ac2",
    "heterogeneity_test",
    "krippendorff_alpha",
    "mean_interval",
    "minimum_detectable_difference",
    "paired_interval",
    "paired_test",
    "partial_pooling",
    "power",
    "ppi_difference",
    "ppi_mean",
    "quantile_interval",
    "rare_loss_bound",
    "required_n",
    "rogan_gladen",
    "stratified_ppi_mean",
]
