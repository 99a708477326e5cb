"""Every file of the public data: what it holds, worked out a second time with plain modules.

Each reading below opens the file with csv, json, zipfile or pyarrow alone and says which pipelines
and metrics there are and every score. The same must come out of `read_scores`, so a rank, a count,
an id, a length, a time, a threshold or a flag can neither become a metric nor push one out.
"""

from __future__ import annotations

import csv
import json
import math
import re
import zipfile
from collections import defaultdict
from fnmatch import fnmatchcase
from statistics import fmean

import pytest

from rageval_report import inspect, read_records, read_scores
from rageval_report.errors import ReaderError

# An unscored cell is the word for why it has no score.
FAILED, MISSING = "failed", "missing"


# -- readings: pipeline to metric to one score (or a word) per query


def number(cell, blank=MISSING):
    return blank if cell in ("", None) or cell != cell else float(cell)


def columns(rows, names, blank=MISSING):
    return {name: [number(row[name], blank) for row in rows] for name in names}


def csv_rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def parquet_columns(path, names):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path)
    return {name: [float(cell) for cell in table.column(name).to_pylist()] for name in names}


def autorag_module(path):
    """One module's own file, or the summary beside it; the module's name is in the summary."""
    [row] = csv_rows(path.parent / "summary.csv")
    kinds = ("bleu", "meteor", "rouge") if "bleu" in row else ("f1", "recall", "precision")
    prefix = "" if "bleu" in row else "retrieval_"
    names = [prefix + kind for kind in kinds]
    return {row["module_name"]: parquet_columns(path.parent / "0.parquet", names)}


_STAGES = {  # each node keeps the scores of those before it
    "query_expansion": ["query_expansion_retrieval_"],
    "lexical_retrieval": ["query_expansion_retrieval_", "retrieval_"],
    "semantic_retrieval": ["query_expansion_retrieval_", "retrieval_"],
    "hybrid_retrieval": ["query_expansion_retrieval_", "retrieval_"],
    "passage_reranker": [
        "query_expansion_retrieval_",
        "retrieval_",
        "passage_reranker_retrieval_",
    ],
    "generator": ["query_expansion_retrieval_", "retrieval_", "passage_reranker_retrieval_"],
}


def autorag_best(path):
    [row] = [one for one in csv_rows(path.parent / "summary.csv") if one["is_best"] == "True"]
    stages = _STAGES[path.parent.name]
    names = [stage + kind for stage in stages for kind in ("f1", "recall", "precision")]
    if path.parent.name == "generator":
        words = ("bleu", "meteor", "rouge")
        names += [f"prompt_maker_{word}" for word in words] + list(words)
    return {row["module_name"]: parquet_columns(path, names)}


def cognee(path):
    scores = defaultdict(list)
    for row in json.loads(path.read_text("utf-8")):
        for metric, cell in row["metrics"].items():
            scores[metric.lower()].append(number(cell["score"]))
    return {path.stem: dict(scores)}


_DEEPEVAL = {
    "Exact Match": "exact_match",
    "AnswerLLMJudgeMetric": "answer_llm_judge_metric",
    "Answer Relevancy": "answer_relevancy",
    "Contextual Recall": "contextual_recall",
    "Faithfulness": "faithfulness",
    "Tool Correctness": "tool_correctness",
    "ToolUsageMetric": "tool_usage_metric",
    "Argument Correctness": "argument_correctness",
    "FactsSimilarityMetric": "facts_similarity_metric",
}


def deepeval(path):
    document = json.loads(path.read_text("utf-8"))
    if "testRunData" in document:
        cases = [case["metricsData"] for case in document["testRunData"]["testCases"]]
    else:
        found = document["test_cases_lookup_map"].values()
        cases = [[part["metric_data"] for part in case["cached_metrics_data"]] for case in found]
    scores = defaultdict(list)
    for case in cases:
        for part in case:
            scores[_DEEPEVAL[part["name"]]].append(number(part["score"]))
    return {path.stem: dict(scores)}


def haystack(path):
    names = ("context_relevance", "faithfulness", "sas")
    return {path.stem: columns(csv_rows(path), names, blank=FAILED)}


def haystack_comparison(path):
    rows = csv_rows(path)
    names = ("answer_faithfulness", "context_relevance", "sas")
    return {
        run: {name: [float(row[f"{run}_metric_{name}"]) for row in rows] for name in names}
        for run in ("baseline_rag", "hyde_rag")
    }


