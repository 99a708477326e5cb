"""The root of a function between two numbers, without `scipy.optimize`.

Importing `scipy.optimize` takes half the CPU time of importing pandas, because it loads linear
algebra, sparse matrices, Fourier transforms and spatial searches.
"""

from __future__ import annotations

from collections.abc import Callable

from rageval_report.errors import DataError

_MOST_STEPS = 200


def bracketed_root(
    function: Callable[[float], float],
    first: float,
    second: float,
    *,
    tolerance: float,
    relative: float = 0.0,
) -> float:
    """A number at which a function is zero or changes its sign.

    Parameters
    ----------
    function : callable
        A function of one number, without NaN. It may jump.
    first, second : float
        Two numbers at which it has opposite signs, or one of which is a root.
    tolerance, relative : float
        How far the result may be from the change of sign: the sum of the tolerance and of this
        share of the result.

    Raises
    ------
    DataError
        If the function has the same sign at both numbers.

    References
    ----------
    .. [1] Chandrupatla (1997). A new hybrid quadratic/bisection algorithm for finding the zero of a
           nonlinear function without using derivatives. Advances in Engineering Software 28.

    Examples
    --------
    >>> round(bracketed_root(lambda x: x * x - 2.0, 0.0, 2.0, tolerance=1e-12), 9)
    1.414213562
    """
    newest, across = (first, function(first)), (second, function(second))
    if newest[1] * across[1] > 0.0:
        raise DataError(f"the function has the same sign at {first:g} and {second:g}")
    share = 0.5  # of the way from the newest point to the one across the root
    for _ in range(_MOST_STEPS):
        place = newest[0] + share * (across[0] - newest[0])
        point = (place, function(place))
        if (point[1] > 0.0) == (newest[1] > 0.0):
            oldest = newest
        else:
            oldest, across = across, newest
        newest = point
        best = min(newest, across, key=lambda each: abs(each[1]))
        width = abs(across[0] - newest[0])
        least = 0.5 * (tolerance + relative * abs(best[0])) / width if width else 1.0
        if best[1] == 0.0 or least > 0.5:
            break
        share = min(max(_next_share(newest, across, oldest), least), 1.0 - least)
    return best[0]


_Point = tuple[float, float]


def _next_share(newest: _Point, across: _Point, oldest: _Point) -> float:
    """Where the inverse parabola through three points is zero, if it is trustworthy; else 1/2."""
    (x1, f1), (x2, f2), (x3, f3) = newest, across, oldest
    if f1 in (f2, f3) or f2 == f3:
        return 0.5
    place, height = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    # The parabola is monotonic between the two sides.
    if not (height * height < place and (1.0 - height) ** 2 < 1.0 - place):
        return 0.5
    near = f1 / (f2 - f1) * f3 / (f2 - f3)
    return near + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
