"""Harnesses of models, and tools of retrieval: what each format alone does."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import mean

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.readers.ranking_kinds import RANKINGS
from rageval_report.scores import score_table

# -- helm: files of HELM: a run that crfm-helm 0.5.16 wrote, and entries by hand

RUN = Path(__file__).parents[2] / "golden" / "helm" / "run"
HELM_EXPECTED = json.loads((RUN.parent / "expected.json").read_text(encoding="utf-8"))


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
    checked = [row for row in HELM_EXPECTED["means"] if row[2] is is_perturbed]
    assert len(checked) == 6
    for name, split, _, average in checked:
        assert by_split.loc[split, name] == pytest.approx(average, abs=1e-15)


def test_trials_are_averaged_and_an_empty_statistic_has_failed(write):
    path = written(
        write, entry("a", 0, f1_score=1), entry("a", 1, f1_score=0.5), entry("b", f1_score=None)
    )
    frame = read(path)[0].frame.set_index("query_id")
    assert frame["f1_score"].tolist()[0] == 0.75
    assert frame["f1_score_state"].tolist() == ["scored", "failed"]
    assert frame["f1_score_reason"].tolist()[1] == "HELM computed no value (count 0)"


def test_the_probability_of_an_answer_is_a_metric_only_where_it_is_alone(write):
    [alone] = read(written(write, entry("a", logprob=-1.5)))
    assert alone.metric_columns == ("logprob",)
    [beside] = read(written(write, entry("a", logprob=-1.5, exact_match=1)))
    assert beside.metric_columns == ("exact_match",)
    assert beside.frame["logprob"].tolist() == [-1.5]


# -- lm_eval: files of HELM: a run that crfm-helm 0.5.16 wrote, and entries by hand

LM_EVAL_GOLDEN = Path(__file__).parents[2] / "golden" / "lm_eval"
[SUMS] = LM_EVAL_GOLDEN.glob("samples_sums_*.jsonl")
[PLAIN] = LM_EVAL_GOLDEN.glob("samples_plain_*.jsonl")


def results_of(path):
    time = path.stem.rpartition("_")[2]
    return json.loads((path.parent / f"results_{time}.json").read_text(encoding="utf-8"))


def line(doc_id, *, doc=None, filtered="none", metrics=None, **scores):
    return {
        "doc_id": doc_id,
        "doc": {"question": f"Question {doc_id}?"} if doc is None else doc,
        "target": "yes",
        "arguments": {"gen_args_0": {"arg_0": f"Q: {doc_id}"}},
        "resps": [["no"]],
        "filtered_resps": ["no"],
        "filter": filtered,
        "metrics": list(scores) if metrics is None else metrics,
        "doc_hash": f"hash{doc_id}",
        **scores,
    }


def lines(*rows):
    return "\n".join(map(json.dumps, rows)) + "\n"


@pytest.fixture
def read_lines(read_text):
    return lambda *rows: read_text(lines(*rows))


# -- what lm-eval 0.4.13 wrote


def test_means_are_those_of_the_results_file_for_each_filter():
    [found] = read(SUMS)
    expected = results_of(SUMS)["results"]["sums"]
    means = score_table(found.frame, known=found.metrics, only=found.metric_columns).scores.mean()
    assert means.to_dict() == {
        "exact_match(strict)": expected["exact_match,strict"],
        "exact_match(flexible)": expected["exact_match,flexible"],
    }


def test_the_direction_and_the_names_stand_in_the_results_file():
    [found] = read(PLAIN)
    assert found.pipeline == "plain:rote"
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    told = results_of(PLAIN)["higher_is_better"]["plain"]
    assert told == {"exact_match": True, "n_words": False}
    assert {name: one.greater_is_better for name, one in table.metrics.items()} == told
    assert table.scores.mean().to_dict() == {
        name: results_of(PLAIN)["results"]["plain"][f"{name},none"] for name in told
    }


# -- public samples


# -- the results beside the samples


def test_fewer_samples_than_were_evaluated_are_told(write):
    told = {"higher_is_better": {"toy": {"acc": True}}, "results": {}}
    told["n-samples"] = {"toy": {"effective": 5}}
    write(json.dumps(told), "results_1.json")
    [found] = read(write(lines(line(0, acc=1.0)), "samples_toy.jsonl"))
    assert any(
        "contains 1 documents; the results in the same folder say that 5" in one
        for one in found.notes
    )


# -- shapes


def test_a_document_twice_is_two_runs_in_one_file(read_lines):
    with pytest.raises(ReaderError, match="doc_id 0 appears twice with the filter 'none'"):
        read_lines(line(0, acc=1), line(0, acc=0))


# -- mlflow: files of HELM: a run that crfm-helm 0.5.16 wrote, and entries by hand

MLFLOW_GOLDEN = Path(__file__).parents[2] / "golden" / "mlflow"
MLFLOW_EXPECTED = json.loads((MLFLOW_GOLDEN / "expected.json").read_text(encoding="utf-8"))
TABLE = MLFLOW_GOLDEN / "eval_results_table.json"
FRAMES = (MLFLOW_GOLDEN / "result_df.csv", MLFLOW_GOLDEN / "result_df.json")


@pytest.fixture
def read_frame(read_text):
    return lambda columns: read_text(pd.DataFrame(columns).to_csv(index=False))


def means_of(found):
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    return table.scores.mean()


# -- what MLflow 3.17.2 wrote


def test_means_of_the_table_are_those_that_mlflow_reports():
    means = means_of(read(TABLE)[0])
    assert means.to_dict() == {
        "agree": MLFLOW_EXPECTED["table"]["agree/v1/mean"],
        "faithfulness": MLFLOW_EXPECTED["table"]["faithfulness/v1/mean"],
        "length": MLFLOW_EXPECTED["table"]["length/mean"],
    }


@pytest.mark.parametrize("path", FRAMES)
def test_means_of_the_frame_are_those_that_mlflow_reports(path):
    means = means_of(read(path)[0])
    assert means[["exact", "verdict", "judge"]].to_dict() == {
        name: MLFLOW_EXPECTED["frame"][f"{name}/mean"] for name in ("exact", "verdict", "judge")
    }


@pytest.mark.parametrize("path", FRAMES)
def test_ids_are_the_tag_and_texts_labels_and_expectations_details(path):
    [found] = read(path)
    frame = found.frame.set_index("query_id")
    assert frame.index.tolist() == ["q1", "q2", "q3", "q4"]
    assert frame["question"].tolist() == [f"Question {n}?" for n in range(1, 5)]
    assert frame["reference"].tolist() == ["a1", "a2", "a2", "a2"]
    assert frame["tone"].tolist() == ["formal", "plain", "plain", "plain"]
    assert frame["topic"].tolist() == ["x", "x", "y", "y"]
    assert "query ids are taken from the tag 'query_id'" in found.notes
    assert "kept as details, because they are labels and not scores: 'tone'" in found.notes


# -- tables of metrics


def test_marks_of_mlflow_s_judges_are_from_1_to_5_even_where_all_are_1(read_frame):
    judged = {"faithfulness/v1/score": [1, 1], "faithfulness/v1/justification": ["no", "no"]}
    found = read_frame({"inputs": ["a", "b"], **judged})
    assert found.metrics == {"faithfulness": {"kind": "ordinal", "bounds": (1.0, 5.0)}}


# -- frames of scorers


def scored(**columns):
    return {"trace_id": ["t1", "t2"], "m/value": [1.0, 0.5], **columns}


def test_ids_are_never_the_traces_which_are_new_in_each_run(read_frame):
    found = read_frame(scored(request=["{'question': 'a?'}", "{'question': 'b?'}"]))
    assert "query_id" not in found.frame
    table = score_table(found.frame, only=found.metric_columns)
    assert all(one.startswith("q-") for one in table.scores.index)


# -- mteb: predictions and results of MTEB, written by hand after mteb 2.26.24

MTEB_FILES = Path(__file__).parents[2] / "golden" / "mteb"
PREDICTIONS, QRELS = MTEB_FILES / "Toy_predictions.json", MTEB_FILES / "qrels.tsv"
META = {"model_name": "toy/bm25", "revision": "1"}


def test_predictions_are_scored_against_judgments():
    [evaluation] = read_scores(PREDICTIONS, qrels=QRELS, metrics=["mrr", "ndcg@10"]).values()
    assert evaluation.name == "toy/bm25"
    # The only relevant document is second, first, and not retrieved.
    assert evaluation.scores["mrr"].tolist() == [0.5, 1, 0]
    assert evaluation.scores["ndcg@10"].tolist() == pytest.approx([1 / math.log2(3), 1, 0])


def test_each_subset_and_split_is_a_pipeline(write):
    ranking = {"q1": {"d1": 0.9, "d2": 0.5}}
    document = {"mteb_model_meta": META, "en": {"test": ranking}, "de": {"test": ranking}}
    qrels = {"q1": {"d2": 1}}
    files = read(write(json.dumps(document)), qrels=qrels, metrics="mrr")
    assert [file.pipeline for file in files] == ["toy/bm25, en, test", "toy/bm25, de, test"]
    assert [file.frame["mrr"].tolist() for file in files] == [[0.5], [0.5]]


@pytest.mark.parametrize("score", ["high", None, 10**400])
def test_a_document_whose_score_is_no_number_is_named_with_its_query(write, score):
    document = {"mteb_model_meta": META, "default": {"test": {"q1": {"d1": score}}}}
    with pytest.raises(ReaderError, match="the documents of the query 'q1' in 'default', 'test'"):
        read(write(json.dumps(document)), qrels={"q1": {"d1": 1}})


# -- openai_evals: predictions and results of MTEB, written by hand after mteb 2.26.24

OPENAI_EVALS_GOLDEN = Path(__file__).parents[2] / "golden" / "openai_evals"
OPENAI_EVALS_EXPECTED = json.loads(
    (OPENAI_EVALS_GOLDEN / "expected.json").read_text(encoding="utf-8")
)


def spec(run="r", model="gpt"):
    return {"spec": {"completion_fns": [model], "eval_name": "toy.dev", "run_id": run}}


def event(sample_id, kind, run="r", **data):
    told = {"run_id": run, "event_id": 0, "sample_id": sample_id, "type": kind, "data": data}
    return told | {"created_by": "", "created_at": ""}


def matched(sample_id, correct, run="r"):
    return event(sample_id, "match", run, correct=correct, expected="b", picked="b")


def report(run="r", **figures):
    return {"final_report": figures, "run_id": run}


@pytest.fixture
def read_events(write):
    return lambda *events: read(write("\n".join(map(json.dumps, events)) + "\n"))


# -- what evals 3.0.1.post1 wrote


@pytest.mark.parametrize(("name", "metric"), [("match", "match"), ("graded", "score")])
def test_scores_are_those_that_the_recorder_holds_cell_by_cell(name, metric):
    path = OPENAI_EVALS_GOLDEN / f"{name}.jsonl"
    assert recognise(Source(path)) == "openai_evals"
    [found] = read(path)
    ours = found.frame.set_index("query_id")[metric]
    theirs = {
        key: one for key, one in OPENAI_EVALS_EXPECTED[name]["scores"].items() if one is not None
    }
    assert ours.dropna().to_dict() == theirs
    assert found.pipeline == f"sums.dev.{name}:sums/canned"


# -- events by hand


def test_several_scores_of_a_sample_are_averaged(read_events):
    [found] = read_events(spec(), matched("a", True), matched("a", False), matched("b", True))
    assert found.frame[["query_id", "match", "n_repeats"]].to_numpy().tolist() == [
        ["a", 0.5, 2],
        ["b", 1.0, 1],
    ]


def test_a_sample_that_was_only_sampled_is_failed_not_wrong(read_events):
    sampled = event("b", "sampling", prompt="q?", sampled="x")
    [found] = read_events(spec(), matched("a", True), sampled, report(accuracy=1.0))
    assert found.frame["match"].isna().tolist() == [False, True]
    assert found.frame["match_reason"].tolist()[1] == "sampled, but never scored"


# -- trec_eval: trec_eval's own test output, results of pytrec_eval 0.5.11 and means of BEIR 2.2.0

TREC_EVAL_GOLDEN = Path(__file__).parents[2] / "golden"
DUMP = json.loads((TREC_EVAL_GOLDEN / "trec_eval" / "pytrec_eval.json").read_text())
OUTPUT = """num_ret               \t301\t500
map                   \t301\t0.0324
P_5                   \t301\t0.2000
relstring             \t301\t'0001 10'
map                   \t302\t0.5000
num_q                 \tall\t2
map                   \tall\t0.2662
"""


@pytest.fixture
def read_output(write):
    def read_output_(text):
        [found] = read(write(text, "bm25.txt"), reader="trec_eval")
        return found

    return read_output_


# -- trec_eval -q


def test_two_outputs_in_one_file_are_refused_with_the_line(read_output):
    with pytest.raises(ReaderError, match="line 8: 'map' of query '301' appears twice"):
        read_output(OUTPUT + "map\t301\t0.1\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("map\t303\n", "line 8: expected a measure, a query and a value; got"),
        ("map\t303\thigh\n", "line 8: the value of 'map' must be a number; got 'high'"),
    ],
)
def test_a_wrong_line_is_named(read_output, line, told):
    with pytest.raises(ReaderError, match=told):
        read_output(OUTPUT + line)


NUMBERS = st.floats(0, 1).map(lambda number: round(number, 4))
MEASURES = st.sampled_from(["map", "P_5", "ndcg_cut_10", "recip_rank"])
QUERIES = st.text("abc019-_", min_size=1, max_size=6).filter(lambda text: text != "all")


@settings(max_examples=60)
@given(st.dictionaries(st.tuples(QUERIES, MEASURES), NUMBERS, min_size=1))
def test_whatever_is_printed_is_read_back(tmp_path_factory, cells):
    lines = [f"{measure:22}\t{query}\t{value:6.4f}\n" for (query, measure), value in cells.items()]
    path = tmp_path_factory.mktemp("out") / "out"
    path.write_text("".join(lines))
    [found] = read(path, reader="trec_eval")
    frame = found.frame.set_index("query_id")
    for (query, measure), value in cells.items():
        assert frame.loc[query, measure] == value
    assert frame.notna().sum().sum() == len(cells)


# -- pytrec_eval


def test_values_are_those_of_pytrec_eval_cell_by_cell():
    [found] = read(TREC_EVAL_GOLDEN / "trec_eval/pytrec_eval.json", reader="pytrec_eval")
    frame = found.frame.set_index("query_id")
    assert {query: frame.loc[query].to_dict() for query in DUMP} == DUMP
    assert "num_rel_ret" not in found.metric_columns
    assert "ndcg_cut_10" in found.metric_columns


# -- runs, judgments, means


# -- verifiers: rollouts that verifiers 0.1.14 scored and wrote, and older ones by hand

VERIFIERS_FILES = Path(__file__).parents[2] / "golden" / "verifiers"
VERIFIERS_EXPECTED = json.loads((VERIFIERS_FILES / "expected.json").read_text(encoding="utf-8"))


def rollout(example=0, reward=1.0, **fields):
    messages = [{"role": "assistant", "content": "so"}]
    return {
        "example_id": example,
        "prompt": "why?",
        "completion": messages,
        "reward": reward,
    } | fields


@pytest.fixture
def read_rollouts(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


def test_scores_are_means_of_the_rollouts_without_an_error():
    path = VERIFIERS_FILES / "toy"
    assert recognise(Source(path / "results.jsonl")) == "verifiers"
    [evaluation] = read_scores(path / "results.jsonl").values()
    assert list(evaluation.scores) == ["reward", "exact", "contains"]
    for name in evaluation.scores:
        expected = [mean(scores) for scores in VERIFIERS_EXPECTED["scores"][name].values()]
        assert evaluation.scores[name].tolist() == pytest.approx(expected, abs=1e-15)
    assert evaluation.details["n_repeats"].tolist() == [3, 3, 3]
    assert evaluation.details["question"].tolist()[1] == "Capital of Italy?"


def test_what_the_environment_counts_is_a_detail(read_rollouts):
    counts = {"num_turns": 3.0, "total_tool_calls": 2.0, "search_calls": 1.0}
    [file] = read_rollouts(rollout(metrics={"exact": 1.0, **counts}), rollout(1, metrics={}))
    assert file.metric_columns == ("reward", "exact")
    assert file.frame["num_turns"].tolist()[0] == 3
    assert file.frame["exact_state"].tolist() == ["scored", "failed"]


@pytest.mark.parametrize(
    "error", ["ValueError('broken')", {"error": "E", "error_chain_repr": "E()"}]
)
def test_the_0_of_a_rollout_that_ended_in_an_error_is_not_a_score(read_rollouts, error):
    [file] = read_rollouts(rollout(), rollout(1, 0.0, error=error))
    assert file.frame["reward_state"].tolist() == ["scored", "failed"]
    assert file.frame["reward_reason"].tolist()[1] in ("ValueError('broken')", "E()")


# -- verifiers_traces: episodes that verifiers 0.4.0 wrote, and changes of them by hand

FOLDER = Path(__file__).parents[2] / "golden" / "verifiers" / "traces"
VERIFIERS_TRACES_EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
LINES = (FOLDER / "traces.jsonl").read_text(encoding="utf-8").splitlines()
EPISODES = [json.loads(line) for line in LINES]


@pytest.fixture
def read_episodes(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


def test_scores_are_means_of_the_traces_that_are_ok():
    assert recognise(Source(FOLDER / "traces.jsonl")) == "verifiers_traces"
    [evaluation] = read_scores(FOLDER / "traces.jsonl").values()
    assert list(evaluation.scores) == ["reward", "exact", "contains", "brevity"]
    for name, scores in VERIFIERS_TRACES_EXPECTED["scores"].items():
        # verifiers sums the weighted rewards itself.
        assert evaluation.scores[name].tolist() == pytest.approx([*map(mean, scores)], abs=1e-15)
    assert evaluation.scores.index.tolist() == ["0", "1", "2"]
    assert evaluation.details["n_repeats"].tolist() == [2, 2, 3]
    assert evaluation.details["question"].tolist()[1] == "Capital of Italy?"
    assert evaluation.details["reference"].tolist()[1] == "Rome"
    assert evaluation.details["answer"].tolist()[0] == "Jane Austen"


def test_each_agent_is_a_pipeline(read_episodes):
    episode = json.loads(json.dumps(EPISODES[0]))
    judge = json.loads(json.dumps(episode["traces"][0]))
    judge["agent"]["name"] = "judge"
    judge["rewards"] = {"agrees": {"score": 0.5, "weight": 2.0}}
    episode["traces"].append(judge)
    files = {file.pipeline: file.frame for file in read_episodes(episode)}
    assert list(files) == ["toy:gpt-none:agent", "toy:gpt-none:judge"]
    assert files["toy:gpt-none:judge"][["reward", "agrees"]].values.tolist() == [[1.0, 0.5]]
    assert files["toy:gpt-none:agent"]["reward"].tolist() == [1.5]


def test_an_entry_of_another_shape_is_named(write):
    with pytest.raises(ReaderError, match="entry 2 is not a statistic of an instance: no 'stats'"):
        read(write(json.dumps([entry("a", f1=1), {"instance_id": "b", "train_trial_index": 0}])))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("q1 Q0 d1 1 0.9 bm25\nq1 Q0 d2 2 0.5 bm25\n", "a TREC run"),
        ("q1\tQ0\td1\t1\t0.9\tbm25 and more words\n", "a TREC run"),
        ("q1 0 d1 2\nq1 0 d2 0\n", "TREC judgments"),
        ("# a comment\nq1 Q0 d1 -1\n", "TREC judgments"),
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "a table of judgments"),
        ("query_id,doc_id,relevance\nq1,d1,1\n", "a table of judgments"),
        ("qid,docno,score,rank\nq1,d1,0.5,1\n", "a table of rankings"),
        ('{"q1": {"d1": 0.5}, "q2": {"d7": 0.25}}', "rankings or judgments as JSON"),
    ],
)
def test_rankings_are_known_and_need_judgments(write, text, what):
    path = write(text)
    assert recognise(Source(path)) == "rankings"
    with pytest.raises(ReaderError) as caught:
        read(path, reader=RANKINGS)
    message = str(caught.value)
    assert f"this looks like {what}, without scores of queries" in message
    if "means" not in what:
        assert 'metrics=["ndcg@10"])' in message
        assert "on the command line" in message
        assert "--qrels QRELS --metric ndcg@10" in message
