"""Embeddings: callables that turn texts into vectors, for ``embed=`` of metrics of similarity.

Any callable that takes a list of texts works as well, such as ``SentenceTransformer(...).encode``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rageval_report.errors import DataError
from rageval_report.http import (
    Client,
    Headers,
    HttpResponse,
    ProviderHome,
    fill_request,
    key_from_environment,
    keys_named_in,
)
from rageval_report.metrics.checks import check_list
from rageval_report.types import Float32Array, Sleep


def _check_texts(texts: Sequence[str]) -> list[str]:
    listed = check_list("texts", texts)
    for place, text in enumerate(listed):
        if not isinstance(text, str):
            raise DataError(
                f"texts must contain texts; got {type(text).__name__} at position {place}: leave "
                "out what has no text"
            )
    return listed


def check_vectors(rows: ArrayLike, n: int, width: int | None = None) -> Float32Array:
    """The vectors of some texts, one each, finite and of one length, in single precision."""
    try:
        table = np.asarray(rows)
    except ValueError as exc:  # NumPy raises it for rows of several lengths
        raise DataError("the vectors must have one length") from exc
    if table.ndim != 2 or table.dtype.kind not in "fiu" or not table.size:
        raise DataError(
            f"expected {n} vectors of numbers; got an array of shape {table.shape} and type "
            f"{table.dtype}"
        )
    if len(table) != n:
        raise DataError(f"expected a vector for each of {n} texts; got {len(table)}")
    if width is not None and table.shape[1] != width:
        raise DataError(f"expected vectors of {width} numbers; got {table.shape[1]}")
    with np.errstate(over="ignore"):  # checked below
        vectors = table.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        place = int((~np.isfinite(vectors)).any(axis=1).argmax())
        raise DataError(f"the vector of text {place} has NaN, infinity or too large a number")
    return vectors


_HOME = ProviderHome("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",))
_STAND_IN = "."  # sent if all texts are blank, to learn the length of a vector


@dataclass(frozen=True)
class EmbeddingServer:
    """A server of embeddings as a callable; `openai_embeddings` creates it."""

    url: str
    body: Mapping[str, object]
    api_key_env: str | None
    batch_size: int
    client: Callable[[], Client] = field(repr=False)

    def __call__(self, texts: Sequence[str]) -> Float32Array:
        """Embed texts, each distinct one once."""
        # OpenAI refuses empty input; a blank text gets a vector of zeros, whose cosines are 0.
        listed = _check_texts(texts)
        distinct = [text for text in dict.fromkeys(listed) if text.strip()]
        if not listed:
            return np.empty((0, 0), dtype=np.float32)
        vectors = self._request_vectors(distinct or [_STAND_IN])
        row_of = {text: row for row, text in enumerate(distinct)}
        rows = np.vstack([vectors, np.zeros_like(vectors[:1])])  # the last one is of blank texts
        return rows[[row_of.get(text, -1) for text in listed]]

    def _request_vectors(self, texts: list[str]) -> Float32Array:
        """The vectors of distinct texts, batch by batch."""
        url, settings, keys = fill_request(self.url, self.body)
        send: dict[str, Any] = {"headers": self.headers(), "keys": keys}
        width = self.body.get("dimensions")
        parts: list[Float32Array] = []
        with self.client() as client:
            for start in range(0, len(texts), self.batch_size):
                batch = texts[start : start + self.batch_size]
                response = client.request("POST", url, json={**settings, "input": batch}, **send)
                parts.append(_parse_vectors(response, len(batch), width))
                width = parts[0].shape[1]
        return np.concatenate(parts)

    def headers(self) -> Headers:
        """The header with the key, if there is one."""
        if self.api_key_env is None:
            return {}
        return {"authorization": key_from_environment(self.api_key_env)}


def _parse_vectors(answer: HttpResponse, n: int, width: Any) -> Float32Array:
    """The vectors of a response in the order of the texts."""
    document = answer.json()
    items = document.get("data") if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise answer.error('expected {"data": [{"index": ..., "embedding": [...]}, ...]}')
    if len(items) != n:
        raise answer.error(f"expected a vector for each of {n} texts; got {len(items)}")
    # A server that leaves out zero values leaves out the first index.
    by_place = {str(item.get("index", place)): item for place, item in enumerate(items)}
    if by_place.keys() != set(map(str, range(n))):
        raise answer.error(f"expected each index from 0 to {n - 1} once")
    try:
        rows = [by_place[str(place)].get("embedding") for place in range(n)]
        if not all(isinstance(row, list) for row in rows):
            raise DataError("each item must have an 'embedding', a list of numbers")
        return check_vectors(rows, n, width)
    except DataError as exc:
        raise answer.error(str(exc)) from exc


def openai_embeddings(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    batch_size: int = 64,
    dimensions: int | None = None,
    extra_body: Mapping[str, object] | None = None,
    timeout: float = 60.0,
    max_attempts: int = 5,
    max_wait: float = 60.0,
    sleep: Sleep = time.sleep,
) -> EmbeddingServer:
    """Embeddings from a server with the protocol of OpenAI.

    Parameters
    ----------
    model : str
        The name of the model, such as "text-embedding-3-small".
    base_url : str, optional
        The address of the server, usually up to "/v1": "http://localhost:11434/v1" for Ollama,
        "http://localhost:8000/v1" for vLLM, "http://localhost:1234/v1" for LM Studio. If omitted,
        the environment variable OPENAI_BASE_URL, otherwise OpenAI.
    api_key_env : str, optional
        The environment variable with the key. If omitted, OPENAI_API_KEY, but only if `base_url` is
        omitted too: your own server gets a key only if you name one, so that the key of OpenAI is
        sent to no other server.
    batch_size : int, default 64
        How many texts are sent at a time.
    dimensions : int, optional
        The length of the vectors, if the model supports several.
    extra_body : mapping, optional
        Further fields of the request, such as ``{"truncate_prompt_tokens": 512}`` for vLLM. A key
        is named as ``${NAME}``, by its environment variable.
    timeout, max_attempts, max_wait, sleep
        As in `rageval_report.http.Client`.

    Returns
    -------
    callable
        A function from a list of texts to a float32 array, one row per text, in their order. Equal
        texts are sent once. An empty or blank text is not sent, because OpenAI refuses it: its
        vector is zeros, and its cosine with any other vector is 0.

    Raises
    ------
    DataError
        If an argument is not valid, or the key is missing.

    References
    ----------
    .. [1] OpenAI. API reference, create embeddings.

    Examples
    --------
    >>> embed = openai_embeddings("nomic-embed-text", base_url="http://localhost:11434/v1")
    >>> embed.url, embed.api_key_env
    ('http://localhost:11434/v1/embeddings', None)
    >>> embed(["a text", "another"]).shape  # doctest: +SKIP
    (2, 768)
    """
    if not isinstance(model, str) or not model.strip():
        raise DataError(f"model must be the name of a model; got {model!r}")
    sizes = {"batch_size": batch_size, "dimensions": 1 if dimensions is None else dimensions}
    for name, value in sizes.items():
        if not isinstance(value, int) or value < 1:
            raise DataError(f"{name} must be an integer >= 1; got {value!r}")
    base, variable = _HOME.locate(base_url, api_key_env)
    address = base.removesuffix("/embeddings") + "/embeddings"
    body = {**(extra_body or {}), "model": model}
    body |= {} if dimensions is None else {"dimensions": dimensions}
    client = partial(
        Client, timeout=timeout, max_attempts=max_attempts, max_wait=max_wait, sleep=sleep
    )
    client().close()  # checks the limits now, not at the first text
    server = EmbeddingServer(address, body, variable, batch_size, client)
    server.headers()  # and the keys
    keys_named_in([address, body])
    return server