def inspect_log(path):
    if path.suffix == ".json":
        document = json.loads(path.read_text("utf-8"))
        head, samples = document["eval"], document["samples"]
    else:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read("header.json"))["eval"]
            samples = [
                json.loads(archive.read(name))
                for name in archive.namelist()
                if name.startswith("samples/")
            ]
    letters = {"C": 1.0, "I": 0.0}
    [usages] = [[sample["model_usage"][head["model"]] for sample in samples]]
    scores = {
        "match": [
            letters[sample["scores"]["match"]["value"]] if sample["scores"] else MISSING
            for sample in samples
        ],
        "prompt_tokens": [float(usage["input_tokens"]) for usage in usages],
        "completion_tokens": [float(usage["output_tokens"]) for usage in usages],
    }
    if all("working_time" in sample for sample in samples):
        scores["latency_ms"] = [1000 * sample["working_time"] for sample in samples]
    return {f"{head['task']}:{head['model']}": scores}


def lm_eval(path):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    names = rows[0]["metrics"]
    [results] = path.parent.glob("truthfulqa_gen_*.json")
    model = json.loads(results.read_text("utf-8"))["config"]["model_args"]
    model = re.search(r"pretrained=([^,]+)", str(model))[1]
    return {
        f"truthfulqa_gen:{model}": {
            name.lower(): [float(row[name]) for row in rows] for name in names
        }
    }


def mtrag(path):
    document = json.loads(path.read_text("utf-8"))
    # One Bert-Rec is 1.0000002: rounding, which is moved to the bound of 1.
    highest = {one["name"]: one["range"][1] for one in document["metrics"] if "range" in one}
    names = [metric["name"] for metric in document["metrics"]]
    scores = {model["model_id"]: defaultdict(list) for model in document["models"]}
    for row in document["evaluations"]:
        for name in names:
            values = [float(mark["value"]) for mark in row["annotations"][name].values()]
            mean = min(fmean(values), highest.get(name, math.inf))
            scores[row["model_id"]][name.lower().replace("-", "_")].append(mean)
    return {model: dict(found) for model, found in scores.items()}


def promptfoo(path):
    document = json.loads(path.read_text("utf-8"))["results"]
    scores = {
        prompt["provider"]: defaultdict(list) for prompt in document["table"]["head"]["prompts"]
    }
    names = ("MRR", "Precision", "Recall", "F1")
    for row in document["results"]:
        found = scores[row["provider"]["id"]]
        grading = row.get("gradingResult")
        if not grading:
            for name in ("score", "passed", "latency_ms", *map(str.lower, names)):
                found[name].append(FAILED)
            continue
        found["score"].append(float(row["score"]))
        found["passed"].append(float(row["success"]))
        found["latency_ms"].append(float(row["latencyMs"]))
        named = {}
        for part in grading["componentResults"]:
            named |= part.get("named_scores", {})
        for name in names:
            found[name.lower()].append(float(named[name]))
    return {provider: dict(found) for provider, found in scores.items()}


def ragas(path):
    rows = csv_rows(path)
    possible = ("context_precision", "faithfulness", "answer_relevancy", "context_recall")
    return {path.stem: columns(rows, [name for name in possible if name in rows[0]])}


def ragchecker(path):
    rows = json.loads(path.read_text("utf-8"))["results"]
    return {path.stem: columns([row["metrics"] for row in rows], rows[0]["metrics"])}


def tonic_validate(path):
    return {path.stem: columns(csv_rows(path), ["answer_similarity"])}


_COUNTED = ("num_*", "relstring*", "runid", "rbp_resid", "unj_*")
_CUT = re.compile(r"(P|recall|ndcg_cut|map_cut|success|relative_P)_(\d+)$")


def trec_eval(path):
    scores = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        measure, query, value = line.split()
        if query == "all" or any(fnmatchcase(measure, pattern) for pattern in _COUNTED):
            continue
        cut = _CUT.match(measure)
        name = f"{cut[1].removesuffix('_cut')}@{cut[2]}" if cut else measure.replace("-", "_")
        scores[name.lower()].append(float(value))
    return {path.stem: dict(scores)}


