"""`rageval_report.stats`: every public function on many kinds of scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from made import NAN, clustered, pairs, samples
from promises import errors, pick, refused

from rageval_report import stats

mean, test = stats.mean_interval, stats.paired_test


def of_samples(function: Callable[..., Any] = mean, only: str = "", **options: Any) -> Any:
    kinds = only.split(",") if only else samples()
    return {kind: refused(partial(function, samples()[kind], **options)) for kind in kinds}


def of_pairs(function: Callable[..., Any], *extra: Any, only: str = "", **options: Any) -> Any:
    kinds = only.split(",") if only else pairs()
    return {kind: refused(partial(function, *pairs()[kind], *extra, **options)) for kind in kinds}


def of_clusters(function: Callable[..., Any], *extra: Any, **options: Any) -> Any:
    first, second, documents = clustered()
    return function(first, second, *extra, clusters=documents, **options)


def bounded(**options: Any) -> Any:
    found = of_samples(only=UNIT, bounds=(0, 1), **options)
    return found | of_samples(only="ratings", bounds=(1, 5), **options)


def interval(*sides: Any, **options: Any) -> Any:
    return pick(stats.paired_interval(*sides, **options), "estimate low high standard_error method")


def equivalence(*sides: Any, **options: Any) -> Any:
    found = stats.equivalence_test(*sides, **options)
    return pick(found, "pvalue equivalent low high margin difference n method")


def all_pairs(kind: str, **options: Any) -> Any:
    found = stats.all_pairs_test(table(kind), **options)
    return pick(found, "first second n difference pvalue pvalue_adjusted wins ties losses")


def effect(kind: str) -> Any:
    only = BINARY if kind in ("odds_ratio", "risk_difference") else ""
    return {"effect": of_pairs(stats.effect_size, kind, only=only)}


def friedman(kind: str, **options: Any) -> Any:
    found = stats.friedman_test(table(kind), **options)
    return pick(found, "statistic pvalue n concordance average_ranks")


def table(kind: str) -> np.ndarray:
    """60 queries, four pipelines."""
    rng = np.random.default_rng(5)
    share = rng.random((60, 1)) + rng.normal(0, 0.15, (60, 4)) + [0, 0.02, 0.1, 0.12]
    return {"binary": (share > 0.5) * 1.0, "fifths": (5 * share).round() / 5}.get(kind, share)


def ratings() -> np.ndarray:
    """40 items, three raters, with gaps."""
    rng = np.random.default_rng(6)
    noisy = rng.integers(1, 6, (40, 1)) + rng.integers(-1, 2, (40, 3))
    return np.where(rng.random((40, 3)) < 0.15, NAN, noisy.clip(1, 5))


def labels(n: int, share: float = 0.8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of people on n answers, the judge on these, and the judge on 400 others."""
    rng = np.random.default_rng(7)
    people = (rng.random(n) < 0.7) * 1.0
    judge = np.where(rng.random(n) < share, people, 1 - people)
    return people, judge, (rng.random(400) < 0.65) * 1.0


def alpha(level: str) -> Any:
    return stats.krippendorff_alpha(ratings(), level, n_resamples=999)


def clustered_error(kind: str) -> Any:
    found = stats.clustered_standard_error(*clustered()[1:], kind=kind)
    return pick(found, "estimate standard_error df n_clusters")


UNIT = "binary,nearly all right,all right,fifths,reciprocal ranks,beta,unscored,equal,five,one,many"
BINARY, LATTICE = "binary,rare", "binary,rare,ratings,fifths,ties,five,identical,unscored"
TESTS = "sign-flip sign-flip-midp t wilcoxon wilcoxon-pratt wilcoxon-zsplit sign"
SOME = "fifths,continuous"
P = [0.001, 0.04, NAN, 0.03, 0.2, 0.2, 0.9, 0.012, 1.0, 1e-30]
EIGHT = [0.1] * 8, [0.3] * 8
DESIGNS = [(0.1, 5), (0.1, 100), (0.3, 20), (0.3, 100), (0.8, 20), (0.02, 1000)]

