from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "haystack"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))["values"]
ARAGOG = [(k, size) for k in (1, 2, 3) for size in (64, 128, 256)]


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def check_scores(found, run):
    """All cells are those that haystack-ai 3.4.0 holds; NaN where it has NaN."""
    scores = found.scores.astype(object).where(found.scores.notna(), None)
    assert {metric: scores[metric].tolist() for metric in scores} == EXPECTED[run]


# -- what haystack-ai 3.4.0 wrote


@pytest.mark.parametrize("name", ["comparative.csv", "comparative.json", "runs.json"])
@pytest.mark.parametrize("run", ["bm25_v1", "hyde_v1"])
def test_two_runs_in_one_file_are_two_pipelines_with_their_scores(name, run):
    assert [one.pipeline for one in read(GOLDEN / name)] == ["bm25_v1", "hyde_v1"]
    check_scores(evaluation(GOLDEN / name, pipeline=run), run)


@pytest.mark.parametrize(
    "name",
    ["comparative_all_kept.csv", "comparative_questions_kept.csv", "tutorial_comparative.csv"],
)
@pytest.mark.parametrize("run", ["bm25_v1", "hyde_v1"])
def test_any_columns_may_be_kept_of_both_runs(name, run):
    assert recognise(Source(GOLDEN / name)) == "haystack"
    expected = {RENAMED.get(metric, metric): scores for metric, scores in EXPECTED[run].items()}
    found = evaluation(GOLDEN / name, pipeline=run)
    own = found.scores.astype(object).where(found.scores.notna(), None)
    for metric, scores in (expected if "tutorial" in name else EXPECTED[run]).items():
        assert own[metric].tolist() == scores
    assert found.scores.index.equals(evaluation(GOLDEN / "detailed.csv").scores.index)


RENAMED = {"document_recall": "doc_recall_single_hit", "document_mrr": "doc_mrr"}


def test_a_report_with_the_names_of_the_tutorials_is_haystack_s_not_ragas_s():
    assert recognise(Source(GOLDEN / "tutorial.csv")) == "haystack"
    found = evaluation(GOLDEN / "tutorial.csv")
    metrics = "exact_match doc_mrr doc_recall_single_hit sas doc_recall_multi_hit".split()
    assert list(found.scores) == metrics
    assert found.scores["doc_mrr"].tolist() == EXPECTED["bm25_v1"]["document_mrr"]
    assert found.details["reference"].tolist()[1] == "Rome"  # "answer" in the file
    assert found.details["predicted_answer"].tolist()[1] == "Rome, Italy"


# -- made up


@pytest.mark.parametrize(
    ("first", "second", "metrics"),
    [
        ("a", "b", ["context_relevance", "context_precision"]),
        ("run_1", "run_2", ["sas"]),
        ("bm25", "bm25_rerank", ["faithfulness", "sas"]),
        ("all-mpnet top_k=1", "all-mpnet top_k=2", ["faithfulness", "recall@5"]),
    ],
)
def test_names_of_runs_are_told_from_names_of_metrics(write, first, second, metrics):
    table = {"questions": ["Who?"], "contexts": [["x"]], "responses": ["He."]}
    table |= {f"{run}_{metric}": [0.5] for run in (first, second) for metric in metrics}
    found = read(write(json.dumps(table)))
    assert [one.pipeline for one in found] == [first, second]
    assert all(set(metrics) <= set(one.frame) for one in found)


SCORED = [  # names of two metrics with a common beginning or end
    ("doc_recall_single_hit", "doc_recall_multi_hit"),
    ("strict_exact_match", "lenient_exact_match"),
    ("token_level_f1", "char_level_f1"),
    ("macro_precision", "micro_precision"),
    ("chunk_recall@5", "page_recall@5"),
    ("hit_at_1", "hit_at_5"),
    ("answer_sas", "context_sas"),
]


