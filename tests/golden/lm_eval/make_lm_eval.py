"""Write the files of two runs of lm-eval on sums made up here, with a model that answers by rote.

pip install lm_eval==0.4.13
python tests/golden/lm_eval/make_lm_eval.py

``sums`` has two filters and ids within its documents; ``plain`` has neither, and a metric of which
less is better. lm-eval's own figures stand in ``results_*.json``.
"""

import json
import os
import tempfile
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

HERE = Path(__file__).parent
SUMS = [
    {"id": f"q{n}", "question": f"What is {n} + {n}?", "answer": str(2 * n), "kind": kind}
    for n, kind in enumerate(("odd", "even", "odd", "even"), 1)
]
ANSWERS = {"1": "the answer is 2", "2": "maybe 4", "3": "the answer is 7", "4": "no idea"}

TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "Q: {{{{question}}}}\\nA:"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"]}}
metadata: {{version: 1.0}}
"""
FILTERS = """
filter_list:
  - name: strict
    filter: [{function: regex, regex_pattern: "^the answer is (\\\\d+)$"}, {function: take_first}]
  - name: flexible
    filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
LENGTHS = """
process_results: !function lengths.process_results
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true}
  - {metric: n_words, aggregation: mean, higher_is_better: false}
"""
LENGTHS_CODE = """
def process_results(doc, results):
    answer = results[0]
    return {"exact_match": float(doc["answer"] in answer), "n_words": len(answer.split())}
"""


class Rote(LM):
    def generate_until(self, requests, **_):
        return [ANSWERS[one.args[0].split("What is ")[1].split()[0]] for one in requests]

    def loglikelihood(self, requests, **_):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


def run(folder, task, documents, rest):
    data = folder / f"{task}.jsonl"
    data.write_text("\n".join(map(json.dumps, documents)) + "\n")
    (folder / f"{task}.yaml").write_text(TASK.format(name=task, data=data) + rest)
    (folder / "lengths.py").write_text(LENGTHS_CODE)
    tracker = EvaluationTracker(output_path=str(folder / "out.json"))
    results = lm_eval.simple_evaluate(
        model=Rote(),
        tasks=[task],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        log_samples=True,
        evaluation_tracker=tracker,
    )
    samples = results.pop("samples")
    results["config"]["model"] = "rote"
    tracker.save_results_aggregated(results=results, samples=samples)
    tracker.save_results_samples(task_name=task, samples=samples[task])
    keep(folder)


KEPT = ("results", "higher_is_better", "n-samples", "lm_eval_version", "date")


def keep(folder):
    """The samples as they are; of the results what lm-eval says of them, and nothing of us."""
    for path in folder.glob("samples_*.jsonl"):
        (HERE / path.name).write_bytes(path.read_bytes())
        path.unlink()
    for path in folder.glob("out_*.json"):
        told = json.loads(path.read_text())
        told = {key: told[key] for key in KEPT} | {"model_name": "rote"}
        name = path.name.replace("out_", "results_")
        (HERE / name).write_text(json.dumps(told, indent=1) + "\n")
        path.unlink()


if __name__ == "__main__":
    for old in (*HERE.glob("samples_*"), *HERE.glob("results_*")):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), "sums", SUMS, FILTERS)
        without_ids = [{"question": one["question"], "answer": one["answer"]} for one in SUMS]
        run(Path(folder), "plain", without_ids, LENGTHS)
