"""Servers on this machine that count what they are asked, and fail when they are told to."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import socketserver
import struct
import threading
from collections import Counter
from fractions import Fraction
from hashlib import blake2b
from typing import Any

N_DOCS = 40
VERDICT = "HOW POLITE"  # in every message that asks for a verdict
# What becomes of a request to a server that bills.
OUTCOMES = (
    *("ok", "late", "cut", "reset", "429", "500", "503", "uncounted", "refusal", "length"),
    *("unreadable", "html"),
)


class Server:
    """Hands every request with a body to `answer`; use it in a ``with`` block."""

    def __init__(self) -> None:
        self.lock, self.closed = threading.Lock(), threading.Event()
        self._port, self._server = 0, None

    def __enter__(self) -> Any:
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closed.set()
        self.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def open(self) -> None:
        """Listen, at the same port as before."""
        if self._server is not None:
            return
        ours = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    ours._serve(self)

        class Threads(socketserver.ThreadingTCPServer):
            daemon_threads, block_on_close = True, False
            allow_reuse_address, request_queue_size = True, 128

        self._server = Threads(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Give the port back."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        first, length = handler.rfile.readline(), 0
        while line := handler.rfile.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = handler.rfile.read(length)
        if not first.endswith(b"\n") or len(body) < length:  # a client that was killed
            return
        if not length:  # somebody looks whether the server runs
            self.send(handler, b"", 405)
            return
        self.answer(handler, first.decode(), json.loads(body))

    def answer(self, handler: Any, first: str, asked: dict[str, Any]) -> None:
        raise NotImplementedError

    def send(self, handler: Any, body: bytes, status: int = 200, share: float = 1.0) -> None:
        """Send an answer, or the first part of it."""
        head = f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\nconnection: close\r\n"
        head += "content-type: application/json\r\n\r\n"
        handler.wfile.write(head.encode() + body[: int(share * len(body))])

    def reset(self, handler: Any) -> None:
        """Reset the connection."""
        linger = struct.pack("ii", 1, 0)
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        handler.connection.close()


class MortalServer(Server):
    """Answers questions at ``/answer`` and chats at ``/v1``, and dies at the request `dies_at`.

    It then resets as many connections as `resets` says before it answers again, or closes its port.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Forget what was asked, and be well again."""
        self.answered: Counter[str] = Counter()
        self.n_asked = self.n_reset = 0
        self.dies_at = self.resets = None

    def answer(self, handler: Any, first: str, asked: dict[str, Any]) -> None:
        with self.lock:
            self.n_asked += 1
            is_dead = self.dies_at is not None and self.n_asked >= self.dies_at
            is_dead = is_dead and (self.resets is None or self.n_reset < self.resets)
            self.n_reset += is_dead
        if is_dead:
            if self.resets is None:
                self.close()
            self.reset(handler)
            return
        document = self._rag(asked) if "/answer" in first else self._chat(asked)
        self.send(handler, json.dumps(document).encode())

    def _rag(self, asked: dict[str, Any]) -> dict[str, Any]:
        question = asked["question"]
        with self.lock:
            self.answered[question] += 1
        first = number_of(question, N_DOCS)
        retrieved = [f"d{(first + step) % N_DOCS}" for step in range(5)]
        answer = f"It is {number_of(question, 9)} é漢. " + "x" * number_of(question, 3000)
        contexts = [f"Of {doc}: {number_of(doc, 99)}." for doc in retrieved]
        return {"answer": answer, "retrieved": retrieved, "contexts": contexts}

    def _chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        prompt = "\n".join(message["content"] for message in asked["messages"])
        sent, received = len(prompt) // 4, 1 + number_of(prompt, 50)
        with self.lock:
            self.answered[prompt] += 1
        score = 1 + number_of(prompt, 5)
        return completion(json.dumps({"reasoning": "so", "score": score}), (sent, received))


def number_of(text: str, n: int) -> int:
    """A number from 0 to `n` - 1, always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) % n


def completion(content: str | None, tokens: tuple[int, int], outcome: str = "ok") -> dict[str, Any]:
    """The document of an answer by the protocol of OpenAI."""
    message = {"content": content, "refusal": "No." if outcome == "refusal" else None}
    reason = "length" if outcome == "length" else "stop"
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return {
        "model": "m",
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": None if outcome == "uncounted" else usage,
    }


class BillingServer(Server):
    """A chat that bills every request but those with 429, whatever its client sees of it.

    `prices` are US dollars per million tokens sent and received; `weights` say how often each of
    `OUTCOMES` occurs. `total` is the bill, exactly, in millionths of a dollar. Nothing is answered
    before `gather` requests are in the server at the same time.
    """

    def __init__(
        self,
        prices: tuple[float, float],
        weights: dict[str, float],
        rng: random.Random,
        gather: int,
    ) -> None:
        super().__init__()
        self.prices = [Fraction(repr(price)) for price in prices]
        self.weights, self.rng, self.gather = weights, rng, gather
        self.total, self.outcomes = Fraction(0), Counter()
        self.n_in_flight = self.most_in_flight = 0
        self.gathered = threading.Event()

    def answer(self, handler: Any, first: str, asked: dict[str, Any]) -> None:
        prompt = json.dumps([asked["messages"], asked.get("response_format")], ensure_ascii=False)
        with self.lock:
            outcome, tokens, share = self._bill(len(prompt.encode()), asked["max_tokens"])
            self.n_in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.n_in_flight)
            if self.n_in_flight >= self.gather:
                self.gathered.set()
        self.gathered.wait(60)
        self.closed.wait(60 if outcome == "late" else share * 0.03)
        with self.lock:
            self.n_in_flight -= 1
        if outcome == "reset":
            self.reset(handler)
        elif outcome != "late":
            good = {"unreadable": "Let me think", "refusal": None}
            content = good.get(outcome, '{"reasoning": "so", "score": 5}')
            body = json.dumps(completion(content, tokens, outcome)).encode()
            body = b"<html>Bad gateway</html>" if outcome == "html" else body
            status = int(outcome) if outcome.isdigit() else 200
            self.send(handler, body, status, 0.5 if outcome == "cut" else 1.0)

    def _bill(self, n_bytes: int, limit: int) -> tuple[str, tuple[int, int], float]:
        """What becomes of a request, the tokens sent and received, and a share of 1."""
        outcome = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
        self.outcomes[outcome] += 1
        # A byte is a token at most; the template of the chat adds some.
        sent = n_bytes + self.rng.randint(0, 200)
        is_long = outcome == "length" or self.rng.random() < 0.2
        received = limit if is_long else self.rng.randint(1, limit)
        if outcome != "429":
            self.total += self.prices[0] * sent + self.prices[1] * received
        return outcome, (sent, received), self.rng.random()
