"""The glossary is in order, and the public names are made of its words."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import rageval_report
import rageval_report.metrics
import rageval_report.stats
from rageval_report import Comparison, RAGPipelineEvaluation

GLOSSARY = Path(__file__).parent.parent / "docs" / "glossary.md"
ENTRIES = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
TERMS = [term for term, _ in ENTRIES]

# Verbs, adjectives and small words, which need no explanation.
PLAIN = frozenset(
    """
    adjust aggregated all allow alpha at below by calibrate classification clustered comparative
    compare config correct created detailed drop duplicates embed evaluate exact find frame
    friedman from get grouped headline heterogeneity html json judging key latex load map
    markdown inspect match minimum missing n name no on paired pairings plan printed read relevant
    required save self sentences similarity standard strict summary to version with
    """.split()
)
# Names of the field: of authors, formulas and programs.
FIELD = frozenset(
    """
    ac1 ac2 bleu cohen csv detectable dict equivalence error errors f1 fleiss generation
    gladen gwet hybrid k kappa krippendorff log ppi precision rag rageval rank recall
    retrieval rogan rouge
    """.split()
)


def words_of(name: str) -> list[str]:
    """The words of a name in snake case or camel case, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name.strip("_"))
    return [word.lower() for word in re.split(r"[_\s]+", spaced) if word]


PARTS = {word for term in TERMS for word in (*re.split(r"[\s-]", term), re.sub("[ -]", "", term))}
KNOWN = PARTS | PLAIN | FIELD


def is_known(word: str) -> bool:
    forms = {word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d")}
    return bool(forms & KNOWN) or (word.endswith("ies") and f"{word[:-3]}y" in KNOWN)


def public_names() -> list[str]:
    """The names of the face and of the two modules of the public contract, with parameters."""
    modules = (rageval_report, rageval_report.metrics, rageval_report.stats)
    names = [name for module in modules for name in module.__all__]
    for holder in (RAGPipelineEvaluation, Comparison):
        names += [name for name in dir(holder) if not name.startswith("_")]
    for function in (rageval_report.compare, rageval_report.score, rageval_report.score_rankings):
        names += list(inspect.signature(function).parameters)
    return sorted(set(names))


def test_the_terms_are_sorted_and_unique():
    keys = [re.sub(r"[^a-z ]", "", term.lower()) for term in TERMS]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize(("term", "sentence"), ENTRIES, ids=TERMS)
def test_a_term_is_explained_in_one_sentence(term, sentence):
    assert term == term.lower()
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert ". " not in sentence


def test_every_line_of_the_list_is_an_entry():
    lines = [line for line in GLOSSARY.read_text(encoding="utf-8").splitlines() if line[:1] == "-"]
    assert len(lines) == len(ENTRIES) > 80


def test_public_names_are_made_of_words_of_the_glossary():
    unknown = {name: [w for w in words_of(name) if not is_known(w)] for name in public_names()}
    assert {name: words for name, words in unknown.items() if words} == {}


def test_every_other_word_is_needed_and_not_in_the_glossary():
    used = {word for name in public_names() for word in words_of(name)}
    assert sorted(PLAIN & set(TERMS) | FIELD & set(TERMS)) == []
    assert sorted((PLAIN | FIELD) - used) == []


def test_a_riddle_in_a_name_is_found():
    assert [word for word in words_of("told_RAGScores") if not is_known(word)] == ["told"]
