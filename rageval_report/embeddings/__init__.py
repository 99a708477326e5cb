"""Embeddings: callables that turn texts into vectors, for ``embed=`` of metrics of similarity.

`EMBEDDERS` is the table of them; to add one, write a function that returns such a callable, and an
entry there. Your own callable that takes a list of texts works as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rageval_report._registry import Registry, lazy_face

if TYPE_CHECKING:
    from rageval_report.embeddings.openai import openai_embeddings as openai_embeddings
    from rageval_report.embeddings.sentences import sentence_transformer as sentence_transformer
    from rageval_report.types import Float32Array
else:
    __getattr__, __dir__, __all__ = lazy_face(__name__, "EMBEDDERS")

_HERE = __name__

EMBEDDERS: Registry[Callable[..., Callable[[list[str]], Float32Array]]] = Registry(
    "embedder",
    {
        "openai": f"{_HERE}.openai:openai_embeddings",
        "sentence-transformers": f"{_HERE}.sentences:sentence_transformer",
    },
    group="rageval_report.embedders",
)
