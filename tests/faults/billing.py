"""Servers that bill: every request that they accept costs money, whatever the client sees of it.

`Bill` is the model; `BillingServer` puts it behind a real socket, by the protocol of OpenAI.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import socketserver
import struct
import threading
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

GOOD = '{"reasoning": "so", "score": 5}'
# What becomes of a request; the second part of a pair says how.
OUTCOMES = (
    *("ok", "late", "cut", "reset", "429", "500", "503", "uncounted", "refusal", "length"),
    *("unreadable", "html"),
)
UNBILLED = ("429",)

# Of each script a piece: one token per byte is the worst that a tokenizer makes of it.
SCRIPTS = (
    "plain words ",
    "漢字仮名交じり文",
    "ภาษาไทย",
    "😀👩‍👩‍👧‍👦🏳️‍🌈",
    "ኣማርኛ",
    'tabs\t"quotes"\n',
    "ﷺ",
)


def random_text(rng: random.Random, most: int) -> str:
    """A text of one or two scripts."""
    pieces = rng.sample(SCRIPTS, rng.randint(1, 2))
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, most)))


@dataclass
class Bill:
    """What a server has billed, exactly, in millionths of a US dollar.

    Parameters
    ----------
    prices : pair of float
        US dollars per million tokens sent and received.
    weights : dict of str to float
        How often each outcome occurs.
    rng : Random
        Decides on outcomes and lengths.
    bytes_per_token : float
        1 for the worst tokenizer.
    """

    prices: tuple[float, float]
    weights: dict[str, float]
    rng: random.Random
    bytes_per_token: float = 1.0
    total: Fraction = Fraction(0)
    n_billed: int = 0
    n_in_flight: int = 0
    most_in_flight: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def accept(self, n_bytes: int, limit: int) -> tuple[str, tuple[int, int], float]:
        """Bill a request; returns its outcome, the tokens sent and received, and a share of 1."""
        with self.lock:
            outcome = self.rng.choices(list(self.weights), list(self.weights.values()))[0]
            self.outcomes[outcome] += 1
            added = self.rng.randint(0, 200)  # by the template of the chat
            sent = int(n_bytes / self.bytes_per_token) + added
            received = limit if self.rng.random() < 0.2 else self.rng.randint(1, limit)
            if outcome == "length":
                received = limit
            if outcome not in UNBILLED:
                prompt, completion = (Fraction(repr(price)) for price in self.prices)
                self.total += prompt * sent + completion * received
                self.n_billed += 1
            return outcome, (sent, received), self.rng.random()

    def enter(self) -> None:
        """Count a request that is in the server."""
        with self.lock:
            self.n_in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.n_in_flight)

    def leave(self) -> None:
        """Count a request that has left the server."""
        with self.lock:
            self.n_in_flight -= 1


def completion(outcome: str, tokens: tuple[int, int]) -> dict[str, Any]:
    """The document of an answer by the protocol of OpenAI."""
    content = {"unreadable": "Let me think ...", "refusal": None}.get(outcome, GOOD)
    message = {"content": content, "refusal": "No." if outcome == "refusal" else None}
    reason = "length" if outcome == "length" else "stop"
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return {
        "model": "m",
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": None if outcome == "uncounted" else usage,
    }


class BillingServer:
    """A server on this machine that bills; use it in a ``with`` block.

    Parameters
    ----------
    bill : Bill
        What is billed.
    slowest : float
        The longest time in seconds that an answer takes, if it comes at all.
    gather : int
        Answer nothing before so many requests are in the server at the same time.
    """

    def __init__(self, bill: Bill, *, slowest: float = 0.03, gather: int = 0):
        self.bill = bill
        self.slowest = slowest
        self.gather = gather
        self.gathered = threading.Event()
        self.closed = threading.Event()
        if not gather:
            self.gathered.set()

    def __enter__(self) -> BillingServer:
        server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    server._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.closed.set()
        self.gathered.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The address, up to "/v1"."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        length = 0
        while line := handler.rfile.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = handler.rfile.read(length)
        if not length or len(body) < length:
            return
        asked = json.loads(body)
        prompt = json.dumps([asked["messages"], asked.get("response_format")], ensure_ascii=False)
        # Without a limit the model writes as much as it likes.
        limit = asked.get("max_tokens", 8000)
        outcome, tokens, share = self.bill.accept(len(prompt.encode()), limit)
        self.bill.enter()
        try:
            if self.bill.n_in_flight >= self.gather:
                self.gathered.set()
            self.gathered.wait(60)
            self.closed.wait(60 if outcome == "late" else share * self.slowest)
        finally:
            self.bill.leave()
        self._answer(handler, outcome, tokens)

    def _answer(
        self, handler: socketserver.StreamRequestHandler, outcome: str, tokens: tuple[int, int]
    ) -> None:
        if outcome == "late":
            return
        if outcome == "reset":
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.connection.close()
            return
        status = int(outcome) if outcome.isdigit() else 200
        body = json.dumps(completion(outcome, tokens)).encode() if status == 200 else b"no"
        if outcome == "html":
            body = b"<html>Bad gateway</html>"
        head = f"HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        end = len(body) // 2 if outcome == "cut" else len(body)
        handler.wfile.write(head.encode() + body[:end])
