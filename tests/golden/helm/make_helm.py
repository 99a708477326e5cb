"""Run a small scenario with HELM's own runner, model and metrics, offline.

    python tests/golden/helm/make_helm.py      # pip install crfm-helm==0.5.16

Empty modules stand for packages that this scenario does not use. The model ``simple/model1`` is
HELM's own: it answers with the last word of the prompt. The scenario and its texts are made up. The
means in ``expected.json`` are those of ``stats.json``.
"""

import json
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

for name in ("spacy", "spacy.cli", "langdetect", "bert_score", "calibration"):
    sys.modules.setdefault(name, MagicMock())

from helm.benchmark.adaptation.adapter_spec import AdapterSpec  # noqa: E402
from helm.benchmark.augmentations.data_augmenter import DataAugmenterSpec  # noqa: E402
from helm.benchmark.augmentations.perturbation import PerturbationSpec  # noqa: E402
from helm.benchmark.config_registry import register_builtin_configs_from_helm_package  # noqa: E402
from helm.benchmark.executor import ExecutionSpec  # noqa: E402
from helm.benchmark.metrics.metric import MetricSpec  # noqa: E402
from helm.benchmark.presentation.run_display import write_run_display_json  # noqa: E402
from helm.benchmark.presentation.schema import Schema  # noqa: E402
from helm.benchmark.run_spec import RunSpec  # noqa: E402
from helm.benchmark.runner import Runner  # noqa: E402
from helm.benchmark.scenarios.scenario import (  # noqa: E402
    CORRECT_TAG,
    TEST_SPLIT,
    VALID_SPLIT,
    Input,
    Instance,
    Output,
    Reference,
    Scenario,
    ScenarioSpec,
)

HERE = Path(__file__).parent
NAMES = ["exact_match", "quasi_exact_match", "prefix_exact_match"]
QUESTIONS = [
    ("Say Jane Austen", "Jane Austen", TEST_SPLIT),
    ("The capital of Italy is Rome", "Rome", TEST_SPLIT),
    ("Who wrote Ulysses?", "James Joyce", TEST_SPLIT),
    ("Köln has 1.1 million people", "1.1 million", VALID_SPLIT),
]


class Small(Scenario):
    name = "small"
    description = "Made up"
    tags = ()

    def get_instances(self, output_path):
        return [
            Instance(Input(text=text), [Reference(Output(text=right), [CORRECT_TAG])], split=split)
            for text, right, split in QUESTIONS
        ]


if __name__ == "__main__":
    register_builtin_configs_from_helm_package()
    spec = RunSpec(
        name="small:model=simple_model1",
        scenario_spec=ScenarioSpec(class_name="__main__.Small"),
        adapter_spec=AdapterSpec(
            method="generation",
            model="simple/model1",
            model_deployment="simple/model1",
            max_train_instances=0,
            max_tokens=20,
            num_outputs=1,
            input_suffix="",
            output_prefix="",
        ),
        metric_specs=[
            MetricSpec(
                class_name="helm.benchmark.metrics.basic_metrics.BasicGenerationMetric",
                args={"names": NAMES},
            ),
            MetricSpec(
                class_name="helm.benchmark.metrics.basic_metrics.BasicReferenceMetric", args={}
            ),
            MetricSpec(
                class_name="helm.benchmark.metrics.basic_metrics.InstancesPerSplitMetric", args={}
            ),
        ],
        groups=[],
        data_augmenter_spec=DataAugmenterSpec(
            perturbation_specs=[
                PerturbationSpec(
                    class_name="helm.benchmark.augmentations.lowercase_perturbation.LowerCasePerturbation",
                    args={},
                )
            ],
            should_augment_eval_instances=True,
            should_include_original_eval=True,
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        execution = ExecutionSpec(url=None, auth="", local_path=f"{folder}/local", parallelism=1)
        runner = Runner(
            execution_spec=execution,
            output_path=folder,
            suite="small",
            skip_instances=False,
            cache_instances=False,
            cache_instances_only=False,
            skip_completed_runs=False,
            exit_on_error=True,
        )
        runner.run_one(spec)
        [path] = Path(folder).glob("runs/small/*/per_instance_stats.json")
        schema = Schema(metrics=[], perturbations=[], metric_groups=[], run_groups=[], adapter=[])
        write_run_display_json(str(path.parent), spec, schema, skip_completed=False)
        target = HERE / "run"
        target.mkdir(exist_ok=True)
        names = ("per_instance_stats", "display_predictions", "instances", "run_spec")
        for name in (*names, "scenario_state"):
            shutil.copy(path.parent / f"{name}.json", target)
        stats = json.loads((path.parent / "stats.json").read_text(encoding="utf-8"))
    means = [
        [stat["name"]["name"], stat["name"]["split"], "perturbation" in stat["name"], stat["mean"]]
        for stat in stats
        if stat["name"]["name"] in NAMES
        # HELM adds the worst case over perturbations, and the original of perturbed instances.
        and stat["name"].get("perturbation", {}).get("computed_on") in (None, "perturbed")
    ]
    expected = {"tool": "crfm-helm", "version": version("crfm-helm"), "means": means}
    text = json.dumps(expected, indent=1)
    (HERE / "expected.json").write_text(text + "\n", encoding="utf-8")
