"""Embeddings computed on this machine by sentence-transformers; needs the extra ``semantic``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rageval_report._registry import load
from rageval_report.embeddings.vectors import check_texts, check_vectors, no_vectors
from rageval_report.errors import DataError
from rageval_report.types import Float32Array


@dataclass(frozen=True, eq=False)
class SentenceTransformerEmbeddings:
    """A model of sentence-transformers as a callable; `sentence_transformer` creates it.

    Parameters
    ----------
    name : str
        The name or folder of the model.
    model : SentenceTransformer
        The loaded model.
    encode : mapping
        Keyword arguments of its ``encode``.
    """

    name: str
    model: Any = field(repr=False)
    encode: Mapping[str, object]

    def __call__(self, texts: Sequence[str]) -> Float32Array:
        """Embed texts.

        Parameters
        ----------
        texts : list of str
            In any order.

        Returns
        -------
        ndarray of float32 of shape (n_texts, n_dimensions)

        Raises
        ------
        DataError
            If an item is not a text, or the model does not return one finite vector per text.
        """
        listed = check_texts(texts)
        if not listed:
            return no_vectors()
        rows = self.model.encode(listed, **self.encode)
        return check_vectors(rows, len(listed))


def sentence_transformer(
    model: str,
    *,
    batch_size: int = 32,
    encode: Mapping[str, object] | None = None,
    **options: object,
) -> SentenceTransformerEmbeddings:
    """A model of sentence-transformers that embeds texts on this machine.

    Parameters
    ----------
    model : str
        Its name, or its folder.
    batch_size : int, default 32
        How many texts are embedded at a time.
    encode : mapping, optional
        Further arguments of ``encode`` of the library, such as ``{"prompt_name": "query"}``.
    **options
        Arguments of ``SentenceTransformer`` of the library, such as ``device="cpu"``.

    Returns
    -------
    callable
        A function from a list of texts to a float32 array, one row per text.

    Raises
    ------
    MissingDependencyError
        If sentence-transformers is not installed.
    DataError
        If the model cannot be loaded.

    Notes
    -----
    A model can load its own code only if you pass ``trust_remote_code=True``, as in the library.

    Examples
    --------
    >>> embed = sentence_transformer("all-MiniLM-L6-v2", device="cpu")  # doctest: +SKIP
    >>> embed(["a text", "another"]).shape  # doctest: +SKIP
    (2, 384)
    """
    if batch_size < 1:
        raise DataError(f"batch_size must be an integer >= 1; got {batch_size!r}")
    library = load("sentence_transformers:SentenceTransformer")
    try:
        loaded = library(model, **options)
    except (OSError, ValueError) as exc:
        raise DataError(f"the model {model!r} cannot be loaded: {exc}") from exc
    arguments = {"batch_size": batch_size, "show_progress_bar": False, **(encode or {})}
    return SentenceTransformerEmbeddings(model, loaded, {**arguments, "convert_to_numpy": True})
