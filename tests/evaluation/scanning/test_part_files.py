"""The parts of a file for all rows lie beside it, where workers of a cluster can write too."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning import changed_queries, part_files
from rageval_report.evaluation.scanning.part_files import folder_of_parts, write_part
from tests.evaluation.scanning.conftest import scans_of, scores_frame, write_parquet


def test_parts_lie_beside_the_file_and_are_removed(tmp_path):
    target = tmp_path / "new" / "failures.parquet"
    with folder_of_parts(target) as folder:
        assert Path(folder).parent == target.parent
        assert Path(folder).name.startswith(".failures.parquet.")
        part = write_part(folder, pa.table({"x": [1, 2]}))
        assert pq.read_table(part).column("x").to_pylist() == [1, 2]
    assert list(target.parent.iterdir()) == []


def test_parts_of_work_that_was_killed_are_not_read_with_the_folder(tmp_path):
    write_parquet(scores_frame(120), tmp_path / "a.parquet")
    with folder_of_parts(tmp_path / "failures.parquet") as folder:
        write_part(folder, pa.table({"query_id": ["other"], "similarity": [0.5]}))
        assert RAGPipelineEvaluation.scan(tmp_path).n_queries == 120


def test_parts_are_removed_after_an_error(tmp_path):
    def fail():
        with folder_of_parts(tmp_path / "failures.csv") as folder:
            write_part(folder, pa.table({"x": [1]}))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_without_a_file_there_is_no_folder():
    with folder_of_parts(None) as folder:
        assert folder is None


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "scores").write_text("a file")
    folder = folder_of_parts(tmp_path / "scores" / "failures.parquet")
    with pytest.raises(DataError, match=r"failures\.parquet cannot be written"):
        folder.__enter__()


def test_a_worker_without_the_folder_says_what_the_path_needs(tmp_path):
    elsewhere = tmp_path / "shared" / ".failures.parquet.x.parts"
    with pytest.raises(DataError, match="every worker of the cluster shares") as raised:
        write_part(str(elsewhere), pa.table({"x": [1]}))
    assert str(tmp_path / "shared") in str(raised.value)


def test_nothing_but_the_file_is_left_and_the_parts_were_beside_it(tmp_path, monkeypatch):
    frames = [scores_frame(300, 0), scores_frame(300, 1)]
    scans = scans_of(frames, tmp_path / "tables")
    written = []

    def note(folder, table):
        written.append(Path(folder).parent)
        return part_files.write_part(folder, table)

    monkeypatch.setattr(changed_queries, "write_part", note)
    target = tmp_path / "out" / "worse.parquet"
    compare(*scans).regressions("similarity", path=target)
    assert written
    assert set(written) == {target.parent}
    assert list(target.parent.iterdir()) == [target]