READINGS = {
    "autorag_result_project/0/post_retrieve_node_line/generator/0.parquet": autorag_module,
    "autorag_result_project/0/post_retrieve_node_line/generator/summary.csv": autorag_module,
    "autorag_result_project/0/retrieve_node_line/*/0.parquet": autorag_module,
    "autorag_result_project/0/retrieve_node_line/*/summary.csv": autorag_module,
    "autorag_result_project/0/*/*/best_0.parquet": autorag_best,
    "cognee_memory_hotpotqa/*/metrics_output_*.json": cognee,
    "deepeval_beeai/*.json": deepeval,
    "haystack_aragog/comparative_scores_*.csv": haystack_comparison,
    "haystack_aragog/detailed_*.csv": haystack,
    "inspect_ai_logs/*.eval": inspect_log,
    "inspect_ai_logs/*.json": inspect_log,
    "lm_eval_truthfulqa/samples_*.jsonl": lm_eval,
    "mtrag_human_eval/reference_subset_with_human_evaluations.json": mtrag,
    "promptfoo_retrieval/retrieval_results.json": promptfoo,
    "ragas_elasticsearch_books/*.csv": ragas,
    "ragchecker_examples/checking_outputs.json": ragchecker,
    "tonic_validate_runs/*.csv": tonic_validate,
    "trec_eval_official_test/out.test.aq*": trec_eval,
    "trec_eval_official_test/out.test.meas_params": trec_eval,
}

# What was guessed or left out must be said; the first pipeline's notes hold these sentences.
NOTES = {
    "autorag_result_project/0/*/generator/*": ["left out.*'generated_tokens'"],
    "autorag_result_project/0/*/*/0.parquet": ["the ids are those of best_0.parquet"],
    "cognee_memory_hotpotqa/*/metrics_output_*": ["queries are matched by the text in 'question'"],
    "cognee_memory_hotpotqa/mem0/metrics_output_mem0.json": ["em is 0 for all 50"],
    "deepeval_beeai/deepeval-cache.json": ["may contain cases of several runs", "thresholds"],
    "deepeval_beeai/latest_test_run.json": ["test-case names are only positions"],
    "haystack_aragog/comparative_scores_*": ["by the prefixes of their columns"],
    "haystack_aragog/detailed_*top_k=3__chunk_size=128.csv": ["1 scores of 'faithfulness' are NaN"],
    "inspect_ai_logs/2025-02-11T15-17*": ["none of the 10 samples has a score yet"],
    "inspect_ai_logs/2025-02-11T15-18*": ["C as 1, I as 0"],
    "inspect_ai_logs/2025-05-12*": ["status 'cancelled'", "C as 1, I as 0"],
    "lm_eval_truthfulqa/samples_*": ["query ids are the hashes", "directions .* come from"],
    "mtrag_human_eval/reference_*": ["mean over several annotators"],
    "promptfoo_retrieval/*": ["1 of 100 rows ended in an error and are unscored"],
    "ragas_elasticsearch_books/*": ["queries are matched by the text in 'user_input'"],
    "tonic_validate_runs/*": ["queries are matched by the text in 'question'"],
    "trec_eval_official_test/out.test.*": ["trec_eval prints four decimals"],
}

# The metrics that do not count when p-values are corrected: sums beside their parts, tokens, and
# names that nobody knows.
OUTSIDE_THE_FAMILY = {
    "cognee_memory_hotpotqa/*/metrics_output_*_hum*_eval.json": {"humaneval"},
    "inspect_ai_logs/*": {"prompt_tokens", "completion_tokens"},
    "promptfoo_retrieval/*": {"score", "passed"},
}

# The bounds that are not 0 and 1, where the scale is known.
BOUNDS = {
    "autorag_result_project/0/*/generator/*": {"bleu": (0, 100)},
    "mtrag_human_eval/reference_*": {
        **dict.fromkeys(("naturalness", "appropriateness", "completeness", "faithfulness"), (1, 4)),
        "win_rate": (0, 100),
        **dict.fromkeys(("bert_rec", "bert_kprec"), (-1, 1)),
    },
    "tonic_validate_runs/*": {"answer_similarity": (0, 5)},
}

LOWER_IS_BETTER = {
    "inspect_ai_logs/*": {"prompt_tokens", "completion_tokens"},
    "inspect_ai_logs/*.json": {"latency_ms"},
    "promptfoo_retrieval/*": {"latency_ms"},
    "ragchecker_examples/*": {
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_in_irrelevant",
        "hallucination",
        "self_knowledge",
    },
}


# -- files without scores: how they are refused, and how many records they hold

_RECORDS = r"no column holds scores: .*score\(read_records\(path\), metrics\)"


def _load(name):
    return rf'this is a data set.*load_dataset\("{name}", .*eval --datasets {name}='


