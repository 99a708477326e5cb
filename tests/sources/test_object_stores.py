"""Real clients of object stores, against servers of their interfaces on this machine."""

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, rank, read_scores
from rageval_report.errors import ReaderError

pytest.importorskip("fsspec", reason="the extra remote is not installed")
ROOT = Path(__file__).parents[2]


def evaluation(name, seed):
    rng = np.random.default_rng(seed)
    ids = [f"q{number:03d}" for number in range(60)]
    scores = np.clip(rng.integers(0, 5, 60) / 4 + 0.25 * seed, 0, 1)
    return RAGPipelineEvaluation(name, {"query_id": ids, "recall@5": scores}, config={"k": 5})


@pytest.fixture
def runs(tmp_path):
    """Two evaluations, and the folder with their CSV and Parquet files."""
    both = [evaluation("bm25", 0), evaluation("hybrid", 1)]
    for one in both:
        for ending in (".csv", ".parquet"):
            one.save(tmp_path / f"{one.name}{ending}")
    return both, tmp_path


def read_elsewhere(address, **environment):
    """The mean of each pipeline behind an address, read by a process of its own.

    The client takes the address of its service from the environment when it is imported.
    """
    script = (
        "import json, sys\n"
        "from rageval_report import read_scores\n"
        "runs = read_scores(sys.argv[1])\n"
        "print(json.dumps({n: float(r.scores['recall@5'].mean()) for n, r in runs.items()}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, address],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def means_of(evaluations):
    return {one.name: pytest.approx(float(one.scores["recall@5"].mean())) for one in evaluations}


# -- Amazon S3


@pytest.fixture
def bucket(runs, monkeypatch):
    """The address of a bucket of a moto server that holds the files."""
    servers = pytest.importorskip("moto.server", reason="moto[server] is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = servers.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    system.mkdir("scores")
    _, folder = runs
    for file in sorted(folder.iterdir()):
        system.put_file(str(file), f"scores/runs/{file.name}")
    yield "s3://scores/runs"
    system.rm("scores", recursive=True)  # servers of one process share their buckets
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def test_a_bucket_is_read_as_the_files_that_were_put_there(bucket, runs):
    both, _ = runs
    read = read_scores(f"{bucket}/*.csv")
    assert sorted(read) == ["bm25", "hybrid"]
    for one in both:
        pd.testing.assert_frame_equal(read[one.name].scores, one.scores)
        assert read[one.name].config == {"k": 5}
    assert rank(f"{bucket}/*.parquet").best("recall@5") == ("hybrid",)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_scan_of_a_bucket_has_the_numbers_of_memory(bucket, runs, ending):
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    both, _ = runs
    scans = [RAGPipelineEvaluation.scan(f"{bucket}/{one.name}.{ending}") for one in both]
    pd.testing.assert_frame_equal(rank(*scans).frame, rank(*both).frame, rtol=1e-9)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("runs/none.csv", "there is no such file"),
        ("runs/none*.csv", "no file matches the pattern"),
        ("../other/none.csv", "there is no such file|cannot be read"),
    ],
)
def test_what_is_not_in_a_bucket_is_said_with_its_address(bucket, place, message):
    address = f"s3://scores/{place}"
    with pytest.raises(ReaderError, match=message) as caught:
        read_scores(address)
    assert str(caught.value).startswith(address)
    assert "testing" not in str(caught.value)


# -- Google Cloud Storage


@pytest.fixture
def storage(runs):
    """The address of an emulator of Google Cloud Storage that holds the files."""
    emulator = pytest.importorskip(
        "gcp_storage_emulator.server", reason="gcp-storage-emulator is not installed"
    )
    pytest.importorskip("gcsfs", reason="gcsfs is not installed")
    _, folder = runs
    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="scores")
    server.start()
    address = f"http://127.0.0.1:{server._api._httpd.server_port}"
    for file in sorted(folder.iterdir()):
        upload = urllib.request.Request(
            f"{address}/upload/storage/v1/b/scores/o?uploadType=media&name=runs/{file.name}",
            data=file.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
        )
        urllib.request.urlopen(upload).close()
    yield address
    server.stop()


@pytest.mark.parametrize("place", ["runs/*.csv", "runs/*.parquet"])
def test_a_bucket_of_google_is_read_as_the_files_that_were_put_there(storage, runs, place):
    both, _ = runs
    found = read_elsewhere(f"gs://scores/{place}", STORAGE_EMULATOR_HOST=storage)
    assert found == means_of(both)


# -- the hub of Hugging Face


@pytest.fixture
def hub(runs):
    """The address of a server that answers as the hub does for one data set.

    By its documentation: https://huggingface.co/docs/hub/api, and the requests of its client.
    """
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    _, folder = runs
    files = {f"runs/{file.name}": file.read_bytes() for file in sorted(folder.iterdir())}
    handler = functools.partial(HubHandler, files)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


COMMIT = "0123456789abcdef0123456789abcdef01234567"


class HubHandler(http.server.BaseHTTPRequestHandler):
    """Answers the requests of the hub's client about the data set team/scores."""

    def __init__(self, files, *arguments):
        self.files = files
        super().__init__(*arguments)

    def log_message(self, *arguments):
        """Nothing is logged."""

    def entries(self, names):
        """The files of these names, and the folder."""
        for name in names:
            if name in self.files:
                size = len(self.files[name])
                yield {"type": "file", "path": name, "size": size, "oid": COMMIT}
            elif name == "runs":
                yield {"type": "directory", "path": name, "size": 0, "oid": COMMIT}

    def answer(self, body, **headers):
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        api, content = "/api/datasets/team/scores", "/datasets/team/scores/resolve/"
        if path.startswith(content):
            name = path.removeprefix(content).partition("/")[2]
            if name in self.files:
                self.answer(self.files[name], ETag=f'"{COMMIT}"', X_Repo_Commit=COMMIT)
                return
        elif path.startswith(f"{api}/tree/"):
            listed = list(self.entries(self.files if path.endswith("/runs") else ["runs"]))
            self.answer(json.dumps(listed).encode(), Content_Type="application/json")
            return
        elif path in (api, f"{api}/revision/main"):
            known = {"id": "team/scores", "sha": COMMIT, "siblings": [], "private": False}
            self.answer(json.dumps(known).encode(), Content_Type="application/json")
            return
        self.send_error(404)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_json = self.headers["Content-Type"].startswith("application/json")
        asked = json.loads(body) if is_json else urllib.parse.parse_qs(body)
        listed = list(self.entries(asked["paths"]))
        self.answer(json.dumps(listed).encode(), Content_Type="application/json")


@pytest.mark.parametrize("place", ["runs/*.csv", "runs/*.parquet"])
def test_a_data_set_of_the_hub_is_read_as_the_files_that_were_put_there(hub, runs, tmp_path, place):
    both, _ = runs
    environment = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    assert read_elsewhere(f"hf://datasets/team/scores/{place}", **environment) == means_of(both)
    [name] = read_elsewhere("hf://datasets/team/scores/runs/bm25.csv", **environment)
    assert name == "bm25"
