"""A plugin of pytest that runs the tests in a random order: `-p shuffled`, with .ci on the path.

The environment variable SHUFFLE_SEED chooses the order. The same seed gives the same order in every
run, so that the workers of pytest-xdist agree and a failure can be repeated.
"""

import os
import random

SEED = int(os.environ.get("SHUFFLE_SEED", "0"))


def pytest_report_header():
    """Name the seed at the start of the output."""
    return f"order of the tests: SHUFFLE_SEED={SEED}"


def pytest_collection_modifyitems(items):
    """Shuffle the collected tests, those of different files among each other."""
    random.Random(SEED).shuffle(items)  # noqa: S311  (an order, not a secret)