RECORDS = {
    "autorag_result_project/data/qa.parquet": (10, "has no scores.*pass a node's summary.csv"),
    "beir_arguana_sample/corpus.jsonl": (700, _load("beir")),
    "beir_arguana_sample/queries.jsonl": (150, _load("beir")),
    "cognee_memory_hotpotqa/hotpot_50_qa_pairs.json": (50, _load("hotpotqa")),
    "continuous_eval_fixtures/invalid.jsonl": (
        10,
        r"list of questions.*read_records\(.*eval --records",
    ),
    "continuous_eval_fixtures/retrieval_sm.jsonl": (10, _RECORDS),
    "fastgraphrag_2wiki_51/*.json": (51, _RECORDS),
    "hotpotqa_sample/hotpot_dev_v1_simplified_200.json": (200, _load("hotpotqa")),
    "mtrag_retrieval_govt/govt/govt_*.jsonl": (201, _load("beir")),
    "ragchecker_examples/checking_inputs.json": (2, "have no metrics.*Evaluate it with RAGChecker"),
}

# Sets of questions in their publisher's own form, corpora, and tables about other files.
OTHERS = {
    "autorag_result_project/data/corpus.parquet": "this is a corpus",
    "clapnq_dev/*.jsonl": _load("clapnq"),
    "continuous_eval_fixtures/open_rag_eval_csv_results.csv": _RECORDS,
    "hotpotqa_sample/hotpotqa_60.json": _load("hotpotqa"),
    "manifest.csv": "no column holds query ids",
    "mtrag_human_eval/sample_*.jsonl": r"conversations of MT-RAG.*score\(read_records\(path\)",
    "qasper_fixture/*.json": "this is an object of objects",
    "squad_v2_sample/dev-v2.0.sample.json": _load("squad_v2"),
    "squad_v2_sample/predictions.*.json": "expected a list with one object per query",
}

# Means of whole runs, which hold no query.
SUMMARIES = {
    "autorag_result_project/0/*/summary.csv": "summary of the nodes.*pass a node's summary.csv",
    "autorag_result_project/0/summary.csv": "summary of the nodes.*pass a node's summary.csv",
    "autorag_result_project/0/pre_*/query_expansion/[0-9].parquet": "no scores, only 'queries'",
    "autorag_result_project/0/pre_*/query_expansion/summary.csv": "no scores, only 'queries'",
    "cognee_memory_hotpotqa/*/aggregate_*.json": "may be queries, pipelines or statistics",
    "haystack_aragog/score_report_*.csv": r"aggregated report.*detailed_report\(\)",
    "lm_eval_truthfulqa/truthfulqa_gen_neo125_*.json": "expected a list with one object per query",
    "trec_eval_official_test/out.test": "only means over all queries.*run trec_eval with -q",
    "trec_eval_official_test/out.test.a": "only means over all queries.*run trec_eval with -q",
    "trulens_judges/judges/*.csv": "line 1: expected names of columns; found numbers",
    "trulens_judges/otel_events_tru_graph.csv": r"one per span.*get_records_and_feedback\(\)",
}

JUDGMENTS = {
    "beir_arguana_sample/qrels/*.tsv": "table of judgments",
    "beir_nfcorpus_qrels/*.txt": "TREC judgments",
    "beir_nfcorpus_qrels/qrels/*.tsv": "table of judgments",
    "mtrag_retrieval_govt/govt/qrels/dev.tsv": "table of judgments",
    "trec_dl19/qrels.*": "TREC judgments",
    "trec_eval_official_test/qrels.*": "TREC judgments",
}

RUNS = {
    "trec_dl19/run.*.txt": "qrels.dl19-passage.txt",
    "trec_eval_official_test/results.test": "qrels.test",
    "trec_eval_official_test/results.trunc": "qrels.test",
}

# A tuple: the order of a set changes from process to process, and with it that of the tests.
DOUBTFUL = (
    "continuous_eval_fixtures/correctness_sm.jsonl",
    "trulens_judges/gpt-4o-mini_3_prompts_results.csv",
)

REFUSED = OTHERS | SUMMARIES | JUDGMENTS


def is_data(path):
    return path.is_file() and not path.name.startswith(("README", "LICENSE"))


