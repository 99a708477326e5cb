"""Arrays in, numbers out: intervals, paired tests, effect sizes, corrections, planning.

Nothing here knows a frame or a metric. Four rules hold everywhere and are not repeated:

- ``difference`` is candidate minus baseline.
- Scores are one number per query, both sides in the same order. NaN is an unscored query and is
  left out, pairwise where there are two sides; an infinite score raises `DataError`.
- ``confidence_level`` lies between 0 and 1. ``n_resamples`` and ``seed`` are used only by methods
  that draw at random, and their descriptions say so; the same seed gives the same numbers.
- A name that is not in a table raises `UnknownNameError`, which lists the names of the table.

A new interval, test, correction or effect size is a function and a line in its table below. From
outside the package: ``TESTS.add("my_test", PairedTest(my_test, interval="t"))``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import Registry, lazy_face
from rageval_report.stats._entries import (
    BatchInterval,
    ClosedFormInterval,
    Correction,
    DiscreteCorrection,
    DrawnInterval,
    Effect,
    MeanInterval,
    PairedInterval,
    PairedTest,
    PairedTestFunction,
    smallest_of_signs,
    smallest_of_signs_midp,
)

if TYPE_CHECKING:
    from rageval_report.stats.agreement.ac1 import gwet_ac1 as gwet_ac1
    from rageval_report.stats.agreement.ac1 import gwet_ac2 as gwet_ac2
    from rageval_report.stats.agreement.alpha import krippendorff_alpha as krippendorff_alpha
    from rageval_report.stats.agreement.kappas import cohen_kappa as cohen_kappa
    from rageval_report.stats.agreement.kappas import fleiss_kappa as fleiss_kappa
    from rageval_report.stats.agreement.prediction_powered import ppi_difference as ppi_difference
    from rageval_report.stats.agreement.prediction_powered import ppi_mean as ppi_mean
    from rageval_report.stats.agreement.prediction_powered import (
        stratified_ppi_mean as stratified_ppi_mean,
    )
    from rageval_report.stats.agreement.rogan_gladen import JudgeErrors as JudgeErrors
    from rageval_report.stats.agreement.rogan_gladen import rogan_gladen as rogan_gladen
    from rageval_report.stats.all_pairs import all_pairs_test as all_pairs_test
    from rageval_report.stats.base import Interval as Interval
    from rageval_report.stats.base import PairedResult as PairedResult
    from rageval_report.stats.clusters import clustered_standard_error as clustered_standard_error
    from rageval_report.stats.corrections import adjust_pvalues as adjust_pvalues
    from rageval_report.stats.means.intervals import mean_interval as mean_interval
    from rageval_report.stats.means.quantiles import quantile_interval as quantile_interval
    from rageval_report.stats.pairs.effects import effect_size as effect_size
    from rageval_report.stats.pairs.equivalence import equivalence_test as equivalence_test
    from rageval_report.stats.pairs.heterogeneity import heterogeneity_test as heterogeneity_test
    from rageval_report.stats.pairs.paired import paired_interval as paired_interval
    from rageval_report.stats.pairs.paired import paired_test as paired_test
    from rageval_report.stats.pairs.paired_scores import PairedScores as PairedScores
    from rageval_report.stats.pairs.rare_losses import rare_loss_bound as rare_loss_bound
    from rageval_report.stats.planning import (
        minimum_detectable_difference as minimum_detectable_difference,
    )
    from rageval_report.stats.planning import power as power
    from rageval_report.stats.planning import required_n as required_n
    from rageval_report.stats.pooled_means import partial_pooling as partial_pooling
    from rageval_report.stats.ranks import friedman_test as friedman_test
else:
    __getattr__, __dir__, __all__ = lazy_face(
        __name__,
        "CORRECTIONS",
        "EFFECTS",
        "INTERVALS",
        "PAIRED_INTERVALS",
        "TESTS",
        "PairedTest",
    )

_HERE = "rageval_report.stats"

INTERVALS: Registry[MeanInterval] = Registry(
    "interval of a mean",
    {
        "bca": f"{_HERE}.means.bootstrap:bca",
        "bounded": ClosedFormInterval(f"{_HERE}.means.closed_forms:bounded"),
        "clopper-pearson": ClosedFormInterval(
            f"{_HERE}.means.closed_forms:clopper_pearson", has_limits_for_one_score=True
        ),
        "gaffke": BatchInterval(f"{_HERE}.means.gaffke:gaffke"),
        "jeffreys": ClosedFormInterval(
            f"{_HERE}.means.closed_forms:jeffreys", has_limits_for_one_score=True
        ),
        "percentile": f"{_HERE}.means.bootstrap:percentile",
        "studentised": DrawnInterval(f"{_HERE}.means.bootstrap:studentised"),
        "t": ClosedFormInterval(f"{_HERE}.means.closed_forms:student_t"),
        "wilson": ClosedFormInterval(
            f"{_HERE}.means.closed_forms:wilson", has_limits_for_one_score=True
        ),
    },
)

PAIRED_INTERVALS: Registry[PairedInterval] = Registry(
    "interval of a paired difference",
    {
        "bca": f"{_HERE}.pairs.paired_intervals:bca",
        "bonett-price": f"{_HERE}.pairs.paired_intervals:bonett_price",
        "newcombe": f"{_HERE}.pairs.paired_intervals:newcombe",
        "percentile": f"{_HERE}.pairs.paired_intervals:percentile",
        "sign-flip": f"{_HERE}.sign_flips.inversion:sign_flip",
        "studentised": f"{_HERE}.pairs.paired_intervals:studentised",
        "t": f"{_HERE}.pairs.paired_intervals:student_t",
        "tango": f"{_HERE}.pairs.paired_intervals:tango",
    },
)

TESTS: Registry[PairedTestFunction] = Registry(
    "paired test",
    {
        "bootstrap": PairedTest(
            f"{_HERE}.pairs.paired_tests:bootstrap",
            statistic="mean difference",
            interval="percentile",
        ),
        "mcnemar": PairedTest(
            f"{_HERE}.pairs.paired_tests:mcnemar",
            statistic="number of wins",
            interval="auto",
            smallest=smallest_of_signs,
        ),
        "mcnemar-midp": PairedTest(
            f"{_HERE}.pairs.paired_tests:mcnemar_midp",
            statistic="number of wins",
            interval="auto",
            smallest=smallest_of_signs_midp,
        ),
        "sign": PairedTest(
            f"{_HERE}.pairs.paired_tests:sign",
            statistic="number of wins",
            interval="auto",
            smallest=smallest_of_signs,
        ),
        "sign-flip": PairedTest(
            f"{_HERE}.sign_flips.signflip:sign_flip",
            statistic="mean difference",
            interval="auto",
            smallest=smallest_of_signs,
        ),
        "sign-flip-mc": PairedTest(
            f"{_HERE}.pairs.paired_tests:sign_flip_mc", statistic="mean difference", interval="auto"
        ),
        "sign-flip-midp": PairedTest(
            f"{_HERE}.sign_flips.signflip:sign_flip_midp",
            statistic="mean difference",
            interval="auto",
            smallest=smallest_of_signs_midp,
        ),
        "t": PairedTest(
            f"{_HERE}.pairs.paired_tests:student_t", statistic="t statistic", interval="t"
        ),
        "wilcoxon": PairedTest(
            f"{_HERE}.pairs.paired_tests:wilcoxon", statistic="signed-rank sum", interval="auto"
        ),
        "wilcoxon-pratt": PairedTest(
            f"{_HERE}.pairs.paired_tests:wilcoxon_pratt",
            statistic="signed-rank sum",
            interval="auto",
        ),
        "wilcoxon-zsplit": PairedTest(
            f"{_HERE}.pairs.paired_tests:wilcoxon_zsplit",
            statistic="signed-rank sum",
            interval="auto",
        ),
    },
)

CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    {
        "bh": f"{_HERE}.corrections:benjamini_hochberg",
        "bonferroni": f"{_HERE}.corrections:bonferroni",
        "by": f"{_HERE}.corrections:benjamini_yekutieli",
        "hochberg": f"{_HERE}.corrections:hochberg",
        "holm": f"{_HERE}.corrections:holm",
        "none": f"{_HERE}.corrections:keep_uncorrected",
        "tarone": DiscreteCorrection(f"{_HERE}.corrections:tarone"),
    },
)

EFFECTS: Registry[Effect] = Registry(
    "effect size",
    {
        "cliffs_delta": f"{_HERE}.pairs.effects:cliffs_delta",
        "d_av": f"{_HERE}.pairs.effects:d_av",
        "d_z": f"{_HERE}.pairs.effects:d_z",
        "hedges_g_z": f"{_HERE}.pairs.effects:hedges_g_z",
        "odds_ratio": f"{_HERE}.pairs.effects:odds_ratio",
        "paired_dominance": f"{_HERE}.pairs.effects:paired_dominance",
        "rank_biserial": f"{_HERE}.pairs.effects:rank_biserial",
        "risk_difference": f"{_HERE}.pairs.effects:risk_difference",
    },
)
