"""Where the halves meet: what is scored is an evaluation like any other."""

import pandas as pd
import pytest

from rageval_report import (
    AlignmentError,
    DataError,
    UnknownNameError,
    compare,
    score,
    score_rankings,
)

RUN = {"q1": {"a": 0.9, "b": 0.8}, "q2": {"c": 0.7}, "q4": {"x": 1.0}}
QRELS = {"q1": {"b": 1}, "q2": {"c": 2, "d": 1}, "q3": {"a": 1}}


def test_records_become_an_evaluation_with_their_texts():
    rows = [
        {"query_id": "q1", "question": "why?", "retrieved": ["a"], "relevant": ["a"]},
        {"query_id": "q2", "question": "who?", "retrieved": ["a"], "relevant": ["b"]},
    ]
    evaluation = score(rows, ["hit@1", "mrr"], name="bm25")
    assert evaluation.name == "bm25"
    assert evaluation.get_aggregated_scores("hit@1") == 0.5
    assert evaluation.failures("mrr", 0.5).frame["question"].tolist() == ["who?"]


def test_a_score_that_was_measured_keeps_its_field_beside_it():
    rows = [{"query_id": "q", "latency_ms": 30.0}]
    evaluation = score(rows, "latency_ms")
    assert evaluation.get_aggregated_scores("latency_ms") == 30.0
    assert evaluation.details["latency_ms_given"].tolist() == [30.0]


def test_rankings_become_an_evaluation_that_tells_what_was_missing():
    evaluation = score_rankings(RUN, QRELS, ["mrr", "recall@2"], name="run")
    assert evaluation.scores["mrr"].to_dict() == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    notes = " ".join(evaluation.evaluation_report().notes)
    assert "q3" in notes
    assert "q4" in notes


def test_two_rankings_are_compared_like_any_two_runs():
    other = score_rankings({"q1": ["b"], "q2": ["d"]}, QRELS, "mrr", name="new")
    frame = compare(score_rankings(RUN, QRELS, "mrr", name="old"), other).frame
    assert frame["n"].tolist() == [3]
    assert frame["difference"].iloc[0] == pytest.approx((0.5 + 0 + 0) / 3)


def test_frames_are_rankings_too():
    run = pd.DataFrame({"query_id": ["q1"], "doc_id": ["b"], "score": [1.0]})
    qrels = pd.DataFrame({"query_id": ["q1"], "doc_id": ["b"], "relevance": [1]})
    assert score_rankings(run, qrels, "mrr").get_aggregated_scores("mrr") == 1.0


def test_a_files_own_name_is_the_pipelines(tmp_path):
    run, qrels = tmp_path / "bm25.run", tmp_path / "test.qrels"
    run.write_text("q1 Q0 b 1 0.5 tag\n", encoding="utf-8")
    qrels.write_text("q1 0 b 1\n", encoding="utf-8")
    assert score_rankings(run, qrels, "mrr").name == "bm25"


def test_rankings_without_a_common_query_are_refused():
    with pytest.raises(AlignmentError):
        score_rankings({"x": ["a"]}, QRELS, "mrr")


def test_the_real_runs_of_trec_dl19_have_trec_evals_figures(real_data):
    # trec_eval's measures through pytrec_eval-terrier, query by query
    pytrec_eval = pytest.importorskip("pytrec_eval")
    folder = real_data("trec_dl19")
    qrels = next(path for path in sorted(folder.iterdir()) if "qrels" in path.name)
    run = next(path for path in sorted(folder.iterdir()) if _is_run(path))
    ours = score_rankings(run, qrels, ["ndcg@10", "average_precision", "reciprocal_rank"])
    judged = pytrec_eval.parse_qrel(qrels.read_text(encoding="utf-8").splitlines())
    ranked = pytrec_eval.parse_run(run.read_text(encoding="utf-8").splitlines())
    measures = {"ndcg_cut.10", "map", "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(ranked)
    for ours_name, name in (
        ("ndcg@10", "ndcg_cut_10"),
        ("average_precision", "map"),
        ("reciprocal_rank", "recip_rank"),
    ):
        column = ours.scores[ours_name]
        assert {query: column[query] for query in theirs} == {
            query: values[name] for query, values in theirs.items()
        }


def _is_run(path):
    if "qrels" in path.name or path.suffix == ".md":
        return False
    return len(path.read_bytes()[:1000].split(b"\n")[0].split()) == 6


def test_what_a_metric_is_not_about_is_not_applicable_and_what_ended_in_an_error_failed():
    rows = [
        {"query_id": "a", "answer": "Paris", "answerable": True},
        {"query_id": "b", "answer": "I don't know.", "answerable": False},
        {"query_id": "c", "answer": None, "answerable": True, "error": "time-out"},
    ]
    evaluation = score(rows, ["false_refusal", "unanswerable_accuracy"])
    assert evaluation.states["false_refusal"].tolist() == ["scored", "not applicable", "failed"]
    assert evaluation.states["unanswerable_accuracy"].tolist() == [
        *("not applicable", "scored", "not applicable")
    ]
    assert any("'time-out' 1" in note for note in evaluation.evaluation_report().notes)


def test_a_document_of_which_two_chunks_were_retrieved_counts_once_where_that_is_asked_for():
    rows = [{"query_id": "q", "retrieved": ["a", "a", "b"], "relevant": ["b"]}]
    with pytest.raises(DataError, match="documents of query 'q' twice: 'a'"):
        score(rows, ["mrr"])
    assert score(rows, ["mrr"], duplicates="best").get_aggregated_scores("mrr") == 0.5
    with pytest.raises(UnknownNameError, match="rule for duplicates"):
        score(rows, ["mrr"], duplicates="first")
