"""What is left out is what the documentation says: 9999 resamples, from seed 0."""

import dataclasses

import numpy as np
import pytest

from rageval_report.stats import (
    all_pairs_test,
    krippendorff_alpha,
    mean_interval,
    paired_interval,
    paired_test,
)
from rageval_report.stats.all_pairs import pair_tests, shared_flips
from rageval_report.stats.maxt import westfall_young
from rageval_report.stats.means.intervals import described_interval
from rageval_report.stats.means.moments import moments
from rageval_report.stats.pairs.paired import find_interval, run_test
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.resampled import resampled_statistics
from rageval_report.stats.resampling import bootstrap_means, sign_flip_means

RNG = np.random.default_rng(0)
BEFORE, AFTER = RNG.random(9), RNG.random(9) + 0.2
SCORES = np.column_stack([BEFORE, AFTER, RNG.random(9)])
RATINGS = RNG.integers(0, 3, (12, 3)).astype(float)
PAIRS = PairedScores.of(BEFORE, AFTER)


def numbers(result):
    """Every number of a result, to the last bit."""
    if dataclasses.is_dataclass(result):
        return [numbers(getattr(result, field.name)) for field in dataclasses.fields(result)]
    if isinstance(result, list | tuple):
        return [numbers(part) for part in result]
    return np.asarray(result).tolist()


CALLS = {
    "mean_interval": lambda **o: mean_interval(BEFORE, method="studentised", **o),
    "described_interval": lambda **o: described_interval(
        BEFORE, moments(BEFORE), method="studentised", **o
    ),
    "paired_interval": lambda **o: paired_interval(BEFORE, AFTER, method="studentised", **o),
    "find_interval": lambda **o: find_interval(PAIRS, method="studentised", **o),
    "paired_test": lambda **o: paired_test(BEFORE, AFTER, test="sign-flip-mc", **o),
    "run_test": lambda **o: run_test(PAIRS, test="bootstrap", **o),
    "all_pairs_test": lambda **o: all_pairs_test(SCORES, correction="westfall-young", **o),
    "pair_tests": lambda **o: pair_tests(SCORES, test="sign-flip-mc", **o),
    "shared_flips": lambda **o: shared_flips([SCORES], **o),
    "westfall_young": lambda **o: westfall_young(SCORES, **o),
    "krippendorff_alpha": lambda **o: krippendorff_alpha(RATINGS, **o),
    "resampled_statistics": lambda **o: resampled_statistics([SCORES], ["mean"], **o),
    "bootstrap_means": lambda **o: bootstrap_means(SCORES, **o),
    "sign_flip_means": lambda **o: sign_flip_means(SCORES, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_seed_and_resamples_have_the_documented_defaults(name):
    call = CALLS[name]
    found = numbers(call())
    assert repr(found) == repr(numbers(call(n_resamples=9999, seed=0)))
    assert repr(found) != repr(numbers(call(n_resamples=9999, seed=1)))
    assert repr(found) != repr(numbers(call(n_resamples=499, seed=0)))
