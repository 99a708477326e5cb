"""Real clients of object stores, against servers of their interfaces on this machine."""

import json
import os
import subprocess
import sys
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
