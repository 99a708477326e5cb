"""Our numbers beside those of other programs, for docs/validity.md.

Each `Witness` draws cases from a seed and gives pairs of numbers: ours, and the other program's.
The programs come with the extra ``test`` and the group ``oracles``. A witness whose program is not
installed raises ModuleNotFoundError when it is asked for pairs.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from numpy.random import Generator

from rageval_report.stats import (
    adjust_pvalues,
    clustered_standard_error,
    cohen_kappa,
    effect_size,
    equivalence_test,
    fleiss_kappa,
    friedman_test,
    mean_interval,
    paired_test,
    power,
    required_n,
)

Pair = tuple[Any, Any]  # ours and theirs: numbers, or arrays of equal length
SEED = 20


@dataclass(frozen=True)
class Witness:
    """A number of ours, and the program that computes it too.

    Parameters
    ----------
    number : str
        What is compared.
    call : str
        The function of the other program.
    distribution : str
        Its name on the package index; empty for arithmetic in the script.
    pairs : callable
        Takes a generator of random numbers and a number of cases; yields `Pair`.
    n_cases : int
        How many cases are on the page.
    limit : float
        The largest difference that is allowed; 0 means the same to the last bit.
    """

    number: str
    call: str
    distribution: str
    pairs: Callable[[Generator, int], Iterator[Pair]]
    n_cases: int = 1000
    limit: float = 1e-9

    @property
    def tool(self) -> str:
        """The program with its version."""
        if not self.distribution:
            return "arithmetic"
        return f"{self.distribution} {metadata.version(self.distribution)}"

    def largest_difference(self, n_cases: int) -> tuple[int, float]:
        """The number of values that were compared, and the largest difference.

        A difference is relative to the other program's value, and absolute where that is below
        1e-6: p-values so small are equal for every decision, and 0 has no relative difference.
        """
        n_values, largest = 0, 0.0
        for ours, theirs in self.pairs(np.random.default_rng(SEED), n_cases):
            left, right = np.atleast_1d(ours).astype(float), np.atleast_1d(theirs).astype(float)
            if left.shape != right.shape or not (np.isfinite(left) == np.isfinite(right)).all():
                return n_values, math.inf
            gaps = np.abs(left - right)[np.isfinite(right)]
            sizes = np.abs(right[np.isfinite(right)])
            gaps = gaps / np.where(sizes < 1e-6, 1.0, sizes)
            n_values += gaps.size
            largest = max(largest, float(gaps.max(initial=0.0)))
        return n_values, largest


def scores(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of two pipelines, continuous or in tenths, on the same queries."""
    baseline = rng.beta(4, 2, n)
    candidate = np.clip(baseline + rng.normal(0.03, 0.15, n), 0, 1)
    return (baseline, candidate) if rng.random() < 0.5 else (baseline.round(1), candidate.round(1))


