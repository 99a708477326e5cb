"""Files through fsspec: its file systems in memory and on the disk, and a server of the web."""

import functools
import http.server
import pickle
import sys
import threading

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, rank, read_scores
from rageval_report.errors import DataError, MissingDependencyError, ReaderError
from rageval_report.files.inputs import hide_password
from rageval_report.sources import files as remote_files
from rageval_report.sources.files import TemporaryFolder

fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")


def evaluation(name, scores, start=0):
    ids = [f"q{number}" for number in range(start, start + len(scores))]
    data = {"query_id": ids, "recall@5": scores, "answer": ["A"] * len(ids)}
    return RAGPipelineEvaluation(name, data, config={"k": 5}, created="2026-08-01")


@pytest.fixture
def memory():
    """The file system in memory, which all tests of a process share, emptied."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def put(system, tmp_path, evaluations, folder, ending=".csv"):
    for one in evaluations:
        path = one.save(tmp_path / f"{one.name}{ending}")
        for file in path.parent.glob(f"{path.name}*"):
            system.pipe_file(f"{folder}/{file.name}", file.read_bytes())


def test_a_file_reads_as_the_same_evaluation(memory, tmp_path):
    saved = evaluation("hybrid", [0.5, np.nan, 1.0])
    put(memory, tmp_path, [saved], "/runs")
    read = RAGPipelineEvaluation.load(None, "memory://runs/hybrid.csv")
    pd.testing.assert_frame_equal(read.scores, saved.scores)
    pd.testing.assert_frame_equal(read.details, saved.details)
    assert (read.name, read.config, read.created) == ("hybrid", {"k": 5}, saved.created)
    assert "memory://runs/hybrid.csv" in str(inspect("memory://runs/hybrid.csv"))


def test_a_folder_and_a_glob_are_one_evaluation_per_file(memory, tmp_path):
    runs = [evaluation("bm25", [0.5, 1, 0]), evaluation("dense", [1, 1, 0.5])]
    put(memory, tmp_path, runs, "/runs")
    memory.pipe_file("/runs/README.md", b"about the runs")
    memory.pipe_file("/runs/old/bm25.csv", b"query_id,recall@5\nq0,0\n")
    in_folder = read_scores("memory://runs")
    assert sorted(in_folder) == ["bm25", "dense"]
    assert any(
        "skipped because of their endings: 'README.md'" in n for n in in_folder["bm25"].notes
    )
    assert sorted(read_scores("memory://runs/*.csv")) == ["bm25", "dense"]
    assert rank("memory://runs/*.csv").sentences[0].startswith("dense has the best recall@5")


def test_a_scan_of_copied_files_gives_the_numbers_of_memory(memory, tmp_path):
    pytest.importorskip("pyarrow")
    scores = np.random.default_rng(0).integers(0, 5, 200) / 4
    parts = [evaluation(f"part-{n}", scores[n * 50 :][:50], n * 50) for n in range(4)]
    put(memory, tmp_path, parts, "/parts", ".parquet")
    whole = evaluation("whole", scores).evaluation_report().frame
    scanned = RAGPipelineEvaluation.scan("memory://parts/*.parquet").evaluation_report().frame
    columns = ["n", "mean", "ci_low", "ci_high"]
    pd.testing.assert_frame_equal(whole[columns], scanned[columns], check_dtype=False)
    with pytest.raises(DataError, match="is not a file or a database"):
        RAGPipelineEvaluation.scan("mlflow://experiment")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_scan_of_copied_files_has_the_name_of_the_place(memory, tmp_path, ending):
    pytest.importorskip("pyarrow")
    parts = [evaluation(f"part-{n}", [0.5, 1, 0, 0.25], n * 4) for n in range(2)]
    put(memory, tmp_path, parts, "/lake/hybrid", ending)
    for address in (f"memory://lake/hybrid/*{ending}", "memory://lake/hybrid"):
        scan = RAGPipelineEvaluation.scan(address)
        # The copies last as long as the scan.
        assert (scan.name, scan.n_queries) == ("hybrid", 8)
    one = RAGPipelineEvaluation.scan(f"memory://lake/hybrid/part-1{ending}")
    assert (one.name, one.evaluation_report()["Recall@5"]) == ("part-1", 0.4375)


def test_local_files_have_addresses_too(tmp_path):
    evaluation("hybrid", [1, 0.5]).save(tmp_path / "hybrid.parquet")
    [read] = read_scores((tmp_path / "hybrid.parquet").as_uri()).values()
    assert read.scores["recall@5"].tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://none.csv", r"memory://none.csv: there is no such file"),
        ("memory://none/*.csv", "no file matches the pattern"),
        ("memory://", "no file is named"),
        ("memory://blank.csv", "is empty"),
        ("memory://text.csv", "no reader recognises this file"),
        ("memory://docs", "contains no file of scores; it contains 'page.html'"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_address(memory, address, message):
    memory.pipe_file("/blank.csv", b"")
    memory.pipe_file("/text.csv", b"just a text\n")
    memory.pipe_file("/docs/page.html", b"<p>")
    with pytest.raises(ReaderError, match=message) as caught:
        read_scores(address)
    assert str(caught.value).startswith(address)


def test_a_line_in_an_error_is_that_of_the_remote_file(memory):
    memory.pipe_file("/bad.csv", b"query_id,mrr\nq1,0.5\nq2,1,7\n")
    with pytest.raises(ReaderError, match=r"^memory://bad.csv, line 3"):
        read_scores("memory://bad.csv")


def test_scores_are_not_written_through_fsspec(memory):
    with pytest.raises(ReaderError, match="saved to a file"):
        evaluation("hybrid", [1]).save("memory://hybrid.csv")


def test_a_missing_file_system_is_named_with_the_line_for_this_interpreter(monkeypatch):
    def refuse(url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    with pytest.raises(MissingDependencyError, match="-m pip install 's3fs'") as caught:
        read_scores("s3://bucket/runs/hybrid.csv")
    assert sys.executable in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_without_fsspec_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"rageval-report\[remote\]"):
        remote_files.load("fsspec.core")


def test_the_copies_are_removed_with_the_evaluations(memory, monkeypatch):
    folders = []
    make = TemporaryFolder.__init__

    def remember(self):
        make(self)
        folders.append(self.path)

    monkeypatch.setattr(TemporaryFolder, "__init__", remember)
    memory.pipe_file("/hybrid.csv", b"query_id,mrr\nq1,0.5\n")
    scores = read_scores("memory://hybrid.csv")["hybrid"].scores
    assert folders
    assert not any(folder.exists() for folder in folders)
    assert scores["mrr"].tolist() == [0.5]


# -- the web


@pytest.fixture
def server(tmp_path):
    """A web server of a folder: its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            """Nothing is logged."""

    handler = functools.partial(Handler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def test_a_file_of_a_web_server_is_read_and_its_signature_not_shown(server, tmp_path):
    pytest.importorskip("aiohttp", reason="fsspec[http] is not installed")
    saved = evaluation("hybrid", [0.5, 1])
    saved.save(tmp_path / "hybrid.csv")
    read = RAGPipelineEvaluation.load(None, f"{server}/hybrid.csv")
    assert (read.name, read.config) == ("hybrid", {"k": 5})
    [signed] = read_scores(f"{server}/hybrid.csv?X-Amz-Signature=geheim&se=2026").values()
    pd.testing.assert_frame_equal(signed.scores, saved.scores)
    assert "geheim" not in str(inspect(f"{server}/hybrid.csv?X-Amz-Signature=geheim"))
    with pytest.raises(ReaderError) as caught:
        read_scores(f"{server}/none.csv?X-Amz-Signature=geheim")
    assert "geheim" not in f"{caught.value}{caught.value.__cause__!r}"
    assert "no such file" in str(caught.value)


def test_signatures_in_addresses_are_hidden():
    hidden = hide_password("https://h/a.csv?X-Amz-Signature=x1&sig=x2&X-Amz-Credential=x3&se=2026")
    assert not [secret for secret in ("x1", "x2", "x3") if secret in hidden]
    assert hidden.endswith("&se=2026")
