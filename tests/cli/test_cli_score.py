import json

import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report

GOLD = [{"qid": "a", "answerable": True, "gold_claim_substr": ["Paris"]}]


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "gold.jsonl", GOLD)
    jsonl(tmp_path / "good.jsonl", [{"qid": "a", "answer_json": {"claim": "It is Paris."}}])
    jsonl(tmp_path / "bad.jsonl", [{"qid": "a", "answer_json": {"claim": "It is Rome."}}])
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(rageval_report, ["score", "--gold", "gold.jsonl", *arguments])


def test_a_gate_that_fails_ends_with_1(files):
    result = run("--trace", "bad.jsonl", "--gates", "precision=0.8")
    assert result.exit_code == 1
    assert "failed" in result.stdout


def test_the_report_and_the_questions_are_written(files):
    result = run("--trace", "good.jsonl", "--report", "report.json", "--queries", "queries.csv")
    report = json.loads((files / "report.json").read_text(encoding="utf-8"))
    assert report["gate_results"]["precision"] == {"value": 1.0, "threshold": 0.8, "passed": True}
    assert (files / "queries.csv").read_text(encoding="utf-8").startswith("query_id,")
    assert "wrote report.json" in result.stderr
    (files / "report.json").write_text("old")
    words = ("--trace", "good.jsonl", "--report", "report.json", "--queries", "queries.csv")
    assert "exists already; replace it with --force" in run(*words).stderr
    assert run(*words, "--force").exit_code == 0
    assert json.loads((files / "report.json").read_text(encoding="utf-8")) == report


def test_a_broken_line_is_told_by_file_and_line(files):
    (files / "bad.jsonl").write_text('{"qid": "a"\n', encoding="utf-8")
    result = run("--trace", "bad.jsonl")
    assert result.exit_code == 2
    assert "bad.jsonl, line 1" in result.stderr


RUN = "q1 Q0 d1 1 0.9 a\nq1 Q0 d2 2 0.5 a\nq2 Q0 d3 1 0.7 a\n"


QRELS = "q1 0 d2 1\nq2 0 d3 2\nq3 0 d9 1\n"


@pytest.fixture
def rankings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bm25.run").write_text(RUN)
    (tmp_path / "dense.run").write_text(RUN.replace("q1 Q0 d1 1 0.9", "q1 Q0 d1 1 0.1"))
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def score_run(*arguments, metrics=("mrr",)):
    told = [word for metric in metrics for word in ("--metric", metric)]
    return CliRunner().invoke(
        rageval_report, ["score", "--run", "bm25.run", "--qrels", "qrels.txt", *told, *arguments]
    )


def frame_of(result):
    return {row["metric"]: row for row in json.loads(result.stdout)["rows"]}


def told_by(result):
    assert result.exit_code == 2
    [line] = result.stderr.strip().splitlines()
    return line


def test_a_run_is_reported(rankings):
    result = score_run("--format", "csv", metrics=("mrr", "recall@5"))
    assert result.exit_code == 0
    rows = [line.split(",") for line in result.stdout.splitlines()]
    place = rows[0].index("mean")
    means = {row[0]: float(row[place]) for row in rows[1:]}
    assert means == {"mrr": 0.5, "recall@5": pytest.approx(2 / 3)}  # 1/2, 1 and 0; 1, 1 and 0


def test_the_scores_of_the_queries_are_written(rankings):
    result = score_run("--queries", "queries.csv")
    assert "wrote queries.csv" in result.stderr
    lines = (rankings / "queries.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["query_id", "q1", "q2", "q3"]


def test_the_values_are_those_of_score_rankings(real_data, tmp_path, monkeypatch):
    folder = real_data("trec_dl19")
    monkeypatch.chdir(tmp_path)
    words = ["score", "--run", str(folder / "run.BM25.dl19.txt")]
    words += ["--qrels", str(folder / "qrels.dl19-passage.txt"), "--format", "csv"]
    words += ["--metric", "ndcg@10", "--metric", "map"]
    result = CliRunner().invoke(rageval_report, words)
    rows = [line.split(",") for line in result.stdout.splitlines()]
    means = [round(float(row[rows[0].index("mean")]), 4) for row in rows[1:]]
    assert means == [0.5058, 0.2993]  # pytrec_eval-terrier 0.5.11, as given with the data


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("", "Say what to score: --run, --qrels and --metric, or --records"),
        ("--gold gold.jsonl", "Missing option '--trace'"),
        ("--trace trace.jsonl", "Missing option '--gold'"),
        ("--run bm25.run", "Missing option '--qrels'"),
        ("--run bm25.run --qrels qrels.txt", "Missing option '--metric'"),
        ("--metric mrr", "Missing option '--run'"),
        ("--run bm25.run --gold gold.jsonl", "--run scores rankings, and --gold does not belong"),
        ("--gold g --trace t --ties error", "--gold scores traces, and --ties does not belong"),
        ("--run r --qrels q --metric m --k 3", "--run scores rankings, and --k does not belong"),
        ("--gates precision=1 --drop-self", "--drop-self scores rankings, and --gates does not"),
        ("--records r.jsonl --k 3", "--k scores traces, and --records does not belong"),
        (
            "--records r.jsonl --metric mrr --ties error",
            "--ties scores rankings, and --records does not",
        ),
    ],
)
def test_a_wrong_mixture_is_told_in_one_line(rankings, words, told):
    assert told in told_by(CliRunner().invoke(rageval_report, ["score", *words.split()]))


RECORDS = [
    {"query_id": "a", "question": "Where?", "answer": "Rome", "reference": "Rome", "note": "x"},
    {"query_id": "b", "question": "When?", "answer": "Never", "reference": "Now", "note": "y"},
]


@pytest.fixture
def answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "answered.jsonl", RECORDS)
    return tmp_path


def score_records(*words):
    return CliRunner().invoke(rageval_report, ["score", "--records", *words])


def test_without_a_name_records_are_scored_by_what_their_fields_allow(answered):
    result = score_records("answered.jsonl", "--format", "json", "--queries", "scores.json")
    assert set(frame_of(result)) == {"exact_match", "token_f1"}
    assert "wrote scores.json" in result.stderr


def test_records_that_allow_nothing_say_what_is_lacking(answered):
    jsonl(answered / "bare.jsonl", [{"query_id": "a", "question": "Where?"}])
    assert "expected retrieved and relevant, or answer and reference" in told_by(
        score_records("bare.jsonl")
    )
