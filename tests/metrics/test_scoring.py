"""Where the halves meet: what is scored is an evaluation like any other."""

import json

import pandas as pd
import pytest

from rageval_report import METRICS, score, score_rankings
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.judges import FunctionChat, Rubric
from rageval_report.metrics.scoring import build_evaluation, score_and_judge

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


def test_rankings_become_an_evaluation_that_tells_what_was_missing():
    evaluation = score_rankings(RUN, QRELS, ["mrr", "recall@2"], name="run")
    assert evaluation.scores["mrr"].to_dict() == {"q1": 0.5, "q2": 1.0, "q3": 0.0}
    notes = " ".join(evaluation.evaluation_report().notes)
    assert "q3" in notes
    assert "q4" in notes


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
    evaluation = score(rows, ["false_refusal", "abstention_recall"])
    assert evaluation.states["false_refusal"].tolist() == ["scored", "not applicable", "failed"]
    assert evaluation.states["abstention_recall"].tolist() == [
        *("not applicable", "scored", "not applicable")
    ]
    assert any("'time-out' 1" in note for note in evaluation.evaluation_report().notes)


# -- computed and judged

ASKED = [
    {"query_id": "a", "question": "Where?", "answer": "Here.", "reference": "Here."},
    {"query_id": "b", "question": "When?", "answer": "Now.", "reference": "Then."},
    {"query_id": "c", "question": "Who?", "answer": None, "reference": "Me.", "error": "time-out"},
]
BLUR = Rubric("blur_z", "Is it blurred?", "How blurred? {answer}", greater_is_better=False)


def said(score):
    return json.dumps({"reasoning": f"I say {score}.", "score": score})


def likes_here(text):
    return said(5 if "Here." in text else 2)


def test_computed_and_judged_metrics_stand_beside_each_other():
    chat = FunctionChat(likes_here, model="judge-1")
    found = score(ASKED, ["coherence", "exact_match"], chat=chat, config={"top_k": 3})
    assert list(found.metrics) == ["exact_match", "coherence"]  # what is computed comes first
    assert found.scores["exact_match"].tolist()[:2] == [1.0, 0.0]
    assert found.scores["coherence"].tolist()[:2] == [1.0, 0.25]  # 5 and 2 on a scale of 1 to 5
    assert found.details["coherence_reason"].tolist() == ["I say 5.", "I say 2.", "time-out"]
    assert found.states["coherence"].tolist() == ["scored", "scored", "failed"]
    assert found.config["top_k"] == 3
    assert found.config["judge"]["judge_model"] == "judge-1"
    assert any("judge-1 was asked 2 times" in note for note in found.notes)


def test_a_rubric_of_ones_own_keeps_its_direction_and_stays_out_of_the_catalogue():
    found = score(ASKED[:2], BLUR, chat=likes_here)
    assert found.metrics["blur_z"].greater_is_better is False
    assert found.metrics["blur_z"].bounds == (0.0, 1.0)
    assert "blur_z" not in METRICS


def test_a_judged_metric_needs_a_chat_and_says_so():
    with pytest.raises(DataError, match=r"faithfulness needs a judge\. Pass the chat model"):
        score(ASKED, ["exact_match", "faithfulness"])


@pytest.mark.parametrize("name", ["exact_match", "false_refusal", "latency_ms", "rouge_l"])
def test_a_cutoff_is_refused_not_ignored(name):
    rows = [{"query_id": "a", "answer": "x", "reference": "x", "answerable": True}]
    with pytest.raises(DataError, match=f"'{name}' has no cutoff: write it without @3"):
        score(rows, f"{name}@3")


def test_a_name_that_nobody_knows_is_sought_among_metrics_and_judges():
    for wrong, meant in (("harmlesness", "harmlessness"), ("exct_match", "exact_match")):
        with pytest.raises(UnknownNameError, match=f"Did you mean '{meant}'"):
            score(ASKED, wrong)


def test_what_was_judged_is_kept_when_the_user_interrupts():
    def chat(text):
        if "Now." in text:
            raise KeyboardInterrupt
        return said(5)

    found = score_and_judge(ASKED[:2], ["exact_match", BLUR], chat=chat, judging={"concurrency": 1})
    assert found.is_interrupted
    assert found.evaluation.scores["exact_match"].tolist() == [1.0, 0.0]
    assert found.evaluation.scores["blur_z"].isna().tolist() == [False, True]


def test_a_detail_named_like_a_score_gets_a_name_that_is_free():
    index = pd.Index(["a"], name="query_id")
    scores = pd.DataFrame({"latency_ms": [3.0]}, index=index)
    details = pd.DataFrame({"latency_ms": [3.0], "latency_ms_given": [5.0]}, index=index)
    evaluation = build_evaluation("mine", scores, details)
    assert evaluation.details["latency_ms_given"].tolist() == [5.0]
    assert evaluation.details["latency_ms_given_2"].tolist() == [3.0]
