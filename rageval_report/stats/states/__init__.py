"""States of metrics: made of any part of the rows, added in any order, finished as in memory.

``MetricState.of(scores)`` is the state of one metric of one run, and
``PairState.of(baseline, candidate)`` that of a metric of two runs; two states are added with ``+``.
A state holds the scores while they are few. Of more scores on a lattice (multiples of 1/D) it holds
how often each of them occurs, of other scores sums of powers and a histogram. It is finished by the
functions that serve memory: on a lattice every number is the same to the last bit, elsewhere up to
rounding. What needs every score (bootstraps, ranks of scores on no lattice) raises `DataError`.
"""
