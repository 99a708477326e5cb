"""What pages claim holds: names that they list, tables that a script makes, files that they name.

Their examples are run by `.ci/run`, which walks every page; here run those that need more than the
package: files of Parquet, recorded servers, a bucket in memory.
"""

import contextlib
import io
import json
import re
import runpy
import shlex
from fnmatch import fnmatch
from pathlib import Path

import click
import pandas as pd
import pytest
from click.testing import CliRunner
from walk import REPOSITORY, blocks_of, has_extra, walk

import rageval_report as rr
from rageval_report import METRICS, RAGPipelineEvaluation, metrics
from rageval_report.analysis.stopping import STOP_RULES
from rageval_report.cli import rageval_report
from rageval_report.cli.demo import FOLDER
from rageval_report.demo import write_demo_files
from rageval_report.judges import CHATS
from rageval_report.metrics.trace_results import TraceResult
from rageval_report.plots import PLOTS
from rageval_report.scores import Catalogue
from rageval_report.scores.catalogue.dialects import DIALECTS

DOCS, README = REPOSITORY / "docs", REPOSITORY / "README.md"
TEMPLATE = DOCS / "plugin_template"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


# -- names that pages list

LISTS = {
    "providers of chats": (
        lambda: set(re.findall(r"^\| `(\w+)` \|", page("judges.md"), re.MULTILINE)),
        lambda: {name for name in CHATS if CHATS.distribution_of(name) is None},
    ),
    "rules that stop": (
        lambda: {name for name in STOP_RULES if f"`{name}(" in page("stop_early.md")},
        lambda: set(STOP_RULES),
    ),
    "kinds of plots": (
        lambda: set(re.findall(r"\| \[(\w+)\]\(gallery/\1\.png\) \|", page("pictures.md"))),
        lambda: set(PLOTS) & {path.stem for path in (DOCS / "gallery").iterdir()},
    ),
    "pictures of which_test": (
        lambda: set(re.findall(r"\]\(which_test/(\w+\.png)\)", page("which_test.md"))),
        lambda: {path.name for path in (DOCS / "which_test").iterdir()},
    ),
    "groups of entry points": (
        lambda: set(
            re.findall(
                r"`(?:rageval_report)?\.(\w+)`",
                page("extending.md").partition("Groups of entry points:")[2],
            )
        ),
        lambda: {
            name
            for path in (REPOSITORY / "rageval_report").rglob("*.py")
            for name in re.findall(r'group="rageval_report\.(\w+)"', path.read_text("utf-8"))
        },
    ),
    "files of the demo": (
        lambda: set(re.findall(r'"(\w+\.csv)"', README.read_text(encoding="utf-8"))),
        lambda: {path.name for path in write_demo_files(Path(FOLDER))},
    ),
}


