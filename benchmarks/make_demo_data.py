"""Writes the example data that `rageval-report demo` shows: two pipelines, 200 queries each.

    python benchmarks/make_demo_data.py  # writes rageval_report/demo/data/{bm25,hybrid}.csv

The island, its council and its forms are invented. The numbers are drawn, but from a small model of
how retrieval goes wrong, so that the columns hang together: what was not found is guessed at or
refused, a guess is unfaithful, and the reason of a low score says so.

It stands here, outside the package, because a user needs the data and not its making. It uses the
standard library alone, and of `random` nothing but ``random()``, whose sequence Python promises to
keep: every machine writes the same bytes, and a test holds the files to that.
"""

from __future__ import annotations

import csv
import io
import math
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

SEED = 30  # with it every kind of verdict comes up, as the demo is to show them
N_QUERIES = 202
FOLDER = Path(__file__).resolve().parent.parent / "rageval_report" / "demo" / "data"
CUTOFF = 5
DEEPEST_RANK = 10

_BELL = NormalDist()

Luck = tuple[float, float, float]

# -- the island's council: what it offers, and where one asks for it

SERVICES = {
    "ferry": (
        *("a resident's ferry pass", "a bicycle ticket", "a school class ticket"),
        *("a car crossing to the mainland", "a commuter season ticket", "a furniture crossing"),
        *("a replacement ferry pass", "a dog ticket", "a freight slot for building materials"),
    ),
    "library": (
        *("a library card", "an interlibrary loan", "a reading room booking", "a book van stop"),
        *("a school book set", "a long-loan renewal", "a study desk", "a copy from the map room"),
    ),
    "recycling": (
        *("a bulky waste collection", "a second compost bin", "a garden waste subscription"),
        *("a fridge collection", "a rubble skip", "a paint and solvent drop-off"),
        *("a replacement bin", "a recycling centre tour"),
    ),
    "water": (
        *("a new water connection", "a water meter check", "a water meter relocation"),
        *("a well test", "a septic tank emptying", "a frost-proof tap", "a standpipe hire"),
        "a leak inspection",
    ),
    "permits": (
        *("a beach fire permit", "a market stall permit", "a garden shed permit"),
        *("a mooring permit", "a filming permit", "a tree felling permit"),
        *("a street party permit", "a holiday letting licence"),
    ),
}
OFFICES = {
    "ferry": ("harbour office", "ticket kiosk", "freight desk"),
    "library": ("front desk", "reading room", "book van"),
    "recycling": ("recycling centre", "depot", "council yard"),
    "water": ("waterworks", "meter workshop", "pump house"),
    "permits": ("permit counter", "planning desk", "warden's office"),
}


@dataclass(frozen=True)
class Service:
    """A service that the council offers."""

    domain: str
    name: str
    form: str
    office: str
    fee: int
    days: int


@dataclass(frozen=True)
class Query:
    """A question with its answer, what there is to be found for it, and the writer's luck with it.

    Both pipelines have one writer of answers, so that its luck is shared.
    """

    query_id: str
    question: str
    question_type: str
    domain: str
    reference: str
    wordy: str
    wrong: str
    subject: str
    n_relevant: int
    difficulty: float
    luck: Luck


@dataclass(frozen=True)
class Pipeline:
    """How well a pipeline finds things, by type of question, and what it costs.

    The skill is in log odds; `absent` are the places of the queries that its run lost.
    """

    name: str
    skill: Mapping[str, float]
    context_noise: float
    latency_ms: float
    judge_failures: float
    absent: frozenset[int]


PIPELINES = (
    Pipeline(
        "bm25",
        skill={"factoid": -0.1, "numeric": 1.2, "procedural": -0.7, "multi_hop": -1.0},
        context_noise=0.0,
        latency_ms=610,
        judge_failures=0.02,
        absent=frozenset({88, 164}),
    ),
    Pipeline(
        "hybrid",
        skill={"factoid": 1.3, "numeric": -1.2, "procedural": 0.9, "multi_hop": 0.4},
        context_noise=0.01,
        latency_ms=840,
        judge_failures=0.06,
        absent=frozenset({17, 131}),
    ),
)

# The writer of answers, in shares of queries.
TERSE = 0.62
CANDID = 0.45
CAREFUL = 0.86
STEADY = 0.9  # the same luck with a question whichever pipeline asks


