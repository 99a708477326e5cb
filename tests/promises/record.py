"""Write what the calls return now: ``python tests/promises/record.py [subject or call ...]``."""

import json
import sys
import time
import traceback

import promises


def record(subject: str, wanted: set[str]) -> None:
    """Record the wanted calls of a subject; the others keep their record."""
    before, now = promises.record(subject), {}
    for name in promises.calls(subject):
        start = time.perf_counter()
        try:
            now[name] = promises.run(subject, name) if name in wanted else before.get(name)
        except Exception:
            print(f"not recorded: {subject}.{name}")  # noqa: T201
            traceback.print_exc(limit=-2)
            now[name] = before.get(name)
        if (seconds := time.perf_counter() - start) > 1:
            print(f"slow: {subject}.{name}: {seconds:.1f} s")  # noqa: T201
    rows = [f"{json.dumps(name)}: {json.dumps(now[name])}" for name in now if now[name] is not None]
    (promises.DATA / f"{subject}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


if __name__ == "__main__":
    asked = set(sys.argv[1:]) or set(promises.subjects())
    for subject in {name.partition(".")[0] for name in asked}:
        calls = set(promises.calls(subject))
        record(
            subject, calls if subject in asked else {n for n in calls if f"{subject}.{n}" in asked}
        )
