"""A pipeline and a chat model that follow rules, named on the command line as ``stubs:answer``."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

CAPITALS = {"Norway": "Oslo", "Kenya": "Nairobi", "Peru": "Lima", "Chad": "N'Djamena"}


def answer(question: str, k: int = 2, loud: bool = False) -> dict[str, Any]:
    """A pipeline that knows two capitals, and fails on one question."""
    country = next((name for name in CAPITALS if name in question), "")
    if country == "Chad":
        raise RuntimeError("no such country")
    known = country in ("Norway", "Kenya")
    found = [f"d-{country.lower()}", "d-other", "d-more"] if known else ["d-other", "d-peru"]
    text = CAPITALS[country] if known else "I don't know."
    return {
        "answer": text.upper() if loud else text,
        "retrieved": [{"doc_id": name, "score": 9.0 - n} for n, name in enumerate(found[:k])],
        "citations": found[:1],
        "usage": {"prompt_tokens": 100 + len(question), "completion_tokens": 5},
    }


def rivers(text: str) -> str:
    """What a model says that knows only the lengths of rivers in its text."""
    if "<text>" not in text:
        return "It says so in the documents."
    context = re.search(r"<text>\n(.*)\n</text>", text, re.DOTALL)[1]
    lengths = dict(re.findall(r"The (\w+) is (\d+ km)", context))
    names = list(lengths) or ["Nile"]
    if "that the text does not answer" in text:
        return json.dumps({"question": f"Who was the first to swim the {names[0]}?"})
    if "takes both texts" in text:
        return json.dumps({"question": f"Is the {names[0]} longer than the {names[-1]}?"})
    if "Write one question" in text:
        return json.dumps({"question": f"How many kilometres long is the {names[0]}?"})
    if "answers to the question that are wrong" in text:
        return json.dumps({"answers": ["5 feet", "9 inches"]})
    asked = [name for name in lengths if name in text.partition("Question: ")[2]]
    if not asked or "Who" in text.partition("Question: ")[2]:
        return json.dumps({"answerable": False, "answer": "", "evidence": ""})
    told = " and ".join(lengths[name] for name in asked)
    evidence = f"{asked[0]} is {lengths[asked[0]]}"
    return json.dumps({"answerable": True, "answer": told, "evidence": evidence})


def likes(word: str, message: Any) -> str:
    """A judge that prefers the answer with a word, a place, or a tie."""
    first = message.user.partition("<first>\n")[2].partition("\n")[0]
    choice = {"first": "1", "tie": "tie", "nothing": "?"}.get(word, "1" if word in first else "2")
    return json.dumps({"reasoning": "so", "better": choice})


def full_marks(text: str) -> str:
    """A judge that gives full marks."""
    return json.dumps({"reasoning": "so", "score": 5})


def letters(texts: list[str]) -> list[list[float]]:
    """Vectors of texts: how often each letter occurs."""
    return [[float(text.lower().count(chr(97 + n))) for n in range(26)] for text in texts]


LOOP = [sys.executable, __file__]

if __name__ == "__main__":
    for line in sys.stdin:
        query = json.loads(line)
        reply = {"answer": query["question"].split()[-1], "retrieved": ["d-norway"]}
        print(json.dumps(reply), flush=True)  # noqa: T201
