"""The command inspect, and --role on every command that reads scores."""

from __future__ import annotations

TABLE = "qid,model,recall,gold_rank\n1,a,0.5,3\n2,a,1,2\n3,b,0.25,1\n4,b,0.75,1\n"


def test_inspect_shows_roles_and_doubts(folder, run):
    (folder / "d.csv").write_text(TABLE)
    text = run("inspect", "d.csv").stdout
    assert "doubt: roles:" in text
    assert "--role model=pipeline" in text
    assert "its name says" in text


def test_a_role_settles_the_doubt(folder, run, refused):
    (folder / "d.csv").write_text(TABLE)
    assert "--role model=detail" in refused("report", "d.csv")
    assert "4" in run("report", "d.csv", "--role", "model=detail").stdout
    result = run("inspect", "d.csv", "--role", "model=pipeline", "--role", "gold_rank=metric")
    assert "4 rows of 2 pipelines" in " ".join(result.stdout.split())
    assert "doubt" not in result.stdout
    assert "2 pipelines" in refused("compare", "d.csv", "d.csv::b", "--role", "model=pipeline")


def test_no_file_is_wrong_use(refused):
    assert "FILE" in refused("inspect")
