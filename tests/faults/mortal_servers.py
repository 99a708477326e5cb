"""A RAG server and a chat model on this machine, which can die in the middle and come back."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import socketserver
import struct
import threading
from collections import Counter
from hashlib import blake2b
from typing import Any

PRICE = 1.0  # US dollars per million tokens, sent and received
N_DOCS = 40
VERDICT = "HOW POLITE"  # in every message that asks for a verdict
_LINGER_NOT = struct.pack("ii", 1, 0)  # closing then resets the connection
_NOT_ALLOWED = b"HTTP/1.1 405 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class MortalServer:
    """Answers questions at ``/answer`` and chats at ``/v1``; use it in a ``with`` block.

    Attributes
    ----------
    answered : Counter
        How often each question or message was answered.
    billed : int
        Tokens that were answered and cost money.
    dies_at : int, optional
        The request, counted from 1, at which the server dies.
    resets : int, optional
        How many connections it then resets before it answers again; if None, it closes its port
        and stays away until `revive`.
    is_silent_at : int, optional
        The request that is never answered: its client has to give up.
    """

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()
        self.billed = self.n_asked = self.n_reset = self.n_silent = 0
        self.dies_at: int | None = None
        self.resets: int | None = None
        self.is_silent_at: int | None = None
        self._port = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._server: socketserver.TCPServer | None = None

    def __enter__(self) -> MortalServer:
        self.revive()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed.set()
        self._close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def reset(self) -> None:
        """Forget what was asked, and be well again."""
        self.answered.clear()
        self.billed = self.n_asked = self.n_reset = self.n_silent = 0
        self.dies_at = self.resets = self.is_silent_at = None
        self.revive()

    def revive(self) -> None:
        """Listen again, at the same port."""
        if self._server is not None:
            return
        mortal = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    mortal._serve(self)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            block_on_close = False  # silent requests end only with their client
            allow_reuse_address = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def _close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def _fate(self) -> str:
        """What becomes of the next request."""
        with self._lock:
            self.n_asked += 1
            if self.is_silent_at == self.n_asked:
                self.n_silent += 1
                return "silent"
            if self.dies_at is None or self.n_asked < self.dies_at:
                return "answered"
            if self.resets is not None and self.n_reset >= self.resets:
                return "answered"
            self.n_reset += 1
            return "reset"

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        first = handler.rfile.readline()
        length = 0
        while line := handler.rfile.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = handler.rfile.read(length)
        if len(body) < length or not first.endswith(b"\n"):  # a client that was killed
            return
        if not length:  # somebody looks whether the server runs
            handler.wfile.write(_NOT_ALLOWED)
            return
        fate = self._fate()
        if fate == "silent":
            while not self._closed.is_set() and handler.rfile.read(1):
                pass
            return
        if fate == "reset":
            if self.resets is None:
                self._close()
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
            handler.connection.close()
            return
        asked = json.loads(body)
        document = self._rag(asked) if b"/answer" in first else self._chat(asked)
        content = json.dumps(document).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\nConnection: close\r\n"
        handler.wfile.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + content)

    def _count(self, asked: str, tokens: int = 0) -> None:
        with self._lock:
            self.answered[asked] += 1
            self.billed += tokens

    def _rag(self, asked: dict[str, Any]) -> dict[str, Any]:
        question = asked["question"]
        self._count(question)
        first = number_of(question, N_DOCS)
        retrieved = [f"d{(first + step) % N_DOCS}" for step in range(5)]
        answer = f"It is {number_of(question, 9)} é漢. " + "x" * number_of(question, 3000)
        contexts = [f"Of {doc}: {number_of(doc, 99)}." for doc in retrieved]
        return {"answer": answer, "retrieved": retrieved, "contexts": contexts}

    def _chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        prompt = "\n".join(message["content"] for message in asked["messages"])
        received = 1 + number_of(prompt, 50)
        # What references of golden sets cost is not part of the budget of a judge.
        is_judged = VERDICT in prompt
        self._count(prompt, len(prompt) // 4 + received if is_judged else 0)
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": received}
        choice = {"message": {"content": reply_to(prompt)}, "finish_reason": "stop"}
        return {"model": "toy", "choices": [choice], "usage": usage}


def number_of(text: str, n: int) -> int:
    """A number from 0 to `n` - 1, always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) % n


def reply_to(prompt: str) -> str:
    """What the model says: a verdict, or part of a golden set."""
    if VERDICT in prompt:
        return json.dumps({"reasoning": "so", "score": 1 + number_of(prompt, 5)})
    if "two to four sentences" in prompt:
        return f"A reference of {number_of(prompt, 1000)} words."
    names = re.findall(r"The (\w+) is \d+ miles", prompt)
    name = names[0] if names else "Seine"
    if "that the text does not answer" in prompt:
        return json.dumps({"question": f"Who was the first to swim the {name}?"})
    if "Write one question" in prompt:
        return json.dumps({"question": f"How many miles long is the river {name}?"})
    if "answers to the question that are wrong" in prompt:
        return json.dumps({"answers": ["5 feet", "9 inches"]})
    lengths = dict(re.findall(r"The (\w+) is (\d+ miles)", prompt))
    asked = [river for river in lengths if river in prompt.partition("Question: ")[2]]
    if "Who" in prompt.partition("Question: ")[2] or not asked:
        return json.dumps({"answerable": False, "answer": "", "evidence": ""})
    length = lengths[asked[0]]
    return json.dumps({"answerable": True, "answer": length, "evidence": f"{asked[0]} is {length}"})