def matching(folder, patterns):
    """The files of the folder that match a pattern, each with its path as the tables write it."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if is_data(path))
    return sorted(name for name in names if first_match(name, patterns))


def first_match(name, patterns):
    """The first pattern of a path; a star stands for one folder or a part of a name."""
    depth = name.count("/")
    fits = (one for one in patterns if one.count("/") == depth and fnmatchcase(name, one))
    return next(fits, None)


@pytest.fixture(scope="module")
def data_folder(real_data):
    return real_data("manifest.csv").parent


def each(patterns):
    """A test for each pattern; the files of the pattern are found when it runs."""
    return pytest.mark.parametrize("pattern", list(patterns))


def test_every_file_is_in_just_one_list(data_folder):
    tables = (READINGS, RECORDS, REFUSED, RUNS, DOUBTFUL)
    names = matching(data_folder, ["/".join("*" * n) for n in range(1, 8)])
    assert len(names) > 100
    in_tables = {name: [t for t in tables if first_match(name, t)] for name in names}
    assert {name: len(found) for name, found in in_tables.items() if len(found) != 1} == {}


@each([*READINGS, *RECORDS, *REFUSED, *RUNS, *DOUBTFUL])
def test_every_pattern_finds_a_file(data_folder, pattern):
    assert matching(data_folder, [pattern])


# -- scores


def rows_that_match(name, table):
    depth = name.count("/")
    return [
        rows
        for pattern, rows in table.items()
        if pattern.count("/") == depth and fnmatchcase(name, pattern)
    ]


def check_same(evaluations, expected):
    """The same pipelines, metrics, queries, scores and means; unscored cells say why."""
    assert list(evaluations) == list(expected)
    for pipeline, metrics in expected.items():
        run = evaluations[pipeline]
        assert set(run.scores) == set(run.metrics) == set(metrics)
        assert run.scores.index.is_unique
        for name, cells in metrics.items():
            assert run.n_queries == len(cells)
            scored = [cell for cell in cells if not isinstance(cell, str)]
            column = run.scores[name]
            assert column.notna().sum() == len(scored), (pipeline, name)
            found = sorted(column.dropna().tolist())
            assert found == pytest.approx(sorted(scored), rel=1e-12, abs=1e-12), (pipeline, name)
            states = run.states[name]
            for word in (FAILED, MISSING):
                assert (states == word).sum() == cells.count(word), (pipeline, name, word)
            assert column[states != "scored"].isna().all()
            mean = run.get_aggregated_scores(name)
            if scored:
                assert mean == pytest.approx(fmean(scored), rel=1e-12, abs=1e-12)
            else:
                assert math.isnan(mean)


@each(READINGS)
def test_scores_are_those_of_an_independent_reading(data_folder, pattern):
    for name in matching(data_folder, [pattern]):
        runs = read_scores(data_folder / name)
        if first_match(name, READINGS) == pattern:
            check_same(runs, READINGS[pattern](data_folder / name))
        check_notes_and_metrics(name, runs)
        check_inspection(inspect(data_folder / name), runs)


def check_notes_and_metrics(name, runs):
    """What was guessed is noted; families, bounds and directions are those of the file."""
    [first, *_] = runs.values()
    for sentences in rows_that_match(name, NOTES):
        for sentence in sentences:
            assert any(re.search(sentence, note) for note in first.notes), (name, sentence)
    for run in runs.values():
        outside = {one.name for one in run.metrics.values() if not one.in_family}
        assert outside == set().union(*rows_that_match(name, OUTSIDE_THE_FAMILY)), name
        lower = {one.name for one in run.metrics.values() if not one.greater_is_better}
        assert lower == set().union(*rows_that_match(name, LOWER_IS_BETTER)), name
        for bounds in rows_that_match(name, BOUNDS):
            for metric in bounds.keys() & run.metrics.keys():
                assert run.metrics[metric].bounds == bounds[metric], (name, metric)


def check_inspection(inspection, runs):
    """An inspection agrees with what is read."""
    assert (inspection.pipelines, inspection.doubts) == (tuple(runs), ())
    rows = inspection.frame[inspection.frame["role"] == "metric"]
    [run, *_] = runs.values()
    assert set(rows["metric"]) == {metric.title for metric in run.metrics.values()}
    n_scored = sum(int(run.scores.notna().sum().sum()) for run in runs.values())
    assert rows["n_scored"].sum() == n_scored
    assert str(inspection)


# -- doubts: both ways out, and the numbers of each


def test_a_column_of_models_is_doubted_and_both_ways_out_are_right(data_folder):
    path = data_folder / "continuous_eval_fixtures/correctness_sm.jsonl"
    with pytest.raises(ReaderError, match=r"\{'model': 'pipeline'\}.*\{'model': 'detail'\}"):
        read_scores(path)
    assert len(inspect(path).doubts) == 1
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    marks = {"correct": 1.0, "incorrect": 0.0}
    by_model = defaultdict(lambda: {"annotation": []})
    for row in rows:
        mark = marks.get(row["annotation"], FAILED)
        by_model[row["model"]]["annotation"].append(mark)
    check_same(read_scores(path, roles={"model": "pipeline"}), by_model)
    together = [mark for found in by_model.values() for mark in found["annotation"]]
    check_same(read_scores(path, roles={"model": "detail"}), {path.stem: {"annotation": together}})
    assert len(read_records(path)) == len(rows)


def test_pairs_of_query_and_passage_are_refused_or_averaged_by_query(data_folder):
    path = data_folder / "trulens_judges/gpt-4o-mini_3_prompts_results.csv"
    with pytest.raises(ReaderError, match=r"appear more than once.*duplicates=\"mean\""):
        read_scores(path)
    assert any("more than once" in doubt for doubt in inspect(path).doubts)
    judges = ("gaurav_rating", "umbrela_rating", "categorical_rating")
    cells = {judge: defaultdict(list) for judge in judges}
    for row in csv_rows(path):
        for judge in judges:
            cells[judge][row["query_id"]] += [float(row[judge])] if row[judge] else []
    expected = {
        judge: [fmean(found) if found else MISSING for found in by_query.values()]
        for judge, by_query in cells.items()
    }
    check_same(read_scores(path, duplicates="mean"), {path.stem: expected})


# -- rankings


_MEASURES = {
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "mrr": "recip_rank",
    "recall@100": "recall_100",
    "precision@10": "P_10",
}


def trec_columns(path, value):
    """Query to document to the number in a column, of the first six words of each line."""
    found = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        words = line.split()
        if not line.startswith("#"):
            found[words[0]][words[2]] = value(words)
    return dict(found)


@each(RUNS)
def test_rankings_have_the_scores_of_pytrec_eval(data_folder, tmp_path, pattern):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    for name in matching(data_folder, [pattern]):
        path = data_folder / name
        with pytest.raises(ReaderError, match=r"TREC run.*qrels="):
            read_scores(path)
        if path.suffix == ".trunc":  # some tags have more words behind them, which are refused
            with pytest.raises(ReaderError, match="line 1: expected 6 columns"):
                read_scores(path, qrels=path.parent / RUNS[pattern], metrics=list(_MEASURES))
            lines = [" ".join(line.split()[:6]) for line in path.read_text("utf-8").splitlines()]
            path = tmp_path / path.name
            path.write_text("\n".join(lines) + "\n")
        qrels = data_folder / name.rpartition("/")[0] / RUNS[pattern]
        judged = trec_columns(qrels, lambda words: int(words[3]))
        run = trec_columns(path, lambda words: float(words[4]))
        evaluator = pytrec_eval.RelevanceEvaluator(judged, set(_MEASURES.values()))
        by_query = evaluator.evaluate(run)
        read = read_scores(path, qrels=qrels, metrics=list(_MEASURES))
        [scored] = read.values()
        for ours, theirs in _MEASURES.items():
            for query, values in by_query.items():
                assert scored.scores.loc[query, ours] == pytest.approx(values[theirs], abs=1e-12)
        # Judged queries that the run does not answer count as 0, as trec_eval's -c has it.
        n_judged = len(judged)
        assert scored.n_queries == n_judged
        unanswered = scored.scores.drop(index=list(by_query))
        assert (unanswered == 0).all(axis=None)


# -- files without scores


@each(RECORDS)
def test_records_are_read_and_are_no_scores(data_folder, pattern):
    n_records, sentence = RECORDS[pattern]
    for name in matching(data_folder, [pattern]):
        path = data_folder / name
        assert len(read_records(path)) == n_records
        with pytest.raises(ReaderError, match=f"(?s){re.escape(path.name)}.*{sentence}"):
            read_scores(path)
        check_inspection_of_no_scores(path)


@each(REFUSED)
def test_files_without_scores_are_refused_with_what_they_hold(data_folder, pattern):
    for name in matching(data_folder, [pattern]):
        path = data_folder / name
        with pytest.raises(ReaderError, match=f"(?s){re.escape(path.name)}.*{REFUSED[pattern]}"):
            read_scores(path)
        check_inspection_of_no_scores(path)


def check_inspection_of_no_scores(path):
    """An inspection has no metric, and says what stops the reading; or it is refused as well."""
    try:
        inspection = inspect(path)
    except ReaderError:
        return
    assert inspection.doubts
    assert "metric" not in set(inspection.frame["role"])
