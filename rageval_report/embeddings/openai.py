"""Embeddings by a server that speaks OpenAI's protocol: OpenAI, Ollama, vLLM, LM Studio, others.

Needs the extra ``http``.
"""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from rageval_report.embeddings.vectors import Vectors, checked_texts, checked_vectors, no_vectors
from rageval_report.errors import DataError
from rageval_report.http.addresses import check_address, redact_url
from rageval_report.http.client import Client, Headers, HttpResponse
from rageval_report.http.keys import check_key_variable, key_from_environment
from rageval_report.types import Sleep

_OPENAI = "https://api.openai.com/v1"
_STAND_IN = "."  # sent where all texts are blank, to learn how long a vector is
_NUMBER = np.dtype("<f4")  # what base64 packs


@dataclass(frozen=True)
class EmbeddingServer:
    """A server of embeddings as a callable; `openai_embeddings` makes it.

    It holds no key and no connection: the key is read from the environment at each call.

    Parameters
    ----------
    url : str
        Where texts are sent.
    asks : mapping
        What is sent beside the texts: the model, the format, the number of dimensions.
    api_key_env : str, optional
        The environment variable that holds the key.
    batch_size : int
        How many texts are sent at a time.
    client : callable
        Makes the client.
    """

    url: str
    asks: Mapping[str, object]
    api_key_env: str | None
    batch_size: int
    client: Callable[[], Client] = field(repr=False)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, each different one once.

        Parameters
        ----------
        texts : list of str
            In any order; blank ones get zeros.

        Returns
        -------
        ndarray of float32 of shape (n_texts, n_dimensions)

        Raises
        ------
        RequestError
            If the server cannot be reached, refuses, or does not give a vector a text.
        DataError
            If something in the list is no text, or there is no key.
        """
        listed = checked_texts(texts)
        if not listed:
            return no_vectors()
        sent = [text for text in dict.fromkeys(listed) if text.strip()]
        vectors = self._embedded(sent or [_STAND_IN])
        place = {text: row for row, text in enumerate(sent)}
        rows = np.zeros((len(listed), vectors.shape[1]), dtype=np.float32)
        said = [row for row, text in enumerate(listed) if text in place]
        rows[said] = vectors[[place[listed[row]] for row in said]]
        return rows

    def _embedded(self, texts: list[str]) -> Vectors:
        """The vectors of different texts, batch by batch."""
        headers = self.headers()
        width = self.asks.get("dimensions")
        parts: list[Vectors] = []
        with self.client() as client:
            for start in range(0, len(texts), self.batch_size):
                batch = texts[start : start + self.batch_size]
                asked = {**self.asks, "input": batch}
                answer = client.request("POST", self.url, json=asked, headers=headers)
                parts.append(_vectors_in(answer, len(batch), width))
                width = parts[0].shape[1]
        return np.concatenate(parts)

    def headers(self) -> Headers:
        """The header that carries the key, where there is one."""
        if self.api_key_env is None:
            return {}
        return {"authorization": key_from_environment(self.api_key_env)}


def _vectors_in(answer: HttpResponse, n: int, width: Any) -> Vectors:
    """The vectors of an answer in the order of the texts."""
    document = answer.json()
    items = document.get("data") if isinstance(document, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise answer.error('expected {"data": [{"index": ..., "embedding": [...]}, ...]}')
    if len(items) != n:
        raise answer.error(f"expected a vector for each of {n} texts, got {len(items)}")
    # A server that leaves out what is zero leaves out the first index.
    places = [item.get("index", place) for place, item in enumerate(items)]
    by_place = dict(zip(map(str, places), items, strict=True))
    if by_place.keys() != set(map(str, range(n))):
        raise answer.error(f"expected each index from 0 to {n - 1} once, got {places[:10]}")
    try:
        rows = [_numbers(by_place[str(place)].get("embedding")) for place in range(n)]
        return checked_vectors(rows, n, width)
    except DataError as exc:
        raise answer.error(str(exc)) from exc


def _numbers(embedding: Any) -> Any:
    """A vector as it came: a list of numbers, or base64 of float32, least byte first."""
    if isinstance(embedding, list):
        return embedding
    if not isinstance(embedding, str):
        raise DataError("expected each vector under 'embedding', as numbers or as base64")
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype=_NUMBER)
    except ValueError as exc:
        raise DataError(f"a vector is no base64 of float32: {exc}") from exc


def openai_embeddings(
    model: str,
    *,
    base_url: str | None = None,
    api_key_env: str | None = None,
    batch_size: int = 64,
    dimensions: int | None = None,
    encoding_format: Literal["float", "base64"] = "float",
    extra_body: Mapping[str, object] | None = None,
    timeout: float = 60.0,
    max_attempts: int = 5,
    max_wait: float = 60.0,
    sleep: Sleep = time.sleep,
) -> EmbeddingServer:
    """A server that speaks OpenAI's protocol and embeds texts.

    Parameters
    ----------
    model : str
        As "text-embedding-3-small", or what the server calls its own.
    base_url : str, optional
        Where the server is, up to "/v1" as a rule: "http://localhost:11434/v1" for Ollama,
        "http://localhost:8000/v1" for vLLM, "http://localhost:1234/v1" for LM Studio. Where not
        given, the environment variable OPENAI_BASE_URL, else OpenAI.
    api_key_env : str, optional
        The environment variable that holds the key. Where not given: OPENAI_API_KEY if no
        `base_url` is given either. A server of your own gets a key only if you name one, so that
        the key of OpenAI goes to nobody else.
    batch_size : int, default 64
        How many texts are sent at a time.
    dimensions : int, optional
        How long vectors shall be, where the model can choose.
    encoding_format : {"float", "base64"}
        How vectors travel; base64 is four times shorter and read several times faster, but not
        known to all servers.
    extra_body : mapping, optional
        What the server takes beside, as ``{"truncate_prompt_tokens": 512}`` for vLLM.
    timeout, max_attempts, max_wait, sleep
        As in `rageval_report.http.client.Client`.

    Returns
    -------
    callable
        A list of texts to a float32 array, a row each, in their order. Equal texts are sent once.
        An empty or blank text is not sent, since OpenAI refuses it: its vector is zeros, and its
        cosine with any other 0.

    Raises
    ------
    DataError
        If an argument makes no sense, or the key is missing.

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
    _check(model, batch_size, dimensions, encoding_format)
    address, variable = _server(base_url, api_key_env)
    asks: dict[str, object] = {
        **(extra_body or {}),
        "model": model,
        "encoding_format": encoding_format,
    }
    if dimensions is not None:
        asks["dimensions"] = dimensions
    client = partial(
        Client, timeout=timeout, max_attempts=max_attempts, max_wait=max_wait, sleep=sleep
    )
    client().close()  # the limits are checked now, not at the first text
    server = EmbeddingServer(address, asks, variable, batch_size, client)
    server.headers()  # and so is the key
    return server