def bits(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Right and wrong answers of two pipelines."""
    return (rng.random(n) < 0.7).astype(float), (rng.random(n) < 0.75).astype(float)


# -- paired tests


def student_t(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Statistic and p-value of the paired t test."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        baseline, candidate = scores(rng, int(rng.integers(6, 300)))
        ours, theirs = (
            paired_test(baseline, candidate, test="t"),
            stats.ttest_rel(candidate, baseline),
        )
        yield (ours.statistic, ours.pvalue), (theirs.statistic, theirs.pvalue)


def wilcoxon(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Signed-rank tests without exact ties in the differences, by the exact law below 50 pairs."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        n = int(rng.integers(6, 50))
        baseline = np.zeros(n)
        candidate = rng.permutation(np.arange(1, n + 1)) * rng.choice([-1, 1], n) / 64
        theirs = stats.wilcoxon(candidate - baseline, method="exact")
        yield paired_test(baseline, candidate, test="wilcoxon").pvalue, theirs.pvalue


def sign(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """The sign test."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        baseline, candidate = scores(rng, int(rng.integers(6, 200)))
        ours = paired_test(baseline, candidate, test="sign")
        if ours.wins + ours.losses:
            theirs = stats.binomtest(ours.wins, ours.wins + ours.losses)
            yield ours.pvalue, theirs.pvalue


def mcnemar(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """McNemar's exact test."""
    tables = importlib.import_module("statsmodels.stats.contingency_tables")
    for _ in range(n_cases):
        baseline, candidate = bits(rng, int(rng.integers(10, 300)))
        won, lost = int((candidate > baseline).sum()), int((candidate < baseline).sum())
        theirs = tables.mcnemar([[0, won], [lost, 0]], exact=True)
        yield paired_test(baseline, candidate, test="mcnemar").pvalue, theirs.pvalue


def sign_flip(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """The exact sign-flip test of up to 12 pairs, all patterns listed by SciPy."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        n = int(rng.integers(6, 13))
        # Sixty-fourths are exact in binary, so SciPy sees the ties that there are.
        differences = rng.integers(-40, 60, n) / 64
        theirs = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        yield paired_test(np.zeros(n), differences, test="sign-flip").pvalue, theirs.pvalue


def sign_flip_midp(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """The mid-p sign-flip test of ratings, against counts of all patterns in whole numbers."""
    for _ in range(n_cases):
        n = int(rng.integers(20, 300))
        baseline, candidate = rng.integers(1, 6, n), rng.integers(1, 6, n)
        candidate = np.where(rng.random(n) < 0.4, baseline, candidate)
        ours = paired_test(baseline.astype(float), candidate.astype(float), test="sign-flip-midp")
        yield ours.pvalue, _midp_by_counting((candidate - baseline).tolist())


def _midp_by_counting(differences: list[int]) -> float:
    counts = {0: 1}
    for size in (abs(one) for one in differences if one):
        grown: dict[int, int] = {}
        for total, count in counts.items():
            for reached in (total - size, total + size):
                grown[reached] = grown.get(reached, 0) + count
        counts = grown
    observed, every = abs(sum(differences)), sum(counts.values())
    beyond = sum(count for total, count in counts.items() if abs(total) > observed)
    equal = sum(count for total, count in counts.items() if abs(total) == observed)
    return 1.0 if observed == 0 else (2 * beyond + equal) / (2 * every)


def equivalence(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Two one-sided t tests at a margin."""
    weights = importlib.import_module("statsmodels.stats.weightstats")
    for _ in range(n_cases):
        baseline, candidate = scores(rng, int(rng.integers(10, 200)))
        margin = float(rng.uniform(0.01, 0.1))
        theirs, *_ = weights.ttost_paired(candidate, baseline, -margin, margin)
        yield equivalence_test(baseline, candidate, margin, method="t").pvalue, theirs


def friedman(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Friedman's test with ties."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        table = rng.integers(0, 5, (int(rng.integers(5, 60)), int(rng.integers(3, 8)))).astype(
            float
        )
        ours, theirs = friedman_test(table), stats.friedmanchisquare(*table.T)
        yield (ours.statistic, ours.pvalue), (theirs.statistic, theirs.pvalue)


# -- intervals


def t_interval(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """The t interval of a mean."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        values, _ = scores(rng, int(rng.integers(5, 300)))
        level = float(rng.choice([0.8, 0.95, 0.99]))
        ours = mean_interval(values, method="t", confidence_level=level)
        theirs = stats.ttest_1samp(values, 0.0).confidence_interval(level)
        yield (ours.low, ours.high), (theirs.low, theirs.high)


def share_interval(method: str, theirs: str) -> Callable[[Generator, int], Iterator[Pair]]:
    """The interval of a share by one method."""

    def pairs(rng: Generator, n_cases: int) -> Iterator[Pair]:
        proportion = importlib.import_module("statsmodels.stats.proportion")
        for _ in range(n_cases):
            n = int(rng.integers(2, 500))
            ones = int(rng.integers(1, n)) if n > 1 else 1
            values = np.repeat([1.0, 0.0], [ones, n - ones])
            level = float(rng.choice([0.8, 0.95, 0.99]))
            ours = mean_interval(values, method=method, confidence_level=level)
            yield (
                (ours.low, ours.high),
                proportion.proportion_confint(ones, n, alpha=1 - level, method=theirs),
            )

    return pairs


def clustered(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Standard errors of a mean by cluster, CR0 and CR1."""
    api = importlib.import_module("statsmodels.api")
    for _ in range(n_cases):
        n = int(rng.integers(20, 200))
        groups = rng.integers(0, int(rng.integers(4, 15)), n)
        values = rng.random(n) + groups / 20
        for kind, is_corrected in (("CR0", False), ("CR1", True)):
            fit = api.OLS(values, np.ones(n)).fit(
                cov_type="cluster", cov_kwds={"groups": groups, "use_correction": is_corrected}
            )
            yield clustered_standard_error(values, groups, kind).standard_error, fit.bse[0]


# -- effects, corrections, planning, agreement


def cliffs_delta(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Cliff's delta from the Mann-Whitney statistic."""
    stats = importlib.import_module("scipy.stats")
    for _ in range(n_cases):
        baseline, candidate = scores(rng, int(rng.integers(6, 200)))
        u = stats.mannwhitneyu(candidate, baseline).statistic
        delta = 2 * u / (baseline.size * candidate.size) - 1
        # Both are differences of shares of pairs: compared as shares, which have no value near 0.
        yield effect_size(baseline, candidate, "cliffs_delta") + 2, delta + 2


def corrections(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Adjusted p-values by five corrections."""
    multitest = importlib.import_module("statsmodels.stats.multitest")
    names = {"bonferroni": "bonferroni", "holm": "holm", "hochberg": "simes-hochberg"}
    names |= {"bh": "fdr_bh", "by": "fdr_by"}
    for number in range(n_cases):
        pvalues = rng.random(int(rng.integers(1, 30))) ** 3
        method = list(names)[number % len(names)]
        theirs = multitest.multipletests(pvalues, method=names[method])[1]
        yield adjust_pvalues(pvalues, method), theirs


def planning(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Power, and the number of queries that a power needs."""
    peer = importlib.import_module("statsmodels.stats.power").TTestPower()
    for _ in range(n_cases):
        # Beyond this, statsmodels 0.15 gives NaN for effects that are certain to be found.
        d_z, n = float(rng.uniform(0.1, 0.6)), int(rng.integers(10, 100))
        yield power(d_z, n), peer.power(d_z, n, 0.05)
        yield required_n(d_z, 0.8), math.ceil(peer.solve_power(d_z, None, 0.05, 0.8))


def kappas(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Cohen's kappa, unweighted, linear and quadratic."""
    sklearn = importlib.import_module("sklearn.metrics")
    for number in range(n_cases):
        n = int(rng.integers(20, 200))
        judge, person = rng.integers(1, 6, n), rng.integers(1, 6, n)
        person = np.where(rng.random(n) < 0.6, judge, person)
        weights = (None, "linear", "quadratic")[number % 3]
        theirs = sklearn.cohen_kappa_score(judge, person, weights=weights)
        yield cohen_kappa(judge, person, weights).estimate, theirs


def fleiss(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Fleiss' kappa of three to six raters."""
    raters = importlib.import_module("statsmodels.stats.inter_rater")
    for _ in range(n_cases):
        n, k = int(rng.integers(10, 100)), int(rng.integers(3, 7))
        shares = rng.dirichlet(np.ones(4), n)
        counts = np.array([rng.multinomial(k, share) for share in shares])
        yield fleiss_kappa(counts).estimate, raters.fleiss_kappa(counts)


# -- retrieval and texts

_RETRIEVAL = {
    "P@5": "P_5", "recall@10": "recall_10", "success@5": "success_5", "ndcg@10": "ndcg_cut_10",
    "ndcg": "ndcg", "map": "map", "map@10": "map_cut_10", "mrr": "recip_rank", "Rprec": "Rprec",
    "bpref": "bpref",
}  # fmt: skip


def retrieval(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Ten retrieval metrics of rankings with ties and grades, query by query."""
    peer = importlib.import_module("pytrec_eval")
    tables = importlib.import_module("rageval_report.metrics.ranking_scores")
    asked = {"P.5", "recall.10", "success.5", "ndcg_cut.10", "ndcg", "map", "map_cut.10"}
    asked |= {"recip_rank", "Rprec", "bpref"}
    run, qrels = {}, {}
    for query in range(n_cases):
        pool = [f"d{one}" for one in rng.permutation(60)]
        values = np.round(rng.random(int(rng.integers(1, 40))), int(rng.integers(1, 4)))
        run[f"q{query}"] = dict(zip(pool, values.tolist(), strict=False))
        judged = rng.permutation(pool)[:10].tolist()
        grades = [2, *rng.integers(-1, 4, 9).tolist()]
        qrels[f"q{query}"] = dict(zip(judged, grades, strict=True))
    theirs = peer.RelevanceEvaluator(qrels, asked).evaluate(run)
    ours = tables.score_table_of_rankings(run, qrels, list(_RETRIEVAL)).scores
    for ours_name, name in _RETRIEVAL.items():
        yield ours[ours_name].to_numpy(), [theirs[query][name] for query in ours.index]


_WORDS = (
    "the cat dogs running sat. 3.14 on-line “mat” don't à naïve generalizations news, a of to "
    "answer question pipeline retrieved 日本語 e.g. U.S. well-known; (yes)"
).split()


def _text(rng: Generator) -> str:
    return " ".join(rng.choice(_WORDS, int(rng.integers(1, 40))).tolist())


def bleu(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """Sentence BLEU, as a share that is at most 1."""
    peer = importlib.import_module("sacrebleu")
    ours = importlib.import_module("rageval_report.metrics").bleu_score
    for _ in range(n_cases):
        text, references = _text(rng), [_text(rng) for _ in range(int(rng.integers(1, 4)))]
        yield ours(text, references), min(peer.sentence_bleu(text, references).score / 100, 1.0)


def rouge(rng: Generator, n_cases: int) -> Iterator[Pair]:
    """ROUGE-1, -2 and -L: precision, recall and F."""
    peer = importlib.import_module("rouge_score.rouge_scorer")
    ours = importlib.import_module("rageval_report.metrics.overlap")
    names = ("precision", "recall", "fmeasure")
    scorer = peer.RougeScorer(ours.ROUGE_TYPES)
    texts = [_text(rng) for _ in range(n_cases)]
    references = [_text(rng) for _ in range(n_cases)]
    found = ours.rouge_scores(texts, references, stem=False)
    told = [scorer.score(ref, text) for text, ref in zip(texts, references, strict=True)]
    for kind in ours.ROUGE_TYPES:
        for name in names:
            yield found[kind][name], [getattr(one[kind], name) for one in told]


_SCIPY, _MODELS = "scipy", "statsmodels"
WITNESSES = (
    Witness(
        "sign-flip test, exact (6 to 12 pairs)",
        "permutation_test, all patterns",
        _SCIPY,
        sign_flip,
        200,
    ),
    Witness(
        "sign-flip test, mid-p (ratings, 20 to 300 pairs)",
        "all patterns counted in whole numbers",
        "",
        sign_flip_midp,
        200,
    ),
    Witness("paired t test: statistic, p-value", "ttest_rel", _SCIPY, student_t),
    Witness("Wilcoxon's signed-rank test", "wilcoxon, exact", _SCIPY, wilcoxon),
    Witness("sign test", "binomtest", _SCIPY, sign),
    Witness("McNemar's exact test", "mcnemar", _MODELS, mcnemar),
    Witness("equivalence by two t tests", "ttost_paired", _MODELS, equivalence),
    Witness("Friedman's test with ties", "friedmanchisquare", _SCIPY, friedman),
    Witness("t interval of a mean", "ttest_1samp(...).confidence_interval", _SCIPY, t_interval),
    Witness(
        "Wilson interval", "proportion_confint, wilson", _MODELS, share_interval("wilson", "wilson")
    ),
    Witness(
        "Clopper-Pearson interval",
        "proportion_confint, beta",
        _MODELS,
        share_interval("clopper-pearson", "beta"),
    ),
    Witness(
        "clustered standard errors, CR0 and CR1",
        "OLS(...).fit(cov_type='cluster')",
        _MODELS,
        clustered,
        200,
    ),
    Witness("Cliff's delta", "mannwhitneyu", _SCIPY, cliffs_delta),
    Witness("Bonferroni, Holm, Hochberg, BH, BY", "multipletests", _MODELS, corrections, 200),
    Witness("power; required number of queries", "TTestPower", _MODELS, planning, 200),
    Witness(
        "Cohen's kappa: unweighted, linear, quadratic",
        "cohen_kappa_score",
        "scikit-learn",
        kappas,
        300,
    ),
    Witness("Fleiss' kappa", "fleiss_kappa", _MODELS, fleiss),
    Witness(
        "ten retrieval metrics, with ties and grades",
        "RelevanceEvaluator",
        "pytrec-eval-terrier",
        retrieval,
        1000,
        0.0,
    ),
    Witness("sentence BLEU", "sentence_bleu", "sacrebleu", bleu, 300, 0.0),
    Witness("ROUGE-1, -2, -L", "RougeScorer", "rouge-score", rouge, 500, 0.0),
)
