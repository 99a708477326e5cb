"""References for sets that have judgments but no answers, from highly relevant documents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from rageval_report.datasets.golden_items import GoldenItem
from rageval_report.golden.prompts import Prompt, load_prompts

from rageval_report.errors import DataError, JudgeError, RagevalWarning, explain_keywords, named
from rageval_report.golden.reply_journal import (
    AskText,
    ChatDownError,
    ChatFailedError,
    ReplyJournal,
)
from rageval_report.judges.chats import Chat, as_chat
from rageval_report.judges.parsing import remove_thoughts
from rageval_report.records.levels import GoldSection

HIGHLY_RELEVANT = 2.0  # nfcorpus, for which ADR-013 defined this evaluation, grades 1 and 2
# The number in ADR-013: the first five highly relevant documents are the context.
_N_DOCUMENTS = 5


@explain_keywords
def highly_relevant(records: pd.DataFrame, *, grade: float | None = None) -> pd.DataFrame:
    """The queries with highly relevant documents, which become their gold.

    Parameters
    ----------
    records : DataFrame
        With ``relevant``, a dict of id to grade, as `load_dataset` returns them.
    grade : float, optional
        The lowest grade that counts as highly relevant; as `high_grade` says if omitted.

    Returns
    -------
    DataFrame
        The rows of these queries; ``relevant`` contains only the highly relevant documents, and
        ``highly_relevant_count`` their number.

    Raises
    ------
    DataError
        If there is no gold, or no grade is that high.

    Examples
    --------
    >>> records = pd.DataFrame({"relevant": [{"a": 2.0, "b": 1.0}, {"b": 1.0}]}, index=["q", "r"])
    >>> highly_relevant(records)["relevant"].to_dict()
    {'q': {'a': 2.0}}
    """
    grade, _ = high_grade(records, grade)
    high = [
        {name: value for name, value in (grades or {}).items() if value >= grade}
        for grades in records["relevant"].tolist()
    ]
    has_high = [bool(grades) for grades in high]
    if not any(has_high):
        raise DataError(f"no query has a document of grade {grade:g} or higher")
    rows = records[has_high].copy()
    rows["relevant"] = pd.Series(list(filter(None, high)), index=rows.index, dtype=object)
    if "relevant_sections" in rows:
        sections = [_graded_from(cell, grade) for cell in rows["relevant_sections"].tolist()]
        rows["relevant_sections"] = pd.Series(sections, index=rows.index, dtype=object)
    return rows.assign(highly_relevant_count=rows["relevant"].map(len))


def high_grade(records: pd.DataFrame, grade: float | None = None) -> tuple[float, str]:
    """The lowest grade that counts as highly relevant, and a note if the judgments decide it.

    Parameters
    ----------
    records : DataFrame
        With ``relevant``, a dict of id to grade.
    grade : float, optional
        The grade that the user chose. If omitted, 2, or the highest grade if that is lower.

    Raises
    ------
    DataError
        If there is no gold.

    Examples
    --------
    >>> high_grade(pd.DataFrame({"relevant": [{"a": 1.0, "b": 0.0}, None]}))[0]
    1.0
    """
    if "relevant" not in records:
        raise DataError("expected records with a column 'relevant'; there is none")
    if grade is not None:
        return grade, ""
    highest = max(
        (value for grades in records["relevant"].tolist() for value in (grades or {}).values()),
        default=HIGHLY_RELEVANT,
    )
    if highest >= HIGHLY_RELEVANT or highest <= 0:
        return HIGHLY_RELEVANT, ""
    return highest, (
        f"the highest grade of the judgments is {highest:g}, below {HIGHLY_RELEVANT:g}: documents "
        "of this grade count as highly relevant"
    )


def _graded_from(sections: list[GoldSection] | None, grade: float) -> list[GoldSection] | None:
    return [section for section in sections or () if section[2] >= grade] or None


@explain_keywords
def ground_truth(
    records: pd.DataFrame,
    corpus: Mapping[str, str] | pd.DataFrame,
    chat: Chat | Callable[[str], Any],
    *,
    grade: float | None = None,
    first: int = _N_DOCUMENTS,
    journal: str | Path | None = None,
    prompts: str | Path | Mapping[str, Prompt] | None = None,
) -> list[GoldenItem]:
    r"""Write a reference for each query from its first highly relevant documents.

    Parameters
    ----------
    records : DataFrame
        Queries with graded documents, best first, as `load_dataset` returns them for BEIR sets.
    corpus : mapping of str to str, or DataFrame
        The texts by id, or the frame of `load_corpus`.
    chat : Chat or callable
        The chat model that writes the references, as in `generate_golden`.
    grade : float, optional
        The lowest grade that counts as highly relevant; as `high_grade` says if omitted.
    first : int
        The number of documents that the reference is written from.
    journal : path, optional
        Where replies are kept, so that a run that was stopped can continue.
    prompts : path or mapping, optional
        A prompt "ground_truth" that replaces the library's.

    Returns
    -------
    list of GoldenItem
        The gold contains all highly relevant documents, also those that were not used. Queries
        without such a document or without a text, or whose reply failed, are left out with a
        warning.

    Raises
    ------
    DataError
        If no query is left.
    JudgeError
        If there is a journal, and the chat could not be reached or was busy for some queries: call
        it again to go on. Without a journal, these queries are left out.

    Examples
    --------
    >>> records = pd.DataFrame(
    ...     {"question": ["Is milk healthy?"], "relevant": [{"d1": 2.0}]}, index=["q1"]
    ... )
    >>> items = ground_truth(records, {"d1": "Milk is."}, lambda text: " It is.\n")
    >>> items[0].references, items[0].metadata["context_documents"]
    (('It is.',), ['d1'])
    """
    if first < 1:
        raise DataError(f"first must be an integer >= 1; got {first}")
    queries, texts = highly_relevant(records, grade=grade), _document_texts(corpus)
    model, replies = as_chat(chat), ReplyJournal(journal)
    templates = prompts if isinstance(prompts, Mapping) else load_prompts(prompts)
    prompt = templates["ground_truth"]
    skipped: dict[str, str | ChatFailedError] = {}
    with replies.open(model) as ask:
        items = list(_write_items(queries, texts, prompt, ask, first, model.model, skipped))
    if journal is not None:
        _check_not_down(skipped, len(queries), journal)
    _warn_of_skipped(skipped, len(records) - len(queries))
    if not items:
        raise DataError("no query could be given an answer; the warnings say why")
    return items


def _document_texts(corpus: Mapping[str, str] | pd.DataFrame) -> Mapping[str, str]:
    if not isinstance(corpus, pd.DataFrame):
        return corpus
    titles = corpus["title"] if "title" in corpus else [""] * len(corpus)
    rows = zip(corpus.index, titles, corpus["text"], strict=True)
    return {str(name): f"{title}\n{text}".strip() for name, title, text in rows}


def _write_items(
    queries: pd.DataFrame,
    texts: Mapping[str, str],
    prompt: Prompt,
    ask: AskText,
    first: int,
    model: str,
    skipped: dict[str, str | ChatFailedError],
) -> Iterator[GoldenItem]:
    """The items of the queries; those without an answer are added to `skipped`, with a reason."""
    questions = queries["question"].tolist() if "question" in queries else [None] * len(queries)
    gold = queries["relevant"].tolist()
    for query_id, question, grades in zip(map(str, queries.index), questions, gold, strict=True):
        documents = [name for name in grades if name in texts][:first]
        if not isinstance(question, str) or not documents:
            skipped[query_id] = "no document" if isinstance(question, str) else "no question"
            continue
        context = "\n\n".join(f"<document>\n{texts[name]}\n</document>" for name in documents)
        try:
            answer = remove_thoughts(ask(prompt.message(context=context, question=question)))
        except ChatFailedError as exc:
            skipped[query_id] = exc
            continue
        if not answer:
            skipped[query_id] = "the reply was blank"
            continue
        yield GoldenItem(
            query_id=query_id,
            question=question,
            references=(answer,),
            relevant=dict(grades),
            answerable=True,
            metadata={"highly_relevant_count": len(grades), "context_documents": documents},
            provenance={"source": "ground truth", "model": model, "prompts": [prompt.label]},
        )


def _check_not_down(
    skipped: Mapping[str, str | ChatFailedError], n: int, journal: str | Path
) -> None:
    """Refuse a set that is smaller only because the chat was down for a while."""
    down = [query_id for query_id, reason in skipped.items() if isinstance(reason, ChatDownError)]
    if down:
        raise JudgeError(
            f"{journal}: {len(down)} of {n} queries have no reference yet, because "
            f"{skipped[down[0]]}. The other replies are kept in this file: run it again to go on. "
            f"Without a reference: {named(down)}"
        )


def _warn_of_skipped(skipped: Mapping[str, str | ChatFailedError], n_without: int) -> None:
    if n_without:
        message = f"{n_without} queries have no highly relevant document, and are left out"
        warnings.warn(message, RagevalWarning, stacklevel=3)
    if skipped:
        listed = named(f"{query_id} ({reason})" for query_id, reason in skipped.items())
        warnings.warn(f"no answer was written for {listed}", RagevalWarning, stacklevel=3)
