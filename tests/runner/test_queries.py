"""Queries, settings, and what is read in a reply: each checked, and the gold never sent."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import read_records, score
from rageval_report.errors import DataError, PipelineError, ReaderError, UnknownNameError, is_doubt
from rageval_report.records import record_table
from rageval_report.runner import (
    RunConfig,
    collect_answers,
    target_from,
)
from rageval_report.runner.eval_config import eval_config_of, read_eval_config
from rageval_report.runner.query_source import (
    Query,
    queries_of,
    sample_mask,
)
from rageval_report.runner.replies import (
    ResponsePaths,
    TargetError,
    record_fields,
)
from rageval_report.runner.targets import HttpSettings, HttpTarget, fill_template

ROWS = [
    {"qid": "a", "query": "Why?", "relevant": ["d1"], "language": "en"},
    {"qid": "b", "query": "Wie?", "relevant": ["d2"], "language": "de"},
]


def test_a_file_and_a_table_give_the_same_queries(write):
    path = write("".join(json.dumps(row) + "\n" for row in ROWS), "queries.jsonl")
    from_file, from_table = queries_of(path), queries_of(ROWS)
    assert list(from_file) == list(from_table) == list(queries_of(pd.DataFrame(ROWS)))
    assert from_file.fingerprint == from_table.fingerprint


@pytest.mark.parametrize(
    "name",
    [
        *("references", "ground_truth", "answers", "relevant_spans", "relevance", "Is Answerable"),
        *("query_type", "queryType", "difficulty", "is_unanswerable", "gold_doc_ids", "evidence"),
        *("expected_document_ids", "negative_references", "response_given", "latency_ms"),
        *("provenance", "passages", "supporting_facts", "error_kind"),
    ],
)
def test_no_name_under_which_sets_tell_the_gold_may_be_sent(name):
    query = Query(0, "a", "Why?", {"reference": "So.", "answer": "No.", name: "GOLD"})
    assert query.public_fields == {"query_id": "a", "question": "Why?"}
    assert query.kept_fields()[name if name in query.kept_fields() else f"{name}_given"] == "GOLD"


def test_gold_within_metadata_is_not_shown_and_what_is_not_gold_is():
    history = [{"question": "Who?", "answer": "Ann."}]
    told = {"query_type": "unanswerable", "relevant": {"d1": 2}, "language": "en"}
    query = Query(0, "a", "Why?", {"metadata": told, "history": history})
    assert query.public_fields["metadata"] == {"language": "en"}
    assert query.public_fields["history"] == history
    assert query.kept_fields()["metadata"] == told


def test_an_earlier_answer_is_kept_under_another_name():
    query = Query(0, "a", "Why?", {"response": "No.", "context": "...", "latency_ms": 3.0})
    assert query.kept_fields() == {
        "query_id": "a",
        "question": "Why?",
        "response_given": "No.",
        "context_given": "...",
        "latency_ms_given": 3.0,
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"query_id": "b"}', "the question is missing"),
        ('{"question": "b"}', "the id is missing"),
        ('{"query_id": "b", "question": " "}', "expected a question that is a text; got ' '"),
        ('{"query_id": "b", "question": 3}', "expected a question that is a text; got 3"),
        ('{"query_id": 1.5, "question": "b"}', "expected an id \\(a text or an integer\\)"),
        ("[]", "expected one JSON object per line"),
    ],
)
def test_a_wrong_line_is_told_by_its_number(write, line, told):
    path = write('{"query_id": "a", "question": "Why?"}\n' + line + "\n")
    with pytest.raises(ReaderError, match="line 2: .*" + told):
        queries_of(path)


def test_cells_of_a_table_become_what_json_has():
    frame = pd.DataFrame(
        {
            "query_id": [7],
            "question": ["Why?"],
            "tags": [np.array(["x", "y"])],
            "level": np.array([3], dtype=np.int8),
            "note": [np.nan],
            "day": [pd.Timestamp("2026-01-02")],
        }
    )
    (query,) = queries_of(frame)
    assert query.query_id == "7"
    assert json.loads(json.dumps(query.other_fields)) == {
        "tags": ["x", "y"],
        "level": 3,
        "note": None,
        "day": "2026-01-02T00:00:00",
    }


def sampled(rows, samples, seed):
    """The questions and grades of the sample, sorted."""
    queries = queries_of(rows)
    mask = sample_mask(queries, samples, seed)
    return sorted((q.question, q.other_fields["grade"]) for q in queries if mask[q.row])


@given(
    names=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    has_ids=st.booleans(),
    samples=st.integers(1, 12),
    seed=st.integers(0, 9),
    data=st.data(),
)
def test_shuffled_queries_have_the_same_sample(names, has_ids, samples, seed, data):
    # Without ids a question may repeat; the rows then differ in their grade.
    rows = [{"question": f"Question {name}?", "grade": row} for row, name in enumerate(names)]
    if has_ids:
        rows = [{"query_id": f"q{row}", **fields} for row, fields in enumerate(rows)]
    shuffled = data.draw(st.permutations(rows))
    assert sampled(shuffled, samples, seed) == sampled(rows, samples, seed)


YAML = """\
name: my-rag
records: queries.jsonl
concurrency: 8
samples: null
metrics: [recall@5, exact_match]
retries: 5
max_wait: 10
http:
  url: http://localhost:8001/v1/chat/completions
  headers: {X-Tenant: demo}
  body:
    messages:
      - {role: user, content: "{question}"}
  response: {answer: choices.0.message.content}