@pytest.mark.parametrize("metrics", SCORED)
@pytest.mark.parametrize("others", [(), ("faithfulness",), ("predicted_latency",)])
def test_metrics_that_share_a_prefix_or_an_ending_are_of_one_run(write, metrics, others):
    scores = {name: [0.0, 1.0, 0.5] for name in (*metrics, *others)}
    table = {"questions": ["Who?", "When?", "Why?"], "predicted_answers": list("abc"), **scores}
    [found] = read(write(json.dumps(table)), reader="haystack")
    scored = score_table(found.frame, known=found.metrics, only=found.metric_columns).scores
    assert len(scored.columns) == len(metrics) + len(others)
    assert scored.mean().tolist() == [0.5] * len(scored.columns)  # by hand


@pytest.mark.parametrize("prefixes", [("harbour", "castle"), ("german", "english")])
def test_one_metric_of_two_prefixes_is_refused_with_both_readings(write, prefixes):
    first, second = prefixes
    path = write(f"questions,responses,{first}_sas,{second}_sas\nWho?,He.,0.5,0.25\n")
    with pytest.raises(ReaderError) as caught:
        read(path)
    message = str(caught.value)
    assert "of two runs, or two metrics of one run" in message
    assert f"runs='{first},{second}'" in message
    assert "reader='csv'" in message
    assert [run.pipeline for run in read(path, runs=f"{first},{second}")] == list(prefixes)
    assert [list(run.frame["sas"]) for run in read(path, runs=prefixes)] == [[0.5], [0.25]]
    [one] = read(path, runs="all")
    assert one.pipeline == "all"
    assert {f"{first}_sas", f"{second}_sas"} <= set(one.frame)


def test_a_known_metric_without_a_prefix_shows_that_it_is_one_run(write):
    path = write("questions,responses,alpha_sas,beta_sas,faithfulness\nWho?,He.,0.5,0.25,1\n")
    [found] = read(path)
    assert any("runs='alpha,beta'" in note for note in found.notes)
    runs = read(path, runs=("beta", "alpha"))
    assert [run.pipeline for run in runs] == ["beta", "alpha"]
    assert runs[0].frame[["sas", "faithfulness"]].to_numpy().tolist() == [[0.25, 1.0]]


@pytest.mark.parametrize("runs", ["a,b,c", ["a", "a"], "a,", []])
def test_runs_must_be_names(write, runs):
    path = write("questions,responses,bm25_sas,hyde_sas\nWho?,He.,0.5,0.25\n")
    if runs == []:  # as if omitted
        assert len(read(path, runs=runs)) == 2
    else:
        with pytest.raises(DataError, match="runs must be the names"):
            read(path, runs=runs)


# -- files that nobody on the project wrote


@pytest.mark.parametrize(("k", "size"), ARAGOG)
def test_means_are_those_of_haystack_s_own_report(real_data, k, size):
    folder = real_data("haystack_aragog")
    name = f"all-mpnet-base-v2__top_k={k}__chunk_size={size}.csv"
    assert recognise(Source(folder / f"detailed_{name}")) == "haystack"
    found = evaluation(folder / f"detailed_{name}")
    assert found.n_queries == 107
    with (folder / f"score_report_{name}").open(newline="") as file:
        report = {row["metrics"]: row["score"] for row in csv.DictReader(file)}
    for metric, score in report.items():
        if score:  # where one score is missing Haystack gives no mean at all
            assert found.scores[metric].mean() == pytest.approx(float(score), rel=1e-12)
        else:
            assert found.states[metric].tolist().count("failed") == 1


# -- damaged files


# -- the names of Haystack's evaluators


def test_in_its_own_dialect_the_hits_are_those_of_version_2(tmp_path):
    path = tmp_path / "run.csv"
    rows = ["questions,predicted_answers,single_hit", "Who?,He,1", "Where?,There,0", "Why?,So,1"]
    path.write_text("\n".join(rows) + "\n")
    plain = evaluation(path)
    theirs = evaluation(path, dialect="haystack")
    assert plain.metrics["single_hit"].known_as == "single_hit"
    assert theirs.metrics["single_hit"].known_as == "document_recall_single_hit"
    assert theirs.scores.equals(plain.scores)
    assert "dialect:haystack" in theirs.evaluation_report().signature
    assert theirs.find_thresholds().settings["percentile_method"] == "exclusive"
    assert any("dialect: names and percentiles" in note for note in theirs.notes)
