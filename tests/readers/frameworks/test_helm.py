"""Files of HELM: a run that crfm-helm 0.5.16 wrote, and entries by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

RUN = Path(__file__).parents[2] / "golden" / "helm" / "run"
EXPECTED = json.loads((RUN.parent / "expected.json").read_text(encoding="utf-8"))
STATS = RUN / "per_instance_stats.json"


def entry(query, trial=0, perturbation=None, **means):
    stats = [
        {"name": {"name": name, "split": "test"}, "count": 0 if mean is None else 1, "mean": mean}
        for name, mean in means.items()
    ]
    result = {"instance_id": query, "train_trial_index": trial, "stats": stats}
    return result if perturbation is None else {**result, "perturbation": perturbation}


def written(write, *entries):
    return write(json.dumps(entries), "per_instance_stats.json")


@pytest.mark.parametrize(("is_perturbed", "position"), [(False, 0), (True, 1)])
def test_means_by_split_are_those_that_helm_gives(is_perturbed, position):
    evaluation = list(read_scores(RUN).values())[position]
    by_split = evaluation.scores.groupby(evaluation.details["split"]).mean()
    checked = [row for row in EXPECTED["means"] if row[2] is is_perturbed]
    assert len(checked) == 6
    for name, split, _, mean in checked:
        assert by_split.loc[split, name] == pytest.approx(mean, abs=1e-15)


def test_a_perturbation_is_a_pipeline_of_the_same_queries():
    original, lowercase = read(STATS)
    assert original.pipeline == "small:model=simple_model1"
    assert lowercase.pipeline == "small:model=simple_model1, lowercase"
    assert original.frame["query_id"].tolist() == lowercase.frame["query_id"].tolist()
    assert lowercase.frame["question"].tolist()[0] == "say jane austen"
    assert original.config["model"] == "simple/model1"


def test_counts_are_details_and_the_runtime_is_the_latency():
    [file, _] = read(STATS)
    assert file.metric_columns == (
        *("latency_ms", "exact_match", "quasi_exact_match", "prefix_exact_match"),
    )
    first = json.loads(STATS.read_text(encoding="utf-8"))[0]["stats"]
    raw = {stat["name"]["name"]: stat.get("mean") for stat in first}
    assert file.frame["latency_ms"].tolist()[0] == raw["inference_runtime"] * 1000
    assert file.frame["num_prompt_tokens"].tolist()[0] == raw["num_prompt_tokens"]


@pytest.mark.parametrize("source_of_texts", ["summarised", "not yet summarised"])
def test_texts_come_from_the_files_beside(tmp_path, source_of_texts):
    names = ["display_predictions.json", "instances.json"]
    names = names if source_of_texts == "summarised" else ["scenario_state.json"]
    for name in ("per_instance_stats.json", *names):
        shutil.copy(RUN / name, tmp_path)
    frame = read(tmp_path / "per_instance_stats.json")[0].frame
    assert frame["question"].tolist()[1] == "The capital of Italy is Rome"
    assert frame["reference"].tolist() == ["Jane Austen", "Rome", "James Joyce", "1.1 million"]
    assert frame["answer"].tolist() == ["Austen", "Rome", "Ulysses?", "people"]


def test_display_predictions_hold_scores_and_answers(write):
    rows = [
        {
            "instance_id": f"id{n}",
            "train_trial_index": 0,
            "predicted_text": text,
            "stats": {"exact_match": score, "num_output_tokens": 2},
        }
        for n, (text, score) in enumerate([("Rome", 1.0), ("Milan", 0.0)])
    ]
    path = write(json.dumps(rows))
    assert recognise(Source(path)) == "helm"
    [file] = read(path)
    assert file.metric_columns == ("exact_match",)
    assert file.frame["exact_match"].tolist() == [1, 0]
    assert file.frame["answer"].tolist() == ["Rome", "Milan"]


def test_trials_are_averaged_and_an_empty_statistic_has_failed(write):
    path = written(
        write, entry("a", 0, f1_score=1), entry("a", 1, f1_score=0.5), entry("b", f1_score=None)
    )
    frame = read(path)[0].frame.set_index("query_id")
    assert frame["f1_score"].tolist()[0] == 0.75
    assert frame["f1_score_state"].tolist() == ["scored", "failed"]
    assert frame["f1_score_reason"].tolist()[1] == "HELM computed no value (count 0)"


def test_entries_of_one_instance_are_joined(write):
    path = written(write, entry("a", exact_match=1), entry("a", toxic_frac=0.25))
    [evaluation] = read_scores(path).values()
    assert evaluation.scores.to_numpy().tolist() == [[1, 0.25]]
    assert not evaluation.metrics["toxic_frac"].greater_is_better


def test_the_probability_of_an_answer_is_a_metric_only_where_it_is_alone(write):
    [alone] = read(written(write, entry("a", logprob=-1.5)))
    assert alone.metric_columns == ("logprob",)
    [beside] = read(written(write, entry("a", logprob=-1.5, exact_match=1)))
    assert beside.metric_columns == ("exact_match",)
    assert beside.frame["logprob"].tolist() == [-1.5]


def test_a_file_of_counts_is_refused(write):
    with pytest.raises(ReaderError, match=r"All statistics of a run are in per_instance_stats"):
        read(written(write, entry("a", num_references=1)))


def test_an_entry_of_another_shape_is_named(write):
    with pytest.raises(ReaderError, match="entry 2 is not a statistic of an instance: no 'stats'"):
        read(write(json.dumps([entry("a", f1=1), {"instance_id": "b", "train_trial_index": 0}])))