@pytest.mark.parametrize("what", LISTS)
def test_a_page_lists_all_there_are(what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed, there = LISTS[what]
    assert listed() == there() != set()


def test_the_terms_of_the_glossary_are_sorted_and_explained_in_a_sentence_each():
    lines = [line for line in page("glossary.md").splitlines() if line[:1] == "-"]
    entries = [re.fullmatch(r"- \*\*([^A-Z]+?)\*\*: ([A-Z].+)\.", line) for line in lines]
    assert None not in entries
    assert not any(". " in entry[2] for entry in entries)
    keys = [re.sub(r"[^a-z ]", "", entry[1]) for entry in entries]
    assert keys == sorted(set(keys))


# Words of the records and of an option's value, which are no names of the package.
NOT_OURS = {"relevant", "question", "answer", "retrieved", "citations", "-o report.html"}
NOT_OURS |= {'dialect="haystack"', 'metrics=["ndcg@10"]', "--match-ids"}


def is_known(code):
    """Whether a name of ours in docs/from_other_tools.md is there."""
    if code.startswith("rageval-report "):
        return command_exists(code.split()[1:])
    if code.startswith("--dialect "):
        return code.split()[1] in DIALECTS
    head, _, attribute = code.partition(".")
    owners = {"metrics": metrics, "TraceResult": TraceResult}
    if head in (*owners, *rr.__all__):
        return not attribute or hasattr(owners.get(head) or getattr(rr, head), attribute)
    names = {name for dialect in DIALECTS.values() for name in dialect.names()}
    return code in NOT_OURS | names or Catalogue().find(code.replace("@k", "@5")) is not None


def command_exists(words):
    command = rageval_report
    while words and isinstance(command, click.Group):
        if words[0].startswith("--"):
            words = [getattr(command, "default", None), *words]
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    options = {name for parameter in command.params for name in parameter.opts}
    return all(word in options or word.isupper() or word in METRICS for word in words)


def test_what_is_called_ours_beside_another_tool_is_there():
    rows = re.findall(r"^\|(.+)\|$", page("from_other_tools.md"), re.MULTILINE)
    cells = [row.split("|")[1] for row in rows if set(row) - set("-| ")]
    codes = {code for cell in cells for code in re.findall(r"`([^`]+)`", cell)}
    assert len(codes) > 40
    assert sorted(code for code in codes if not is_known(code)) == []
    assert not is_known("metrics.no_such_metric")
    assert not is_known("no_such_metric_at_all")


# -- tables and pictures that a script makes


def test_copied_tables_and_drawn_pictures_are_those_of_today():
    validity = runpy.run_path(str(DOCS / "make_validity.py"))
    assert validity["with_copies"](page("validity.md")) == page("validity.md"), (
        "run `python docs/make_validity.py --copied`"
    )
    script = runpy.run_path(str(DOCS / "make_architecture.py"))
    again = "run `python docs/make_architecture.py` and commit what it writes"
    assert script["with_rooms"](page("architecture.md")) == page("architecture.md"), again
    for name, content in script["pictures"]().items():
        assert page(f"architecture/{name}") == content, f"{name} is out of date: {again}"
        assert f"(architecture/{name})" in page("architecture.md")


WITNESSES = runpy.run_path(str(DOCS / "make_validity.py"))


@pytest.mark.parametrize("witness", WITNESSES["WITNESSES"], ids=lambda one: one.number)
def test_a_few_cases_of_each_comparison_hold_again(witness):
    try:
        number, tool, call, _, _, difference = WITNESSES["compared"](witness, 8)
    except ModuleNotFoundError as exc:
        pytest.skip(f"{exc.name} is not installed: the group oracles has it")
    (line,) = re.findall(rf"^\| {re.escape(number)} \|.*$", page("validity.md"), re.MULTILINE)
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[2:4] == [call, f"{witness.n_cases:,}"]
    assert cells[1].split()[0] == tool.split()[0]
    same = WITNESSES["difference_of"](0.0)
    if witness.limit == 0.0:
        assert difference == cells[5] == same
    else:
        assert cells[5] == same or float(cells[5]) <= witness.limit


# -- files and tests that pages name

PAGES = [README, REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "SECURITY.md", *DOCS.glob("*.md")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:\.ci|tests|docs|benchmarks)/[\w/.]+)`", text):
        assert name.startswith("docs/_build") or (REPOSITORY / name).exists(), name
    for target in re.findall(r"\]\(([\w/.]+)\)", text):
        assert (path.parent / target).exists(), target


def test_laws_name_their_tests_and_readme_is_one_screen():
    laws = (REPOSITORY / "tests" / "test_architecture.py").read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+)`", page("architecture.md"))
    assert all(f"def {name}(" in laws for name in named)
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110


# -- examples that need more than the package


@pytest.fixture
def parquet(tmp_path, monkeypatch):
    """Two folders of two Parquet files each."""
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    for name, share in (("bm25", 3), ("hybrid", 2)):
        Path(name).mkdir()
        for part in range(2):
            ids = [f"q{number:03d}" for number in range(50 * part, 50 * part + 50)]
            scores = [float(number % share > 0) for number in range(50)]
            frame = pd.DataFrame({"query_id": ids, "recall@5": scores})
            frame.to_parquet(Path(name, f"part-{part}.parquet"))


@pytest.mark.usefixtures("parquet")
def test_the_examples_of_scale_run(capsys):
    code, commands = (block.code for block in blocks_of(DOCS / "scale.md") if block.needs)
    exec(compile(code, "docs/scale.md", "exec"), {})
    assert "hybrid is worse than bm25 on 1 of 1 metric" in capsys.readouterr().out
    for command in commands.splitlines():
        result = CliRunner().invoke(rageval_report, shlex.split(command)[1:])
        assert result.exit_code == (" gate " in command), result.output
        if " failures " in command:
            assert "34 of 100 scored queries lie below 0.5" in result.output


