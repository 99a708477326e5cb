"""Write scores as Langfuse's API gives them, with the types of its library.

    python tests/golden/langfuse/make_langfuse.py     # pip install langfuse==5.0.4

The API itself needs a server: the scores are put together by hand and checked by the library.
"""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

from langfuse.api.commons.types import score as types

HERE = Path(__file__).parent
SCORES = [  # trace, name, type, value, text, comment
    ("t1", "faithfulness", "NUMERIC", 0.5, None, "half of it"),
    ("t1", "helpful", "BOOLEAN", 1.0, "True", None),
    ("t1", "tone", "CATEGORICAL", 0.0, "friendly", None),
    ("t2", "faithfulness", "NUMERIC", 1.0, None, None),
    ("t2", "helpful", "BOOLEAN", 0.0, "False", "too short"),
    ("t2", "tone", "CATEGORICAL", 1.0, "rude", None),
    ("t3", "faithfulness", "NUMERIC", 0.25, None, None),
    ("t3", "faithfulness", "NUMERIC", 0.75, None, "second judge"),
]
KINDS = {
    "NUMERIC": types.Score_Numeric,
    "BOOLEAN": types.Score_Boolean,
    "CATEGORICAL": types.Score_Categorical,
}


def score(number, trace, name, kind, value, text, comment):
    moment = datetime(2026, 11, 22, 12, number, tzinfo=UTC)
    fields = {
        "id": f"s{number}",
        "trace_id": trace,
        "name": name,
        "source": "API",
        "timestamp": moment,
        "created_at": moment,
        "updated_at": moment,
        "environment": "default",
        "value": value,
        "comment": comment,
    }
    if text is not None:
        fields["string_value"] = text
    return KINDS[kind](**fields)


def camel(name):
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


if __name__ == "__main__":
    scores = [score(number, *fields) for number, fields in enumerate(SCORES)]
    dumped = [json.loads(one.json()) for one in scores]
    rows = [{camel(key): value for key, value in one.items()} for one in dumped]
    page = {"data": rows, "meta": {"page": 1, "limit": 50, "totalItems": 8, "totalPages": 1}}
    (HERE / "scores.json").write_text(json.dumps(page, indent=1) + "\n", encoding="utf-8")
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (HERE / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
