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

from types import ModuleType as _ModuleType

from rageval_report.stats.agreement import cohen_kappa as cohen_kappa
from rageval_report.stats.agreement import fleiss_kappa as fleiss_kappa
from rageval_report.stats.agreement import gwet_ac1 as gwet_ac1
from rageval_report.stats.agreement import gwet_ac2 as gwet_ac2
from rageval_report.stats.agreement import krippendorff_alpha as krippendorff_alpha
from rageval_report.stats.base import Interval as Interval
from rageval_report.stats.base import PairedResult as PairedResult
from rageval_report.stats.columns import Column as Column
from rageval_report.stats.corrections import CORRECTIONS as CORRECTIONS
from rageval_report.stats.corrections import adjust_pvalues as adjust_pvalues
from rageval_report.stats.effects import EFFECTS as EFFECTS
from rageval_report.stats.effects import effect_size as effect_size
from rageval_report.stats.effects import rare_loss_bound as rare_loss_bound
from rageval_report.stats.equivalence import equivalence_test as equivalence_test
from rageval_report.stats.many_pairs import all_pairs_test as all_pairs_test
from rageval_report.stats.many_pairs import friedman_test as friedman_test
from rageval_report.stats.means import INTERVALS as INTERVALS
from rageval_report.stats.means import mean_interval as mean_interval
from rageval_report.stats.means import quantile_interval as quantile_interval
from rageval_report.stats.pairs import PAIRED_INTERVALS as PAIRED_INTERVALS
from rageval_report.stats.pairs import TESTS as TESTS
from rageval_report.stats.pairs import PairedTest as PairedTest
from rageval_report.stats.pairs import Pairs as Pairs
from rageval_report.stats.pairs import paired_interval as paired_interval
from rageval_report.stats.pairs import paired_test as paired_test
from rageval_report.stats.planning import (
    minimum_detectable_difference as minimum_detectable_difference,
)
from rageval_report.stats.planning import power as power
from rageval_report.stats.planning import required_n as required_n
from rageval_report.stats.pooling import heterogeneity_test as heterogeneity_test
from rageval_report.stats.prediction_powered import JudgeErrors as JudgeErrors
from rageval_report.stats.prediction_powered import ppi_difference as ppi_difference
from rageval_report.stats.prediction_powered import ppi_mean as ppi_mean
from rageval_report.stats.prediction_powered import rogan_gladen as rogan_gladen
from rageval_report.stats.prediction_powered import stratified_ppi_mean as stratified_ppi_mean
from rageval_report.stats.units import clustered_standard_error as clustered_standard_error

# What is imported above, but not the modules that this loads.
__all__ = [
    name
    for name, thing in list(vars().items())
    if name[0] != "_" and type(thing) is not _ModuleType
]
