"""Write the rollouts of an evaluation with verifiers' own rubric and writers, offline.

    python tests/golden/verifiers/make_verifiers.py      # pip install verifiers==0.1.14

The rollouts, which need a model, are made up; a rubric of the library scores them, and its own
functions write ``results.jsonl`` and ``metadata.json``. One rollout ended in an error.
``old/results.jsonl`` is by hand: the fields of 0.1.3, which had no ``metrics`` object and no
``example_id``.
"""

import asyncio
import json
from importlib.metadata import version
from pathlib import Path

import verifiers as vf
from verifiers.types import State
from verifiers.utils.save_utils import save_outputs, states_to_outputs

HERE = Path(__file__).parent
EXAMPLES = [("Who wrote Emma?", "Jane Austen"), ("Capital of Italy?", "Rome"), ("2 + 2?", "4")]
COMPLETIONS = [
    ["Jane Austen", "It is Jane Austen", "Homer"],
    ["Rome", "Milan", None],
    ["5", "4", "4"],
]


def exact(completion, answer, **kwargs):
    return float(completion[-1]["content"] == answer)


def contains(completion, answer, **kwargs):
    return 1.0 if answer in completion[-1]["content"] else 0.25


def num_words(completion, **kwargs):
    return float(len(completion[-1]["content"].split()))


def state(example, text):
    question, answer = EXAMPLES[example]
    message = [{"role": "assistant", "content": text or ""}]
    prompt = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    return State(
        example_id=example,
        input={"prompt": prompt, "answer": answer, "example_id": example, "task": "toy"},
        prompt=prompt,
        completion=message,
        answer=answer,
        task="toy",
        info={},
        timing={"start_time": 0.0, "generation_ms": 100.0, "scoring_ms": 1.0, "total_ms": 101.0},
        trajectory=[],
        is_completed=True,
        is_truncated=False,
        stop_condition="max_turns_reached",
        error=None if text is not None else TimeoutError("the model timed out"),
    )


async def score(rubric, states):
    for each in states:
        if each["error"] is None:
            await rubric.score_rollout(each)
        else:
            await rubric.dummy_score_rollout(each)


if __name__ == "__main__":
    rubric = vf.Rubric(funcs=[exact, contains, num_words], weights=[1.0, 0.5, 0.0])
    rows = [state(n, text) for n, texts in enumerate(COMPLETIONS) for text in texts]
    asyncio.run(score(rubric, rows))
    outputs = states_to_outputs(rows)
    folder = HERE / "toy"
    save_outputs(outputs, folder)
    means = {}
    for name in ("reward", "exact", "contains", "num_words"):
        scored = [row for row in outputs if row["error"] is None]
        means[name] = {
            key: [row[name] for row in scored if row["example_id"] == key]
            for key in range(len(EXAMPLES))
        }
    metadata = {
        "env_id": "toy",
        "env_args": {},
        "model": "gpt-none",
        "num_examples": 3,
        "rollouts_per_example": 3,
        "sampling_args": {"temperature": 0.7},
        "avg_reward": sum(row["reward"] for row in outputs) / len(outputs),
    }
    (folder / "metadata.json").write_text(json.dumps(metadata) + "\n", encoding="utf-8")
    expected = {"tool": "verifiers", "version": version("verifiers"), "scores": means}
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
