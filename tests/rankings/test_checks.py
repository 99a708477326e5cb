"""The one check of cutoffs: what is a whole number, and from where on."""

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.rankings.checks import check_cutoff


@pytest.mark.parametrize("k", [5, np.int64(5), np.uint8(5)])
def test_whole_numbers_of_any_type_are_cutoffs(k):
    assert check_cutoff(k) == 5
    assert type(check_cutoff(k)) is int


@pytest.mark.parametrize("k", [True, False, np.True_, 2.0, "5", None])
def test_what_is_no_whole_number_is_refused(k):
    with pytest.raises(DataError, match="k must be an integer >= 0; got"):
        check_cutoff(k)


@pytest.mark.parametrize(
    ("k", "least", "told"),
    [(-1, 0, "k must be an integer >= 0.*got -1"), (0, 1, "k must be an integer >= 1.*got 0")],
)
def test_the_least_cutoff_is_the_callers(k, least, told):
    with pytest.raises(DataError, match=told):
        check_cutoff(k, least=least)
    assert check_cutoff(least, least=least) == least