def test_the_commands_of_stop_early_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    rows = [
        {"query_id": f"q{n}", "question": f"Is {n} right?", "relevant": [f"d{n}"]}
        for n in range(60)
    ]
    text = "".join(json.dumps({**row, "reference": "yes"}) + "\n" for row in rows)
    Path("queries.jsonl").write_text(text, encoding="utf-8")
    code = "return {'answer': 'yes', 'retrieved': ['d' + question.split()[1]]}"
    Path("rag_of_stop_early.py").write_text(f"def answer(question):\n    {code}\n")
    for day, share in enumerate((0.9, 0.9, 0.1), 1):
        table = {"query_id": [f"{n}" for n in range(100)], "topic": ["law", "tax"] * 50}
        table["faithfulness"] = [float(n < 100 * share) for n in range(100)]
        run = RAGPipelineEvaluation("rag", table, metrics=["faithfulness"])
        run.save(f"runs/{day}.json", created=f"2026-03-0{day}")
    Path("old").mkdir()
    scores = {"query_id": [f"q{n}" for n in range(60)], "recall@5": [0.0, 1.0] * 30}
    RAGPipelineEvaluation("old", {**scores, "exact_match": [1.0] * 60}).save("old/scores.json")
    commands = re.findall(r"^rageval-report .*$", page("stop_early.md"), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command.replace("my_rag", "rag_of_stop_early"))[1:]
        result = CliRunner().invoke(rageval_report, words)
        assert result.exit_code == (" history monitor " in command), result.stderr
    assert RAGPipelineEvaluation.load(None, "new/scores.json").n_queries < 60


SOURCES = dict(re.findall(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", page("sources.md"), re.DOTALL | re.M))


def printed_by(section, names, *replaced):
    """What the examples of a section print, and what the page shows."""
    printed = io.StringIO()
    for code in re.findall(r"```python\n(.*?)```", SOURCES[section], re.DOTALL):
        with contextlib.redirect_stdout(printed):
            exec(compile(code.replace(*(replaced or ("", ""))), "docs/sources.md", "exec"), names)
    return printed.getvalue(), "".join(
        re.findall(r"```text\n(.*?)```", SOURCES[section], re.DOTALL)
    )


def test_the_examples_of_files_and_object_stores_print_what_the_page_shows(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec", reason="the extra remote is not installed")
    monkeypatch.chdir(tmp_path)
    names = {}
    for section in ("Where scores come from", "Databases"):
        printed, shown = printed_by(section, names)
        assert printed == shown != ""
    memory = fsspec.filesystem("memory")
    for path in Path("results").iterdir():
        memory.pipe_file(f"/bucket/runs/{path.name}", path.read_bytes())
    try:
        printed, shown = printed_by("Object stores and the web", {}, "s3://", "memory://")
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]
    assert printed == shown


# -- the walk itself


@pytest.fixture
def walked(tmp_path):
    folder = tmp_path / "walked"
    folder.mkdir()
    path = tmp_path / "page.md"

    def walked_(text):
        path.write_text(text, encoding="utf-8")
        return walk(path, folder)

    return walked_


def test_names_and_folders_are_kept_from_block_to_block(walked, tmp_path):
    text = "```python\nx = 6\n```\n\n```bash\nmkdir a && cd a\necho 7 > b\n```\n\n"
    text += "```python\nfrom pathlib import Path\nprint(x * int(Path('b').read_text()))\n```\n\n"
    text += "```text\n42\n```\n"
    done = walked(text)
    assert (done.run, done.compared, done.skipped) == (3, 1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n```bash\nfalse\n```\n", "page.md, line 2: exit 1"),
        ("```bash\necho a\necho b\n```\n```text\nb\na\n```\n", "page.md, line 5: not printed"),
        ("| get | `rageval-report nothing` |\n", "page.md, line 1: exit 2"),
    ],
)
def test_what_fails_is_told_with_its_line(walked, text, message):
    with pytest.raises(AssertionError, match=message):
        walked(text)


def test_what_needs_more_is_counted_and_neither_run_nor_compared(walked, monkeypatch):
    assert has_extra("test")
    monkeypatch.setattr("walk.has_extra", lambda extra: False)
    text = "```python\nprint(1)\n```\n```python extra=excel\n1 / 0\n```\n"
    text += "<!-- needs: a server -->\n<!-- wandb -->\n```python\n1 / 0\n```\n"
    text += "```text\n2\n```\n<!-- needs: files -->\n| a | b |\n| get | `rageval-report no` |\n"
    done = walked(text)
    assert (done.run, done.compared, done.skipped, done.stated) == (1, 0, 1, 1)


def test_ci_walks_through_every_page():
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    [line] = re.findall(r"tests/pages/walk\.py (.+)", script)
    walked = {path for glob in line.split() for path in REPOSITORY.glob(glob)}
    # A template is a package of its own, whose page is tested with it.
    pages = {path for path in DOCS.rglob("*.md") if TEMPLATE not in path.parents}
    is_ours = (path for path in pages if not is_generated(path))
    assert {path for path in walked if not is_generated(path)} == {README, *is_ours}


def is_generated(path):
    """Whether the site writes a page when it is built: version control ignores those."""
    ignored = (REPOSITORY / ".gitignore").read_text(encoding="utf-8").split()
    name = path.relative_to(REPOSITORY).as_posix()
    patterns = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in ignored]
    return f"!{name}" not in ignored and any(fnmatch(name, pattern) for pattern in patterns)
