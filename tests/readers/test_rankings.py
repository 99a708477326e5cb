"""Rankings with judgments are scores at every door; the witness is pytrec_eval-terrier 0.5.11."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, rank, read_scores, score_rankings
from rageval_report.errors import AlignmentError, DataError, ReaderError, UnknownNameError
from rageval_report.metrics.ranking_options import DEFAULT_METRICS
from rageval_report.readers.ranking_files import ranking_name

pytrec_eval = pytest.importorskip("pytrec_eval")

RUN = {"q1": {"a": 0.9, "b": 0.8, "c": 0.1}, "q2": {"b": 3.5, "d": 3.25}}
QRELS = {"q1": {"b": 2, "c": 1, "x": 0}, "q2": {"b": 1, "e": 1}}
METRICS = ["ndcg@10", "map", "mrr", "recall@5", "P@2"]
MEASURES = ["ndcg_cut_10", "map", "recip_rank", "recall_5", "P_2"]


def trec(run=None, tag="bm25"):
    run = RUN if run is None else run
    return "".join(
        f"{query} Q0 {doc} {rank} {score} {tag}\n"
        for query, docs in run.items()
        for rank, (doc, score) in enumerate(docs.items(), 1)
    )


def table(run=None, delimiter="\t", header="query-id\tcorpus-id\tscore"):
    rows = [(query, doc, n) for query, docs in (run or RUN).items() for doc, n in docs.items()]
    lines = [delimiter.join(map(str, row)) for row in rows]
    return "\n".join([*([header.replace("\t", delimiter)] if header else []), *lines, ""])


def qrels_text(qrels=None):
    rows = ((query, doc, n) for query, docs in (qrels or QRELS).items() for doc, n in docs.items())
    return "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows)


def by_pytrec_eval(run, qrels, measures=MEASURES):
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(measures))
    rows = evaluator.evaluate(run)
    return pd.DataFrame.from_dict(
        {query: [rows[query][measure] for measure in measures] for query in qrels}, orient="index"
    )


EXPECTED = by_pytrec_eval(RUN, QRELS)


@pytest.fixture
def file(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def scored(path, qrels=None, metrics=METRICS, **options):
    [evaluation] = read_scores(
        path, qrels=QRELS if qrels is None else qrels, metrics=metrics, **options
    ).values()
    return evaluation


def assert_expected(evaluation):
    assert evaluation.scores.index.tolist() == list(QRELS)
    np.testing.assert_array_equal(evaluation.scores.to_numpy(), EXPECTED.to_numpy())


RUN_FILES = {
    "trec": ("bm25.run", trec()),
    "tabs": ("bm25.trec", trec().replace(" ", "\t")),
    "tabs and blanks mixed": ("bm25.res", trec().replace(" Q0 ", "\tQ0  ")),
    "another second column": ("bm25.run", trec().replace(" Q0 ", " E2 ")),
    "comments and blank lines": ("bm25.txt", "# made by hand\n\n" + trec() + "\n"),
    "carriage returns": ("bm25.txt", trec().replace("\n", "\r\n")),
    "no last newline": ("bm25.run", trec()[:-1]),
    "byte-order mark": ("bm25.run", "\ufeff" + trec()),
    "utf-16": ("bm25.run", trec().encode("utf-16")),
    "gzip": ("bm25.run.gz", gzip.compress(trec().encode(), mtime=0)),
    "beir": ("bm25.tsv", table()),
    "three columns without a header": ("bm25.tsv", table(header="")),
    "csv": ("bm25.csv", table(delimiter=",", header="query_id\tdoc_id\tscore")),
    "semicolons": ("bm25.csv", table(delimiter=";", header="qid\tdocno\tscore")),
    "json": ("bm25.json", json.dumps(RUN)),
    "json of lists": ("bm25.json", json.dumps({query: [*docs] for query, docs in RUN.items()})),
    "ranks as tsv": (
        "bm25.tsv",
        table(
            {query: {doc: n for n, doc in enumerate(docs, 1)} for query, docs in RUN.items()},
            header="",
        ),
    ),
    "ranks by name": (
        "bm25.csv",
        table(
            {query: {doc: n for n, doc in enumerate(docs, 1)} for query, docs in RUN.items()},
            ",",
            "topic\tpassage_id\trank",
        ),
    ),
    "ranks as json": (
        "bm25.json",
        json.dumps(
            {query: {doc: n for n, doc in enumerate(docs, 1)} for query, docs in RUN.items()}
        ),
    ),
    "objects in lines": (
        "bm25.jsonl",
        "".join(
            json.dumps({"query_id": query, "doc_id": doc, "score": score}) + "\n"
            for query, docs in RUN.items()
            for doc, score in docs.items()
        ),
    ),
}


@pytest.mark.parametrize(("name", "content"), RUN_FILES.values(), ids=RUN_FILES)
def test_a_ranking_in_any_form_has_the_values_of_trec_eval(file, name, content):
    path = file(name, content)
    evaluation = scored(path)
    assert evaluation.name == "bm25"
    assert_expected(evaluation)
    assert_expected(score_rankings(path, QRELS, METRICS))


QRELS_FILES = {
    "trec": qrels_text(),
    "tabs": qrels_text().replace(" ", "\t"),
    "beir": table(QRELS),
    "without a header": table(QRELS, header=""),
    "csv": table(QRELS, ",", "query_id\tdoc_id\trelevance"),
    "other names": table(QRELS, ";", "qid\tdocno\tlabel"),
    "json": json.dumps(QRELS),
    "utf-16": qrels_text().encode("utf-16"),
    "gzip": gzip.compress(qrels_text().encode(), mtime=0),
}


def test_a_ranking_in_memory_is_scored_too(file):
    rows = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
    frame = pd.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    for run in (RUN, frame, trec().encode(), io.BytesIO(trec().encode()), io.StringIO(trec())):
        assert_expected(scored(run))
        assert_expected(scored(file("a.run", trec()), qrels_text().encode()))


@pytest.mark.parametrize("content", QRELS_FILES.values(), ids=QRELS_FILES)
def test_judgments_in_any_form_give_the_same_scores(file, content):
    run, qrels = file("bm25.run", trec()), file("qrels", content)
    assert_expected(scored(run, qrels))
    assert_expected(score_rankings(run, qrels, METRICS))
    assert_expected(RAGPipelineEvaluation.load("x", run, qrels=str(qrels), metrics=METRICS))


def test_ids_keep_their_zeros_and_their_blanks(file):
    run = {"007": {"0012": 2.0, "the doc": 1.5}, "7": {"12": 1.0}}
    qrels = {"007": {"the doc": 1}, "7": {"0012": 1}}
    text = table(run, ",", "query_id\tdoc_id\tscore")
    scores = scored(file("run.csv", text), qrels, ["mrr"]).scores["mrr"]
    assert scores.to_dict() == {"007": 0.5, "7": 0.0}
    scores = scored(file("run.tsv", table(run)), qrels, ["mrr"]).scores["mrr"]
    assert scores.to_dict() == {"007": 0.5, "7": 0.0}


def test_a_query_without_documents_scores_nothing(file):
    for empty in ({}, []):
        evaluation = scored(file("a.json", json.dumps(RUN | {"q2": empty})))
        expected = by_pytrec_eval({"q1": RUN["q1"], "q2": {"not judged": 1.0}}, QRELS)
        np.testing.assert_array_equal(evaluation.scores.to_numpy(), expected.to_numpy())


# -- names, metrics, settings


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("runs/bm25.run", "bm25"),
        ("bm25.run.gz", "bm25"),
        ("bm25.txt.GZ", "bm25"),
        ("input.bm25", "input.bm25"),
        ("bm25.k1-0.9.b-0.4.txt", "bm25.k1-0.9.b-0.4"),
        ("idst_bert_p1", "idst_bert_p1"),
        ("run.BM25.dl19.txt", "run.BM25.dl19"),
    ],
)
def test_the_name_of_a_run_is_that_of_its_file(path, name):
    assert ranking_name(path) == name


def test_the_tag_is_in_the_configuration(file):
    assert scored(file("a.run", trec(tag="anserini"))).config == {"tag": "anserini"}
    assert scored(file("a.json", json.dumps(RUN))).config == {}


def test_usual_metrics_are_computed_and_named_in_a_note(file):
    evaluation = scored(file("a.run", trec()), metrics=None)
    assert tuple(evaluation.metrics) == DEFAULT_METRICS
    assert "no metrics were named; computed: ndcg@10, recall@100" in evaluation.notes[0]


def test_a_metric_that_rankings_do_not_have_is_refused(file):
    with pytest.raises(UnknownNameError, match="no metric of rankings is named 'faithfulness'"):
        scored(file("a.run", trec()), metrics=["faithfulness"])


@pytest.mark.parametrize("level", [2, "2", 2.0])
def test_settings_are_forwarded_and_noted(file, level):
    evaluation = scored(file("a.run", trec()), relevance_level=level, ties="input")
    same = score_rankings(RUN, QRELS, METRICS, relevance_level=2, ties="input")
    pd.testing.assert_frame_equal(evaluation.scores, same.scores)
    assert any(
        note.startswith("scored with ties input, relevance_level 2") for note in evaluation.notes
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "best"}, "ties must be"),
        ({"relevance_level": "high"}, "relevance_level must be a number > 0; got 'high'"),
        ({"drop_self": "perhaps"}, "drop_self must be"),
        ({"values": "numbers"}, "values must be"),
        ({"duplicates": "mean"}, "duplicates must be"),
        ({"columns": ["mrr"]}, "the rankings reader has no option 'columns'"),
    ],
)
def test_a_wrong_option_is_refused(file, options, message):
    with pytest.raises((DataError, UnknownNameError), match=message):
        scored(file("a.run", trec()), **options)


def test_a_document_twice_is_an_error_that_says_the_way_out(file):
    path = file("a.run", trec() + "q2 Q0 b 3 0.5 bm25\n")
    with pytest.raises(ReaderError, match=r"line 6: .*'b': appears twice.*duplicates=\"best\""):
        scored(path)
    assert_expected(scored(path, duplicates="best"))


# -- what is mistaken for something else


def test_a_file_of_scores_does_not_take_judgments(file):
    scores = file("a.csv", "query_id,recall\nq1,1\nq2,0\n")
    with pytest.raises(
        ReaderError, match=r"a\.csv: qrels= is for a ranking; this file was read as csv"
    ):
        scored(scores)
    dump = file("a.json", json.dumps({"q1": {"map": 0.5}, "q2": {"map": 0.25}}))
    with pytest.raises(
        ReaderError, match="qrels= is for a ranking; this file was read as pytrec_eval"
    ):
        scored(dump)
    named = file("b.json", json.dumps({"q1": {"faithfulness": 0.5}, "q2": {"faithfulness": 1}}))
    with pytest.raises(ReaderError, match="qrels= is for a ranking"):
        scored(named)


@pytest.mark.parametrize("form", ["trec", "csv"])
def test_run_and_judgments_exchanged_are_refused(file, form):
    csv_run = table(delimiter=",", header="query_id\tdoc_id\tscore\trank").replace("\n", ",1\n")
    csv_run = csv_run.replace("rank,1", "rank")
    run = file("a.run", trec() if form == "trec" else csv_run)
    qrels = file("q.txt", QRELS_FILES[form])
    with pytest.raises(
        ReaderError, match=r"q\.txt: expected a ranking; this looks like .*judgments"
    ):
        scored(qrels, run)
    other = file("b.run", trec(tag="dense"))
    with pytest.raises(
        ReaderError, match=r"a\.run: expected judgments; this looks like a .*swapped"
    ):
        scored(other, run)


def test_one_file_on_both_sides_is_refused(file):
    path = file("a.json", json.dumps(QRELS))
    with pytest.raises(ReaderError, match="the run and the judgments are the same file"):
        scored(path, path)


def test_document_ids_that_never_meet_are_noted(file):
    run = {
        query: {f"doc-{doc}": score for doc, score in docs.items()} for query, docs in RUN.items()
    }
    evaluation = scored(file("a.run", trec(run)))
    [note] = [note for note in evaluation.notes if "is judged" in note]
    assert note.endswith("differently?")


def test_queries_that_never_meet_are_an_error(file):
    with pytest.raises(AlignmentError, match="no query in common"):
        scored(file("a.run", trec()), {"Q1": {"a": 1}})


def test_ranks_are_noted_and_can_be_overruled(file):
    ranks = {query: {doc: n for n, doc in enumerate(docs, 1)} for query, docs in RUN.items()}
    for name, content in (("a.tsv", table(ranks, header="")), ("a.json", json.dumps(ranks))):
        path = file(name, content)
        assert any("read as ranks" in note for note in scored(path).notes)
        assert_expected(scored(path, values="ranks"))
        as_scores = scored(path, values="scores")
        same = by_pytrec_eval(
            {q: {d: float(n) for d, n in docs.items()} for q, docs in ranks.items()}, QRELS
        )
        np.testing.assert_array_equal(as_scores.scores.to_numpy(), same.to_numpy())


# -- errors say the way out

FAULTS = {
    "no judgments needed": (
        trec(),
        None,
        'Pass its judgments: read_scores(path, qrels="qrels.txt"',
    ),
    "words after the tag": (
        trec() + "q2 Q0 z 3 1 a tag\n",
        QRELS,
        r"line 6: expected 6 columns.*awk",
    ),
    "no tag": ("q1 Q0 a 1 0.9\nq1 Q0 b 2 0.8\n", QRELS, r"line 1: expected 6 columns.*awk"),
    "a blank in an id": (trec() + "q2 Q0 the doc 3 1 t\n", QRELS, "line 6: .*write a table"),
    "not a number": (
        trec() + "q2 Q0 z 3 nan t\n",
        QRELS,
        "line 6: the score must be a number; got 'nan'",
    ),
    "a decimal comma": (trec() + "q2 Q0 z 3 0,5 t\n", QRELS, "line 6: .*Correct the line"),
    "cp1252 in a large file": (trec() + "q2 Q0 caf\x00 3 0.5 t\n", QRELS, "line 6|NUL|binary"),
    "empty": ("", QRELS, "the file is empty"),
    "blanks": ("\n \n", QRELS, "blanks|no rows|no reader"),
    "no scores": ("q1 Q0 a 1\nq1 Q0 b 2\n", QRELS, r"expected a ranking; .*write a score"),
    "a row too short": (
        "query_id,doc_id,score\nq1,a\n",
        QRELS,
        r"line 2: .*expected 3 fields, .* found 2",
    ),
    "a stray quote": (
        'query_id,doc_id,score\nq1,"a,1\nq1,b,2\nq2,c",1,3\nq2,d,1\n',
        QRELS,
        "line|fields",
    ),
    "a quote that spans lines": (
        'query_id,doc_id,score\nq1,"a\n",1\nq1,b,2\n',
        QRELS,
        "line 3: a field spans several lines",
    ),
    "a word": (
        "query_id,doc_id,score\nq1,a,1\nq1,b,high\n",
        QRELS,
        r"line 3: the score must be .*'high'",
    ),
    "damaged json": ('{"q1": {"a": 0.5}, "q2": {"b" 1}}', QRELS, "line 1"),
    "a word in json": (
        '{"q1": {"a": 0.5, "b": 1}, "q2": {"b": 1, "c": "high", "d": 2}}',
        QRELS,
        "query 'q2': expected a score that is a number; got 'high'",
    ),
    "a number for a list": (
        '{"q1": ["a"], "q2": ["b"], "q3": 7}',
        QRELS,
        "query 'q3' must have its documents",
    ),
    "a damaged first row": (
        "q1\ta\t0_9\nq1\tb\t0.8\nq2\tb\t3.5\n",
        QRELS,
        "line 1: the score must be a number; got '0_9'",
    ),
    "a word in the first row": (
        "q1\ta\tnone\nq1\tb\t0.8\nq2\tb\t3.5\n",
        QRELS,
        "line 1: the score must be a number; got 'none'",
    ),
    "a bad row of three": (
        "q1\ta\t2.5\nq1\tb\nq2\tb\t1.5\nq2\tc\t1\nq2\td\t0\n",
        QRELS,
        "line 2: exp",
    ),
    "an empty id": ('{"q1": {"a": "high"}}', QRELS, "qrels= is for|expected a ranking|no reader"),
}


@pytest.mark.parametrize(("text", "qrels", "message"), FAULTS.values(), ids=FAULTS)
def test_an_error_names_the_file_and_the_way_out(file, text, qrels, message):
    with pytest.raises(
        ReaderError, match=message.replace("(", r"\(") if qrels is None else message
    ):
        read_scores(file("a.run", text), qrels=qrels)


def test_judgments_that_cannot_be_read_are_named(file):
    run = file("a.run", trec())
    with pytest.raises(ReaderError, match=r"q\.txt, line 5: expected 4 columns.*awk"):
        scored(run, file("q.txt", "".join(qrels_text().splitlines(keepends=True)[:4]) + "q1 a 1\n"))
    with pytest.raises(ReaderError, match=r"q\.txt: there is no such file"):
        scored(run, run.with_name("q.txt2").with_name("q.txt").parent / "none" / "q.txt")


# -- real runs

DL19 = ("ndcg_cut_10", "map", "recip_rank", "recall_100", "P_10")


def parsed(path, of_query, of_number, n=None):
    rows: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        words = line.split()
        rows.setdefault(words[0], {})[words[2]] = of_number(words[of_query])
    return rows


def test_nine_real_runs_have_the_means_of_pytrec_eval(real_data):
    qrels_path = real_data("trec_dl19/qrels.dl19-passage.txt")
    qrels = parsed(qrels_path, 3, int)
    evaluations = []
    for path in sorted(qrels_path.parent.glob("run.*")):
        [evaluation] = read_scores(path, qrels=qrels_path, metrics=DL19).values()
        expected = by_pytrec_eval(parsed(path, 4, float), qrels, DL19)
        np.testing.assert_array_equal(evaluation.scores.to_numpy(), expected.to_numpy())
        assert evaluation.scores.index.tolist() == expected.index.tolist()
        pd.testing.assert_frame_equal(
            evaluation.scores, score_rankings(path, qrels_path, DL19).scores
        )
        evaluations.append(evaluation)
    assert len({evaluation.name for evaluation in evaluations}) == 9
    ranking = rank(*evaluations, metrics=["ndcg@10"])
    means = {each.name: each.scores["ndcg@10"].mean() for each in evaluations}
    assert ranking.frame.set_index("pipeline")["mean"].to_dict() == pytest.approx(means, rel=1e-14)
    compared = compare(*evaluations[:2], metrics=DL19).frame
    for side, evaluation in zip(("baseline_mean", "candidate_mean"), evaluations, strict=False):
        means = evaluation.scores.mean().tolist()
        assert compared[side].tolist() == pytest.approx(means, rel=1e-14)


def test_the_official_test_of_trec_eval_has_its_printed_values(real_data):
    folder = real_data("trec_eval_official_test/results.test").parent
    names = ["map", "recip_rank", "P_5", "P_10", "bpref", "recall_100"]
    [evaluation] = read_scores(
        folder / "results.test", qrels=folder / "qrels.test", metrics=names
    ).values()
    [printed] = read_scores(folder / "out.test.aq", reader="trec_eval").values()
    theirs = printed.scores[[name for name in evaluation.metrics if name in printed.scores]]
    assert len(theirs.columns) == len(names)
    ours = evaluation.scores.loc[theirs.index, theirs.columns]
    # trec_eval prints four decimals.
    assert np.abs(ours.to_numpy() - theirs.to_numpy()).max() <= 0.5e-4 + 1e-12


def test_a_score_that_no_float_holds_is_refused_with_its_document(write):
    run = {"q1": {"d1": 10**400, "d2": 1}, "q2": {"d3": 1}}
    with pytest.raises(ReaderError, match="score of document 'd1' for query 'q1' must be a numb"):
        read_scores(write(json.dumps(run)), qrels={"q1": {"d2": 1}}, metrics=["mrr"])
