import pytest

from rageval_report.errors import ArgumentKindError, DataError
from rageval_report.sources.files import is_glob, list_files


@pytest.fixture
def folder(tmp_path):
    """A folder of two tables, the description of one, and files that hold no scores."""
    for name in ("b.csv", "a.tsv.gz", "b.csv.meta.json", ".hidden.csv", "_SUCCESS", "README.md"):
        (tmp_path / name).write_text("x")
    return tmp_path


def names_of(listed):
    return [path.name for path in listed.files]


def test_a_folder_stands_for_its_score_files_and_names_what_it_skips(folder):
    listed = list_files(folder)
    assert names_of(listed) == ["a.tsv.gz", "b.csv"]
    assert listed.notes == (f"{folder}: skipped because of their endings: 'README.md'",)


def test_a_glob_matches_files_but_no_hidden_ones_and_no_descriptions(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "c.csv").write_text("x")
    assert names_of(list_files(f"{folder}/*")) == ["README.md", "a.tsv.gz", "b.csv"]
    assert names_of(list_files(f"{folder}/**/*.csv")) == ["b.csv", "c.csv"]
    assert names_of(list_files(f"{folder}/?.csv")) == ["b.csv"]
    assert names_of(list_files(f"{folder}/[a-b].*")) == ["a.tsv.gz", "b.csv"]


def test_a_relative_glob_gives_relative_paths(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert [str(path) for path in list_files("*.csv").files] == ["b.csv"]


def test_partitions_are_searched_where_the_folder_itself_has_no_file(tmp_path):
    for place in ("model=b/part-0.parquet", "model=a/day=2/part-0.parquet", "model=a/_SUCCESS"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("x")
    found = [str(path.relative_to(tmp_path)) for path in list_files(tmp_path).files]
    assert found == ["model=a/day=2/part-0.parquet", "model=b/part-0.parquet"]


def test_a_run_folder_of_a_framework_stands_for_its_file_of_results(folder):
    (folder / "eval_results.jsonl").write_text("{}")
    listed = list_files(folder)
    assert names_of(listed) == ["eval_results.jsonl"]


def test_a_list_keeps_its_order_and_may_hold_folders_and_globs(folder):
    listed = list_files([folder / "b.csv", f"{folder}/a*"])
    assert names_of(listed) == ["b.csv", "a.tsv.gz"]


def test_a_file_whose_name_has_a_wildcard_is_that_file(tmp_path):
    odd = tmp_path / "run[1].csv"
    odd.write_text("x")
    (tmp_path / "run1.csv").write_text("x")
    assert not is_glob(str(odd))
    assert names_of(list_files(odd)) == ["run[1].csv"]


def test_a_path_without_a_pattern_is_not_looked_for():
    assert names_of(list_files("nowhere/run.csv")) == ["run.csv"]


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("/*.json", r"no file matches the pattern '.*\*\.json'; the folder .* contains 'README"),
        ("/none/*.csv", r"the folder .*none does not exist"),
    ],
)
def test_a_glob_without_a_match_says_what_the_folder_contains(folder, pattern, told):
    with pytest.raises(DataError, match=told):
        list_files(f"{folder}{pattern}")


def test_a_folder_without_scores_says_what_it_contains(tmp_path):
    with pytest.raises(DataError, match=r"contains no file of scores .*; it is empty"):
        list_files(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(DataError, match=r"it contains 'notes\.md"):
        list_files(tmp_path)


def test_a_file_that_appears_twice_is_named(folder):
    with pytest.raises(DataError, match=r"appear more than once: .*b\.csv"):
        list_files([f"{folder}/b.csv", folder])


def test_a_list_must_hold_paths():
    with pytest.raises(ArgumentKindError, match="path must be a list of paths; it contains"):
        list_files(["a.csv", 3])
    with pytest.raises(DataError, match="path is an empty list"):
        list_files([])
