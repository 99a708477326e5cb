"""Sums do not depend on the number of threads, so two machines print the same digits."""

import os
import subprocess
import sys

import numpy as np
import pytest

from rageval_report.stats.sums import sum_of_products

# Every number of a report, of comparisons and of a ranking, as text without rounding.
SCRIPT = """
import numpy as np
import pandas as pd

from rageval_report import RAGPipelineEvaluation, compare, rank

N = 60_000  # BLAS divides sums of more than 10,000 numbers among its threads
rng = np.random.default_rng(2026)
metrics = {"my_rating": {"kind": "ordinal", "bounds": (1, 5)}, "my_number": {"kind": "real"}}


def run(name, gain):
    level = rng.normal(size=N)
    share = 1 / (1 + np.exp(-(level + gain + rng.normal(size=N))))
    columns = {
        "query_id": [f"q{i}" for i in range(N)],
        "document": [f"d{i % 999}" for i in range(N)],
        "faithfulness": share,
        "answer_relevancy": np.where(rng.random(N) < 0.9, 0.5, share),
        "hit_rate": (share > 0.5).astype(float),
        "my_rating": np.rint(4 * share) + 1.0,
        "my_number": 1e3 * level + gain,
    }
    return RAGPipelineEvaluation(name, columns, metrics=metrics)


a, b = run("a", 0.0), run("b", 0.01)
results = {
    "report": a.evaluation_report(),
    "compare": compare(a, b),
    "clusters": compare(a, b, clusters="document", test="t"),
    "westfall-young": compare(a, b, correction="westfall-young", n_resamples=20),
    "rank": rank(a, b),
    "pairs": rank(a, b).pairs,
}
for name, result in results.items():
    frame = result.frame
    for column in frame.select_dtypes("number"):
        for value in frame[column]:
            print(name, column, float(value).hex())
"""


@pytest.fixture(scope="module")
def printed():
    """What the script prints with one thread and with two."""
    texts = []
    for threads in ("1", "2"):
        counts = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, **counts},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        texts.append(done.stdout.splitlines())
    return texts


def test_one_and_two_threads_give_every_number_to_the_last_bit(printed):
    one, two = printed
    assert len(one) > 200
    assert {line.split()[0] for line in one} == {
        *("report", "compare", "clusters", "westfall-young", "rank", "pairs"),
    }
    assert one == two


def test_the_sum_of_products_is_that_of_exact_arithmetic():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-(2**20), 2**20, (2, 50_000))
    assert sum_of_products(a, b) == sum(x * y for x, y in zip(a.tolist(), b.tolist(), strict=True))
