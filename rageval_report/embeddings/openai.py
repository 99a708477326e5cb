"""Embeddings from a server with the protocol of OpenAI: OpenAI, Ollama, vLLM, LM Studio and others.

Needs the extra ``http``.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np

from rageval_report.embeddings.vectors import check_texts, check_vectors, no_vectors
from rageval_report.errors import DataError, check_choice
from rageval_report.http import (
    Client,
    Headers,
    HttpResponse,
    ProviderHome,
    fill_request,
    key_from_environment,
    keys_named_in,
)
from rageval_report.types import Float32Array, Sleep

_HOME = ProviderHome("https://api.openai.com/v1", ("OPENAI_BASE_URL",), ("OPENAI_API_KEY",))
_STAND_IN = "."  # sent if all texts are blank, to learn the length of a vector
_NUMBER = np.dtype("<f4")  # the numbers in base64


@dataclass(frozen=True)
class EmbeddingServer:
    """A server of embeddings as a callable; `openai_embeddings` creates it.

    It contains no key and no connection: the key is read from the environment at each call.

    Parameters
    ----------
    url : str
        The address to which texts are sent.
    body : mapping
        What is sent with the texts: the model, the format, the number of dimensions.
    api_key_env : str, optional
        The environment variable that holds the key.
    batch_size : int
        How many texts are sent at a time.
    client : callable
        A function that creates the client.
    """

    url: str
    body: Mapping[str, object]
    api_key_env: str | None
    batch_size: int
    client: Callable[[], Client] = field(repr=False)

    def __call__(self, texts: Sequence[str]) -> Float32Array:
        """Embed texts, each distinct one once.

        Parameters
        ----------
        texts : list of str
            In any order; the vector of a blank text is zeros.

        Returns
        -------
        ndarray of float32 of shape (n_texts, n_dimensions)

        Raises
        ------
        RequestError
            If the server cannot be reached, refuses, or does not return one vector per text.
        DataError
            If an item is not a text, or there is no key.
        """
        listed = check_texts(texts)
        if not listed:
            return no_vectors()
        # OpenAI refuses empty input; a blank text gets a vector of zeros, whose cosines are 0.
        distinct = [text for text in dict.fromkeys(listed) if text.strip()]
        vectors = self._request_vectors(distinct or [_STAND_IN])
        row_of = {text: row for row, text in enumerate(distinct)}
        rows = np.zeros((len(listed), vectors.shape[1]), dtype=np.float32)
        filled = [row for row, text in enumerate(listed) if text in row_of]
        rows[filled] = vectors[[row_of[listed[row]] for row in filled]]
        return rows

    def _request_vectors(self, texts: list[str]) -> Float32Array:
        """The vectors of distinct texts, batch by batch."""
        url, settings, keys = fill_request(self.url, self.body)
        headers = self.headers()
        width = self.body.get("dimensions")
        parts: list[Float32Array] = []
        with self.client() as client:
            for start in range(0, len(texts), self.batch_size):
                batch = texts[start : start + self.batch_size]
                body = {**settings, "input": batch}
                response = client.request("POST", url, json=body, headers=headers, keys=keys)
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
    places = [item.get("index", place) for place, item in enumerate(items)]
    by_place = dict(zip(map(str, places), items, strict=True))
    if by_place.keys() != set(map(str, range(n))):
        raise answer.error(f"expected each index from 0 to {n - 1} once; got {places[:10]}")
    try:
        rows = [_numbers(by_place[str(place)].get("embedding")) for place in range(n)]
        return check_vectors(rows, n, width)
    except DataError as exc:
        raise answer.error(str(exc)) from exc


def _numbers(embedding: Any) -> Any:
    """The numbers of a vector, from a list or from base64 of float32 (little-endian)."""
    if isinstance(embedding, list):
        return embedding
    if not isinstance(embedding, str):
        raise DataError("each item must have an 'embedding', as a list of numbers or as base64")
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype=_NUMBER)
    except ValueError as exc:
        raise DataError(f"an 'embedding' is not base64 of float32: {exc}") from exc


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
    encoding_format : {"float", "base64"}
        How vectors are sent; base64 is four times shorter and several times faster to read, but
        not all servers support it.
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
    _check_arguments(model, batch_size, dimensions, encoding_format)
    base, variable = _HOME.locate(base_url, api_key_env)
    address = base.removesuffix("/embeddings") + "/embeddings"
    body: dict[str, object] = {
        **(extra_body or {}),
        "model": model,
        "encoding_format": encoding_format,
    }
    if dimensions is not None:
        body["dimensions"] = dimensions
    client = partial(
        Client, timeout=timeout, max_attempts=max_attempts, max_wait=max_wait, sleep=sleep
    )
    client().close()  # checks the limits now, not at the first text
    server = EmbeddingServer(address, body, variable, batch_size, client)
    server.headers()  # and the keys
    keys_named_in([address, body])
    return server


def _check_arguments(
    model: str, batch_size: int, dimensions: int | None, encoding_format: str
) -> None:
    if not isinstance(model, str) or not model.strip():
        raise DataError(f"model must be the name of a model; got {model!r}")
    sizes = {"batch_size": batch_size, "dimensions": 1 if dimensions is None else dimensions}
    for name, value in sizes.items():
        if not isinstance(value, int) or value < 1:
            raise DataError(f"{name} must be an integer >= 1; got {value!r}")
    check_choice("encoding_format", encoding_format, ("float", "base64"))
