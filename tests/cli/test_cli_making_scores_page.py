"""docs/making_scores.md is walked from its first block to its last, against servers here."""

from __future__ import annotations

from walk import REPOSITORY, walk

from rageval_report.demo.server import ExtractiveRag, ReferenceServer, demo_documents


def test_every_block_runs_in_order_in_one_folder(tmp_path, judge_server, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    judge = f"http://127.0.0.1:{judge_server.server_port}"
    with ReferenceServer(ExtractiveRag(demo_documents())) as server:
        done = walk(
            REPOSITORY / "docs" / "making_scores.md",
            tmp_path,
            lambda text: text.replace("http://localhost:8001", server.url).replace(
                "http://localhost:11434", judge
            ),
        )
    assert (done.run, done.skipped, done.stated) == (11, 0, 0)
    assert judge_server.asked