class Dice:
    """Everything that is drawn, from ``random()`` alone."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def share(self) -> float:
        return self._random()

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def bell(self) -> float:
        return _BELL.inv_cdf(min(max(self._random(), 1e-12), 1 - 1e-12))

    def one_of(self, things: tuple[str, ...]) -> str:
        return things[int(self._random() * len(things))]

    def whole(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))


# -- questions


def services(dice: Dice) -> list[Service]:
    return [
        Service(
            domain,
            name,
            form=f"{domain[0].upper()}-{10 + 3 * place + dice.whole(0, 2)}",
            office=dice.one_of(OFFICES[domain]),
            fee=5 * dice.whole(2, 30),
            days=dice.whole(2, 20),
        )
        for domain, names in SERVICES.items()
        for place, name in enumerate(names)
    ]


def queries(dice: Dice) -> list[Query]:
    """Five questions per service, shuffled, then numbered."""
    offered = services(dice)
    questions = [
        (question_type, service, offered[(place + 7) % len(offered)])
        for place, service in enumerate(offered)
        for question_type in ("factoid", "place", "numeric", "procedural", "multi_hop")
    ]
    shuffled = sorted(questions, key=lambda _: dice.share())[:N_QUERIES]
    return [_query(number, *question, dice) for number, question in enumerate(shuffled, start=1)]


def _query(number: int, kind: str, service: Service, other: Service, dice: Dice) -> Query:
    question, reference, wordy, wrong, subject = _WORDINGS[kind](service, other, dice)
    question_type = "factoid" if kind == "place" else kind
    return Query(
        query_id=f"q{number:03d}",
        question=question,
        question_type=question_type,
        domain=service.domain,
        reference=reference,
        wordy=wordy,
        wrong=wrong,
        subject=subject,
        n_relevant=2 if question_type in ("procedural", "multi_hop") else 1,
        difficulty=dice.bell(),
        luck=(dice.share(), dice.share(), dice.share()),
    )


def _form(service: Service, _other: Service, dice: Dice) -> tuple[str, ...]:
    templates = ("Which form do I need for {}?", "What is the form for {} called?")
    return (
        dice.one_of(templates).format(service.name),
        f"Form {service.form}.",
        f"You need form {service.form}, which the {service.office} hands out.",
        f"Form {service.form[0]}-{dice.whole(40, 99)}.",
        "form",
    )


def _place(service: Service, _other: Service, dice: Dice) -> tuple[str, ...]:
    templates = ("Which office deals with {}?", "Where do I ask for {}?")
    wrong = next(office for office in OFFICES[service.domain] if office != service.office)
    return (
        dice.one_of(templates).format(service.name),
        f"The {service.office}.",
        f"The {service.office} deals with it, with form {service.form}.",
        f"The {wrong}.",
        "office",
    )


def _numeric(service: Service, _other: Service, dice: Dice) -> tuple[str, ...]:
    if dice.chance(0.5):
        return (
            f"What is the fee for {service.name}?",
            f"{service.fee} crowns.",
            f"The fee is {service.fee} crowns, to be paid at the {service.office}.",
            f"{service.fee + 5 * dice.whole(1, 9)} crowns.",
            "fee",
        )
    return (
        f"How many working days does {service.name} take?",
        f"{service.days} working days.",
        f"It takes {service.days} working days from when form {service.form} is handed in.",
        f"{service.days + dice.whole(1, 9)} working days.",
        "time",
    )


def _procedural(service: Service, _other: Service, dice: Dice) -> tuple[str, ...]:
    templates = ("How do I apply for {}?", "What are the steps to get {}?")
    return (
        dice.one_of(templates).format(service.name),
        f"Hand in form {service.form} at the {service.office} and pay {service.fee} crowns.",
        f"Fill in form {service.form} and take it to the {service.office}; the fee is "
        f"{service.fee} crowns and it takes {service.days} working days.",
        f"Send form {service.form} by post; there is no fee.",
        "steps",
    )


def _multi_hop(service: Service, other: Service, _dice: Dice) -> tuple[str, ...]:
    same = service.office == other.office
    yes = f"Yes, both at the {service.office}."
    no = f"No: one at the {service.office}, the other at the {other.office}."
    return (
        f"Can I hand in the forms for {service.name} and {other.name} at the same office?",
        yes if same else no,
        f"Form {service.form} goes to the {service.office} and form {other.form} to the "
        f"{other.office}, so {'yes' if same else 'no'}.",
        "No, each has an office of its own." if same else yes,
        "second office",
    )


_WORDINGS = {
    "factoid": _form,
    "place": _place,
    "numeric": _numeric,
    "procedural": _procedural,
    "multi_hop": _multi_hop,
}

# -- what a pipeline makes of a question


def rows(pipeline: Pipeline, all_queries: list[Query], dice: Dice) -> Iterator[dict[str, object]]:
    for place, query in enumerate(all_queries):
        row = _row(pipeline, query, dice)
        if place not in pipeline.absent:
            yield row


def _row(pipeline: Pipeline, query: Query, dice: Dice) -> dict[str, object]:
    ranks = _ranks(pipeline, query, dice)
    n_found = sum(rank <= CUTOFF for rank in ranks)
    recall = n_found / query.n_relevant
    luck = query.luck if dice.chance(STEADY) else (dice.share(), dice.share(), dice.share())
    answer_kind = _answer_kind(query, recall, luck)
    faithfulness, reason = _faithfulness(pipeline, query, answer_kind, dice)
    return {
        "query_id": query.query_id,
        "question": query.question,
        "question_type": query.question_type,
        "domain": query.domain,
        "reference": query.reference,
        "answer": _text(query, answer_kind),
        "reciprocal_rank": _format_share(
            1 / ranks[0] if ranks and ranks[0] <= DEEPEST_RANK else 0.0
        ),
        "recall@5": _format_share(recall),
        "context_relevance": _context_relevance(pipeline, recall, dice),
        "faithfulness": faithfulness,
        "faithfulness_reason": reason,
        "answer_relevancy": _answer_relevancy(answer_kind, dice),
        "exact_match": int(answer_kind == "right"),
        "citation_f1": _citation_f1(n_found, query.n_relevant, answer_kind, dice),
        "latency_ms": _latency(pipeline, answer_kind, dice),
    }


def _ranks(pipeline: Pipeline, query: Query, dice: Dice) -> list[int]:
    """The ranks of the relevant documents: at each rank one is retrieved with the same odds."""
    odds = 1 / (1 + math.exp(0.8 * query.difficulty - pipeline.skill[query.question_type]))
    ranks: list[int] = []
    for rank in range(1, DEEPEST_RANK + 1):
        hit = dice.chance(odds * 0.9 ** (rank - 1))
        if hit and len(ranks) < query.n_relevant:
            ranks.append(rank)
    return ranks


def _answer_kind(query: Query, recall: float, luck: Luck) -> str:
    """The kind of answer: right, wordy, wrong or refused."""
    knows, terse, candid = luck
    if knows < 0.92 * recall - 0.06 * max(query.difficulty, 0.0):
        return "right" if terse < TERSE else "wordy"
    return "refused" if candid < CANDID else "wrong"


def _text(query: Query, answer_kind: str) -> str:
    texts = {"right": query.reference, "wordy": query.wordy, "wrong": query.wrong}
    return texts.get(answer_kind, "The documents do not say.")


def _faithfulness(
    pipeline: Pipeline, query: Query, answer_kind: str, dice: Dice
) -> tuple[str, str]:
    """The share of claims that the contexts support; blank if the judge gave no verdict."""
    failed, careful, claims = dice.share(), dice.share(), dice.whole(2, 4)
    unsupported = {"right": 0, "wordy": 0, "wrong": max(1, claims - 1), "refused": 0}[answer_kind]
    if answer_kind in ("right", "wordy") and careful > CAREFUL:
        unsupported = 1
    if failed < pipeline.judge_failures:
        return "", "no verdict: the judge's answer could not be read"
    if not unsupported:
        return _format_share(1.0), ""
    reason = f"{unsupported} of {claims} claims not in the contexts ({query.subject})"
    return _format_share(1 - unsupported / claims), reason


def _context_relevance(pipeline: Pipeline, recall: float, dice: Dice) -> str:
    level = 0.22 + 0.45 * recall - pipeline.context_noise + 0.11 * dice.bell()
    return "" if dice.chance(pipeline.judge_failures / 3) else f"{min(max(level, 0), 1):.2f}"


def _answer_relevancy(answer_kind: str, dice: Dice) -> str:
    """Wrong answers are as relevant to the question as right ones."""
    typical = 0.55 if answer_kind == "refused" else 0.86
    return f"{min(max(typical + 0.06 * dice.bell(), 0.0), 1.0):.3f}"


def _citation_f1(n_found: int, n_relevant: int, answer_kind: str, dice: Dice) -> str:
    """The F1 of citations: of retrieved sources, and sometimes of one that is wrong."""
    astray, forgot = dice.share(), dice.share()
    if answer_kind == "refused":
        return _format_share(0.0)
    good = max(n_found - (forgot > CAREFUL), 0)
    cited = good + (astray > 0.7)
    return _format_share(2 * good / (cited + n_relevant))


def _latency(pipeline: Pipeline, answer_kind: str, dice: Dice) -> int:
    slow = 2.5 if dice.chance(0.03) else 1.0
    longer = 1.25 if answer_kind == "wordy" else 1.0
    return round(pipeline.latency_ms * slow * longer * math.exp(0.22 * dice.bell()))


def _format_share(share: float) -> str:
    return f"{share:.6f}".rstrip("0").rstrip(".") if share % 1 else f"{share:.0f}"


# -- files


def files(seed: int = SEED) -> dict[str, str]:
    """The text of each file, by its name."""
    all_queries = queries(Dice(seed))
    return {
        f"{pipeline.name}.csv": _csv(list(rows(pipeline, all_queries, Dice(seed + place))))
        for place, pipeline in enumerate(PIPELINES, start=1)
    }


def _csv(table: list[dict[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def main() -> None:
    for name, text in files().items():
        (FOLDER / name).write_bytes(text.encode())
        print(f"{FOLDER / name}: {len(text):,} characters", file=sys.stderr)


if __name__ == "__main__":
    main()
