"""ROUGE of many pairs at once against rouge-score, and what the other metrics of text cost.

    python benchmarks/bench_text.py [--pairs 10000] [--rounds 5]

CPU time, in one run and in turns. Texts of about 60 words, drawn by Zipf's law from 20,000, the
answer sharing half of the reference, one word in twenty with an accent. rouge-score runs on a share
of the pairs, and its time is scaled up. Every figure must equal its figure to the last bit first.
Ours remembers up to 131,072 stems from one round to the next; "first call" is without that. BLEU
uses one scorer for all sentences, which remembers how it has cut a text; ``sentence_bleu`` makes a
new one each time.
"""

from __future__ import annotations

import argparse
import random

import numpy as np
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from timing import cpu_times, markdown, run_both_ways, seconds

from rageval_report.metrics import overlap
from rageval_report.metrics.overlap import ROUGE_TYPES, bleu, chrf, rouge_scores
from rageval_report.metrics.text import Answers, exact_match_squad, token_f1

SYLLABLES = "ta re mi on ed ing ly ness al ic ate ion er ous ble".split()
FIGURES = ("precision", "recall", "fmeasure")


def words(n: int, draw: random.Random) -> list[str]:
    syllable_words = [
        "".join(draw.choices(SYLLABLES, k=draw.randint(1, 4))) + str(i % 7) for i in range(n)
    ]
    return [
        f"é{word}" if i % 20 == 0 else word.rstrip("0123") for i, word in enumerate(syllable_words)
    ]


def pairs(n: int) -> tuple[list[str], list[str]]:
    """Answers and references; about half the words of an answer are in its reference."""
    draw = random.Random(0)
    known = words(20_000, draw)
    ranks = np.minimum(np.random.default_rng(0).zipf(1.3, (n, 2, 60)), len(known)) - 1
    texts, references = [], []
    for own_ranks, reference_ranks in ranks.tolist():
        reference = [known[rank] for rank in reference_ranks[: draw.randint(40, 60)]]
        own = [known[rank] for rank in own_ranks[: draw.randint(10, 30)]]
        texts.append(" ".join(reference[: draw.randint(15, 35)] + own) + ".")
        references.append(" ".join(reference).capitalize() + ".")
    return texts, references


def by_rouge_score(texts: list[str], references: list[str]) -> np.ndarray:
    scorer = RougeScorer(ROUGE_TYPES, use_stemmer=True)
    results = [scorer.score(*pair) for pair in zip(references, texts, strict=True)]
    return np.array([[result[name] for name in ROUGE_TYPES] for result in results])


def at_once(texts: list[str], references: list[str]) -> np.ndarray:
    scores = rouge_scores(texts, references)
    return np.stack(
        [np.stack([scores[t][f] for f in FIGURES], axis=1) for t in ROUGE_TYPES], axis=1
    )


def forgetful(texts: list[str], references: list[str]) -> np.ndarray:
    overlap._STEMMER.stem.cache_clear()
    return at_once(texts, references)


def rouge_rows(texts: list[str], references: list[str], rounds: int) -> list[list[str]]:
    few = max(1, len(texts) // 20)
    np.testing.assert_array_equal(
        at_once(texts, references)[:few], by_rouge_score(texts[:few], references[:few])
    )
    spent = cpu_times(
        {
            "rouge-score": lambda: by_rouge_score(texts[:few], references[:few]),
            "ours": lambda: at_once(texts, references),
            "ours, first call": lambda: forgetful(texts, references),
        },
        rounds,
    )
    spent["rouge-score"] *= len(texts) / few
    return [
        ["ROUGE-1, 2, L", name, seconds(each), f"{spent['rouge-score'] / each:.1f} x"]
        for name, each in spent.items()
    ]


def other_rows(texts: list[str], references: list[str], rounds: int) -> list[list[str]]:
    few = max(1, len(texts) // 20)
    answers = Answers(list(texts[:few]), [[reference] for reference in references[:few]])
    sentences = list(zip(texts[:few], references[:few], strict=True))
    spent = cpu_times(
        {
            "BLEU, sacrebleu.sentence_bleu": lambda: [
                sacrebleu.sentence_bleu(text, [reference]) for text, reference in sentences
            ],
            "BLEU": lambda: bleu(answers),
            "chrF": lambda: chrf(answers),
            "token F1": lambda: token_f1(answers),
            "exact match (SQuAD)": lambda: exact_match_squad(answers),
        },
        rounds,
    )
    return [
        [
            name.partition(", ")[0],
            name.partition(", ")[2] or "ours",
            seconds(each * len(texts) / few),
            "",
        ]
        for name, each in spent.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts, references = pairs(options.pairs)
    rows = rouge_rows(texts, references, options.rounds)
    rows += other_rows(texts, references, options.rounds)
    print(f"{options.pairs:,} pairs of texts\n")
    print(markdown(["metric", "contender", "CPU", "rouge-score / contender"], rows))


if __name__ == "__main__":
    run_both_ways(main)
