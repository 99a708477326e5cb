"""Ground truth for sets that have judgments and no answers: written from the highly relevant."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.errors import DataError, RagevalWarning, named
from rageval_report.golden.prompts import Prompt, load_prompts
from rageval_report.golden.reply_journal import ChatFailedError, Journal
from rageval_report.judges.chats import Chat, as_chat
from rageval_report.judges.parsing.objects import remove_thoughts

HIGHLY_RELEVANT = 2.0
_FIRST = 5


def highly_relevant(records: pd.DataFrame, *, grade: float = HIGHLY_RELEVANT) -> pd.DataFrame:
    """The queries that have highly relevant documents, with these as their gold.

    Parameters
    ----------
    records : DataFrame
        With ``relevant``, a dict of id to grade, as `load_dataset` gives them.
    grade : float
        The lowest grade that is high.

    Returns
    -------
    DataFrame
        The rows that have some; ``relevant`` holds these alone, and ``highly_relevant_count`` how
        many they are.

    Raises
    ------
    DataError
        If there is no gold, or none of it is graded so high.

    Examples
    --------
    >>> records = pd.DataFrame({"relevant": [{"a": 2.0, "b": 1.0}, {"b": 1.0}]}, index=["q", "r"])
    >>> highly_relevant(records)["relevant"].to_dict()
    {'q': {'a': 2.0}}
    """
    if "relevant" not in records:
        raise DataError("expected records with a column 'relevant'; there is none")
    high = [
        {one: value for one, value in (grades or {}).items() if value >= grade}
        for grades in records["relevant"].tolist()
    ]
    has = [bool(one) for one in high]
    if not any(has):
        raise DataError(f"no query has a document of grade {grade:g} or higher")
    kept = records[has].copy()
    kept["relevant"] = pd.Series([one for one in high if one], index=kept.index, dtype=object)
    return kept.assign(highly_relevant_count=kept["relevant"].map(len))


def ground_truth(
    records: pd.DataFrame,
    corpus: Mapping[str, str] | pd.DataFrame,
    chat: Chat | Callable[[str], Any],
    *,
    grade: float = HIGHLY_RELEVANT,
    first: int = _FIRST,
    journal: str | Path | None = None,
    prompts: str | Path | Mapping[str, Prompt] | None = None,
) -> list[GoldenItem]:
    r"""Write a reference for each query from its first highly relevant documents.

    Parameters
    ----------
    records : DataFrame
        Queries with graded documents, best first, as `load_dataset` gives them for BEIR sets.
    corpus : mapping of str to str, or DataFrame
        The texts by id; or what `load_corpus` gives.
    chat : Chat or callable
        As in `generate_golden`.
    grade : float
        The lowest grade that is high.
    first : int
        How many of the documents that the corpus has make the context.
    journal : path, optional
        Where replies are kept, so that a run that was stopped goes on.
    prompts : path or mapping, optional
        A prompt "ground_truth" in place of the library's.

    Returns
    -------
    list of GoldenItem
        Gold are all highly relevant documents, also those beyond the context. Queries without
        such a document, without a text, or whose reply failed are left out, with a warning.

    Raises
    ------
    DataError
        If no query is left.

    Examples
    --------
    >>> records = pd.DataFrame(
    ...     {"question": ["Is milk healthy?"], "relevant": [{"d1": 2.0}]}, index=["q1"]
    ... )
    >>> made = ground_truth(records, {"d1": "Milk is."}, lambda text: " It is.\n")
    >>> made[0].references, made[0].metadata["context_documents"]
    (('It is.',), ['d1'])
    """
    if first < 1:
        raise DataError(f"first must be at least 1; got {first}")
    chosen, texts = highly_relevant(records, grade=grade), _texts(corpus)
    known, kept = as_chat(chat), Journal(journal)
    given = prompts if isinstance(prompts, Mapping) else load_prompts(prompts)
    prompt = given["ground_truth"]
    lost: dict[str, str] = {}
    with kept.asking(known) as ask:
        items = list(_written(chosen, texts, prompt, ask, first, known.model, lost))
    _warn(lost, len(records) - len(chosen))
    if not items:
        raise DataError("no query could be given an answer; the warnings say why")
    return items


def _texts(corpus: Mapping[str, str] | pd.DataFrame) -> Mapping[str, str]:
    if not isinstance(corpus, pd.DataFrame):
        return corpus
    titles = corpus["title"] if "title" in corpus else [""] * len(corpus)
    pairs = zip(corpus.index, titles, corpus["text"], strict=True)
    return {str(one): f"{title}\n{text}".strip() for one, title, text in pairs}


def _written(
    chosen: pd.DataFrame,
    texts: Mapping[str, str],
    prompt: Prompt,
    ask: Callable[[Any], str],
    first: int,
    model: str,
    lost: dict[str, str],
) -> Iterator[GoldenItem]:
    questions = chosen["question"].tolist() if "question" in chosen else [None] * len(chosen)
    for one, question, grades in zip(
        chosen.index, questions, chosen["relevant"].tolist(), strict=True
    ):
        held = [document for document in grades if document in texts][:first]
        if not isinstance(question, str) or not held:
            lost[str(one)] = "no question" if not isinstance(question, str) else "no document"
            continue
        context = "\n\n".join(f"<document>\n{texts[document]}\n</document>" for document in held)
        try:
            answer = remove_thoughts(ask(prompt.message(context=context, question=question)))
        except ChatFailedError as exc:
            lost[str(one)] = str(exc)
            continue
        if not answer:
            lost[str(one)] = "the reply was blank"
            continue
        yield GoldenItem(
            query_id=str(one),
            question=question,
            references=(answer,),
            relevant=dict(grades),
            answerable=True,
            metadata={"highly_relevant_count": len(grades), "context_documents": held},
            provenance={"source": "ground truth", "model": model, "prompts": [prompt.told]},
        )


def _warn(lost: Mapping[str, str], n_without: int) -> None:
    if n_without:
        told = f"{n_without} queries have no highly relevant document, and are left out"
        warnings.warn(told, RagevalWarning, stacklevel=3)
    if lost:
        told = named(f"{one} ({why})" for one, why in lost.items())
        warnings.warn(f"no answer was written for {told}", RagevalWarning, stacklevel=3)