"""


def test_a_yaml_file_becomes_a_configuration(write):
    config = read_eval_config(write(YAML, "run.yaml"))
    assert (config.name, config.concurrency, config.samples) == ("my-rag", 8, None)
    assert config.metrics == ("recall@5", "exact_match")
    assert (config.retries, config.max_wait) == (5, 10.0)
    with target_from(config) as target:
        assert target.identity()["headers"] == ["X-Tenant"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"concurency": 2}, "'concurency'. Did you mean 'concurrency'"),
        ({"htp": {}}, "'htp'. Did you mean 'http'"),
        ({"http": {"ulr": "x"}}, "no key of http is named 'ulr'. Did you mean 'url'"),
        ({"http": {"url": "x", "response": {"anwser": "a"}}}, "of http.response is named 'anwser'"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(given, told):
    with pytest.raises(UnknownNameError, match=told):
        eval_config_of(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"concurrency": "4"}, "concurrency: expected an integer; got '4'"),
        ({"concurrency": True}, "concurrency: expected an integer; got True"),
        ({"concurrency": 0}, "from 1 to 256; got 0"),
        ({"max_wait": float("nan")}, "max_wait: expected a number"),
        ({"samples": 0}, "samples must be an integer >= 1"),
        ({"metrics": ["recall", 5]}, r"metrics\[1\]: expected a text; got 5"),
        ({"retries": -1}, "retries must be an integer >= 0"),
        ({"http": "http://host"}, "http: expected a mapping"),
        ({"http": {}}, "http must contain url"),
        ({"http": {"url": "x", "headers": {"A": 1}}}, "http.headers.A: expected a text; got 1"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(given, told):
    with pytest.raises((DataError, UnknownNameError), match=told):
        eval_config_of(given)


def test_a_key_in_a_file_is_refused_and_not_repeated():
    settings = {"http": {"url": "http://host", "headers": {"Authorization": "Bearer sk-1234"}}}
    with pytest.raises(DataError, match="environment variable") as caught:
        target_from(RunConfig(settings=settings))
    assert "sk-1234" not in str(caught.value)


def test_results_with_ids_scores_and_texts_fill_ranking_and_contexts():
    hits = [{"id": "d1", "score": 2.5, "text": "one"}, {"id": "d2", "score": 1.0, "text": "two"}]
    found = record_fields({"answer": "A", "hits": hits}, ResponsePaths(retrieved="hits"))
    assert found["retrieved"] == ["d1", "d2"]
    assert found["retrieved_scores"] == [2.5, 1.0]
    assert found["contexts"] == ["one", "two"]


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"text": "x"}, "expected an answer at 'answer'"),
        ({"answer": None}, "expected an answer at 'answer'"),
        ({"answer": 3}, "answer: expected a text; got 3"),
        ([], r"expected a text or an object; got \[\]"),
        (None, "expected a text or an object; got None"),
        ({"answer": "A", "contexts": [1]}, "contexts: expected a text; got 1"),
        ({"answer": "A", "retrieved": [{}]}, "retrieved: expected a result with an id"),
        ({"answer": "A", "usage": {"prompt_tokens": -1}}, "prompt_tokens: expected a number"),
        ({"answer": "A", "citations": [{}]}, "citations: expected a citation"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_a_failure_of_content(document, told):
    with pytest.raises(TargetError, match=told) as caught:
        record_fields(document, ResponsePaths())
    assert caught.value.kind == "content"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


MAY_BE_MISSING = (
    *("retrieved", "contexts", "citations", "cost_usd", "model", "usage"),
    "something else",
)


@settings(max_examples=50)
@given(st.fixed_dictionaries({"answer": JSON}, optional=dict.fromkeys(MAY_BE_MISSING, JSON)))
def test_whatever_a_server_says_becomes_a_record_or_a_failure(document):
    try:
        found = record_fields(document, ResponsePaths())
    except TargetError:
        return
    rows = [{"query_id": "a", "question": "Why?", **found}]
    table = record_table(rows, unretrieved_citations="keep")
    assert table.loc["a", "answer"] == document["answer"]


def test_a_template_is_filled_however_deep():
    fields = {"question": 'He said "why"?', "tags": ["a"]}
    template = {"messages": [{"role": "user", "content": "{question}"}], "k": 5, "json": "{}"}
    assert fill_template(template, fields) == {
        "messages": [{"role": "user", "content": 'He said "why"?'}],
        "k": 5,
        "json": "{}",
    }


TEXT = "Oslo is the capital of Norway, and its largest city."


def test_a_server_with_other_keys_is_doubted_over_a_real_socket(says, target, queries, tmp_path):
    document = {"answer": TEXT, "sources": [{"node_id": "n1", "text": TEXT}, {"node_id": "n2"}]}
    says.body = json.dumps(document).encode()
    rows = [{**row, "relevant": ["n2"]} for row in queries(4)]
    finished = collect_answers(rows, target(says.url), tmp_path / "run")
    (doubt,) = filter(is_doubt, finished.notes)
    assert (
        "no reply has retrieved where expected, but all 4 that were looked at have sources" in doubt
    )
    assert "--path retrieved=sources (" in doubt
    # Nothing is asked again, and the doubt still holds.
    resumed = collect_answers(rows, target(says.url), tmp_path / "run", resume=True)
    assert resumed.n_new == 0
    assert doubt in resumed.notes


def test_a_missing_answer_is_an_error_that_names_its_path(says, target, queries, tmp_path):
    says.body = json.dumps({"choices": [{"message": {"content": TEXT}}]}).encode()
    with pytest.raises(PipelineError, match=r"--path answer=choices\.0\.message\.content"):
        collect_answers(queries(30), target(says.url), tmp_path / "run")


# -- ids within the passages

NODES = [{"node": {"id_": "n1", "metadata": {"file_name": "a.md"}, "text": TEXT}, "score": 0.5}]


HITS = [{"id": "n1", "payload": {"content": TEXT, "metadata": {"document_id": "a.md"}}}]


@pytest.mark.parametrize("passages", [NODES, HITS])
@pytest.mark.parametrize("gold", [["a.md"], ["n1"]])
def test_a_live_reply_keeps_both_ids_of_its_passages(tmp_path, passages, gold):
    rows = [{"query_id": "q", "question": "Where?", "relevant": gold}]
    answer = {"answer": "Oslo.", "retrieved": passages}
    finished = collect_answers(rows, lambda _: answer, tmp_path / "run")
    table = read_records(finished.records)
    assert table.loc["q", "retrieved_sections"] == [("a.md", "n1")]
    assert score(table, "recall@5").get_aggregated_scores("recall@5") == 1.0
    assert finished.notes == ()


GOLD = {
    "references": ["GOLD-1"],
    "answers": ["GOLD-2"],
    "relevant": {"GOLD-3": 2},
    "relevant_texts": ["GOLD-4"],
    "answerable": "GOLD-5",
    "query_type": "GOLD-unanswerable",
    "difficulty": "GOLD-6",
    "passages": {"GOLD-7": "GOLD-8"},
    "metadata": {"query_type": "GOLD-9", "tenant": "north"},
    "provenance": {"source": "GOLD-10"},
    "answer_given": "GOLD-11",
    "a name that nobody thought of": "GOLD-12",
}


SECRET_ROWS = [
    {"query_id": "a", "question": "Why?", **GOLD},
    {"query_id": "b", "question": "How?", **GOLD},
]


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, {"question": "Why?"}),
        (
            {"body": {"q": "{question}", "id": "{query_id}", "more": "{metadata}"}},
            {"q": "Why?", "id": "a", "more": {"tenant": "north"}},
        ),
    ],
)
def test_a_server_is_sent_what_the_template_names_and_no_gold(says, tmp_path, settings, sent):
    with HttpTarget(HttpSettings(says.url, **settings)) as target:
        collect_answers(SECRET_ROWS, target, tmp_path, RunConfig(concurrency=1))
    asked = [one for one in says.requests if one[2]]
    assert len(asked) == 2
    assert json.loads(asked[0][2]) == sent
    assert "GOLD" not in str(says.requests)