CALLS: dict[str, Callable[[], Any]] = {
    "mean": of_samples,
    "mean_bounded": bounded,
    "mean_level_90": lambda: bounded(confidence_level=0.9),
    "mean_wilson": lambda: of_samples(only="binary,nearly all right,all right", method="wilson"),
    "mean_clopper_pearson": lambda: of_samples(
        only="binary,nearly all right,all right", method="clopper-pearson"
    ),
    "mean_of_bounded": lambda: of_samples(only="fifths,beta", method="bounded", bounds=(0, 1)),
    "mean_t": lambda: of_samples(method="t"),
    **{
        f"mean_{method}": partial(of_samples, only="many,beta,binary", method=method, seed=1)
        for method in ("percentile", "bca", "studentised")
    },
    "median": lambda: of_samples(stats.quantile_interval, quantile=0.5),
    "p95": lambda: of_samples(stats.quantile_interval, quantile=0.95, confidence_level=0.8),
    "test": lambda: of_pairs(test),
    "test_greater": lambda: of_pairs(test, alternative="greater"),
    "test_less": lambda: of_pairs(test, alternative="less"),
    **{f"test_{name}": partial(of_pairs, test, test=name) for name in TESTS.split()},
    "test_mcnemar": lambda: of_pairs(test, only=BINARY, test="mcnemar"),
    "test_mcnemar-midp": lambda: of_pairs(test, only=BINARY, test="mcnemar-midp"),
    "test_bootstrap": lambda: of_pairs(test, only=SOME, test="bootstrap", seed=4),
    "test_sign-flip-mc": lambda: of_pairs(test, only=SOME, test="sign-flip-mc", seed=3),
    "test_clusters": lambda: of_clusters(test),
    "test_clusters_less": lambda: of_clusters(test, alternative="less"),
    "test_clusters_t": lambda: of_clusters(test, test="t"),
    "test_few_clusters": lambda: test(*pairs()["shifted"], clusters=[*"aabbccdd"]),
    "interval": lambda: of_pairs(interval),
    "interval_level_99": lambda: of_pairs(interval, only=LATTICE, confidence_level=0.99),
    "interval_sign-flip": lambda: of_pairs(interval, method="sign-flip"),
    "interval_t": lambda: of_pairs(interval, method="t"),
    **{
        f"interval_{method}": partial(of_pairs, interval, only=BINARY, method=method)
        for method in ("bonett-price", "newcombe", "tango")
    },
    **{
        f"interval_{method}": partial(of_pairs, interval, only=SOME, method=method, seed=5)
        for method in ("percentile", "bca", "studentised")
    },
    "interval_clusters": lambda: of_clusters(interval),
    "interval_clusters_t": lambda: of_clusters(interval, method="t"),
    "adjust": lambda: {"pvalue": stats.adjust_pvalues(P)},
    "adjust_nothing": lambda: stats.adjust_pvalues([]),
    **{
        f"adjust_{method}": lambda method=method: {"pvalue": stats.adjust_pvalues(P, method)}
        for method in ("bonferroni", "holm", "hochberg", "bh", "by", "none")
    },
    **{
        f"effect_{kind}": partial(effect, kind)
        for kind in "d_z hedges_g_z d_av cliffs_delta rank_biserial paired_dominance".split()
    },
    "effect_odds_ratio": lambda: effect("odds_ratio"),
    "effect_risk_difference": lambda: effect("risk_difference"),
    "equivalence": lambda: of_pairs(equivalence, 0.1),
    "equivalence_narrow": lambda: of_pairs(equivalence, 0.02, only=LATTICE),
    "equivalence_alpha": lambda: of_pairs(equivalence, 0.1, alpha=0.01),
    "non_inferior": lambda: of_pairs(equivalence, 0.1, alternative="non-inferior"),
    "equivalence_t": lambda: of_pairs(equivalence, 0.1, method="t"),
    "equivalence_strict": lambda: of_pairs(
        equivalence, 0.1, only="binary,rare,fifths,continuous", method="strict", bounds=(0, 1)
    ),
    "equivalence_clusters": lambda: of_clusters(equivalence, 0.1),
    "power": lambda: {"power": [stats.power(*design) for design in DESIGNS]},
    "power_alpha": lambda: {"power": [stats.power(*design, alpha=0.01) for design in DESIGNS]},
    "required_n": lambda: [stats.required_n(d) for d in (0.02, 0.1, 0.3, 0.5, 1.0, 3.0)],
    "required_n_power": lambda: [stats.required_n(0.2, p, alpha=0.01) for p in (0.5, 0.9, 0.99)],
    "detectable": lambda: {
        "detectable": [stats.minimum_detectable_difference(*design) for design in DESIGNS]
    },
    "clustered_error": lambda: {kind: clustered_error(kind) for kind in ("CR0", "CR1", "CR2")},
    "friedman": lambda: {kind: friedman(kind) for kind in ("binary", "fifths", "continuous")},
    "friedman_lower": lambda: friedman("fifths", greater_is_better=False),
    "all_pairs": lambda: {kind: all_pairs(kind) for kind in ("binary", "fifths", "continuous")},
    "all_pairs_t": lambda: all_pairs("", test="t", correction="bonferroni"),
    "kappa": lambda: {
        str(weights): stats.cohen_kappa(*ratings().T[:2], weights)
        for weights in (None, "linear", "quadratic")
    },
    "kappa_binary": lambda: stats.cohen_kappa(*labels(60)[:2]),
    "kappa_words": lambda: stats.cohen_kappa([*"aabbccab"], [*"aabbcaab"]),
    "kappa_one_category": lambda: stats.cohen_kappa([1, 1, 1], [1, 1, 1]),
    "ac1": lambda: {n: stats.gwet_ac1(*labels(n)[:2]) for n in (12, 60, 300)},
    "alpha": lambda: {at: alpha(at) for at in ("nominal", "ordinal", "interval", "ratio")},
    "ppi": lambda: {n: stats.ppi_mean(*labels(n)) for n in (20, 60, 150, 400)},
    "ppi_lambda_1": lambda: {n: stats.ppi_mean(*labels(n), lam=1) for n in (20, 150)},
    "ppi_good_judge": lambda: stats.ppi_mean(*labels(150, share=0.98), bounds=(0, 1)),
    "bad_mean": lambda: errors(mean, [], [0.1, np.inf]),
    "bad_mean_options": lambda: errors(
        partial(mean, [0.1, 0.2, 2.0]),
        confidence_level=95,
        bounds=(0, 1),
        method="wilson",
    ),
    "bad_name": lambda: errors(partial(mean, [0.1, 0.2]), method="wald", bounds=(1, 0)),
    "bad_pair": lambda: [
        *(refused(lambda: test([0.1, 0.2], [0.1])), refused(lambda: test([np.inf], [0.1]))),
        errors(partial(test, *EIGHT), test="welch", alternative="up", clusters=["a"]),
        errors(partial(test, *EIGHT), test="mcnemar"),
        errors(partial(stats.effect_size, *EIGHT), "eta"),
        errors(partial(stats.equivalence_test, *EIGHT), 0, -0.1, NAN),
        errors(partial(stats.equivalence_test, *EIGHT, 0.1), alpha=1.0, alternative="less"),
    ],
    "bad_numbers": lambda: [
        errors(stats.adjust_pvalues, [0.1, 1.2], [-0.1]),
        errors(partial(stats.adjust_pvalues, P), "sidak"),
        errors(stats.required_n, 0.0, NAN),
        errors(partial(stats.required_n, 0.5), power=1.0, alpha=0),
        errors(partial(stats.power, 0.5), 0, -1),
        errors(lambda sd: stats.minimum_detectable_difference(sd, 20), -1.0),
        errors(partial(stats.cohen_kappa, [1, 0]), [1]),
        errors(partial(stats.cohen_kappa, [1, 0], [1, 1]), weights="cubic"),
        errors(partial(stats.krippendorff_alpha, [[1, 2]]), level="rank"),
        errors(lambda judge: stats.ppi_mean([1, 0], judge, [1, 0, 1]), [1]),
        errors(partial(stats.clustered_standard_error, [1, 2, 3]), [1, 1, 1], [1, 2]),
        errors(stats.friedman_test, [[1.0], [2.0]]),
    ],
}