def _check(model: str, batch_size: int, dimensions: int | None, encoding_format: str) -> None:
    if not isinstance(model, str) or not model.strip():
        raise DataError(f"expected the name of a model, got {model!r}")
    sizes = {"batch_size": batch_size, "dimensions": 1 if dimensions is None else dimensions}
    for name, value in sizes.items():
        if not isinstance(value, int) or value < 1:
            raise DataError(f"{name} must be a whole number from 1 on; got {value!r}")
    if encoding_format not in ("float", "base64"):
        raise DataError(f"encoding_format is 'float' or 'base64'; got {encoding_format!r}")


def _server(base_url: str | None, api_key_env: str | None) -> tuple[str, str | None]:
    """Where texts are sent, and the variable whose key goes with them."""
    routed = os.environ.get("OPENAI_BASE_URL")
    base = check_address(base_url or routed or _OPENAI)
    if "?" in base or "#" in base:
        raise DataError(f"base_url ends before any '?' or '#': {redact_url(base)} alone")
    url = base.rstrip("/").removesuffix("/embeddings") + "/embeddings"
    if api_key_env is not None:
        return url, check_key_variable(api_key_env)
    if base_url is not None:
        return url, None
    needs_key = not routed or "OPENAI_API_KEY" in os.environ
    return url, "OPENAI_API_KEY" if needs_key else None
