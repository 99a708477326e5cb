"""Doubts about scales are settled with options."""


def test_stated_bounds_decide_where_numbers_beside_percent_lie(folder, run, refused):
    (folder / "percent.csv").write_text("query_id,accuracy\nq1,85%\nq2,0.9\n")
    message = refused("report percent.csv")
    assert "'85%' at 'q1' and 0.9 at 'q2', which may be 0.9 or 0.9 %" in message
    assert "--bounds accuracy=0:1 or --bounds accuracy=0:100" in message
    assert "0.875" in run("report percent.csv --bounds accuracy=0:1 --format csv").stdout
    assert "42.95" in run("report percent.csv --bounds accuracy=0:100 --format csv").stdout


def test_the_decimal_sign_is_an_option_of_the_reader(folder, run, refused):
    (folder / "slow.csv").write_text('query_id,latency\nq1,"1,234"\nq2,0.5\n')
    assert "--option decimal=. or --option decimal=," in refused("report slow.csv")
    assert "617.25" in run("report slow.csv --option decimal=. --format csv").stdout


def test_runs_on_two_scales_are_not_compared(folder, run, refused):
    (folder / "marks.csv").write_text("query_id,groundedness\nq1,5\nq2,3\n")
    (folder / "ones.csv").write_text("query_id,groundedness\nq1,1\nq2,1\n")
    message = refused("compare marks.csv ones.csv")
    assert "from 1 to 5 in 'marks' and from 0 to 1 in 'ones', which cannot be compared" in message
    assert "--bounds NAME=LOW:HIGH" in message
    run("compare marks.csv ones.csv --bounds groundedness=1:5")
