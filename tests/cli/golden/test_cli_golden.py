"""The commands on golden sets and on data sets."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from rageval_report.golden import read_golden


def rows_of(result):
    return json.loads(result.stdout)["rows"]


# -- check


def test_a_set_with_errors_ends_with_one_and_lists_them(demo_folder, run):
    row = {"query_id": "q9", "question": "who wrote hamlet", "answerable": True}
    with (demo_folder / "golden.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    result = run("golden check golden.jsonl --format json")
    assert result.exit_code == 1
    errors = [
        (one["check"], one["query_id"]) for one in rows_of(result) if one["severity"] == "error"
    ]
    assert errors == [("fields", "q9"), ("duplicates", "q9")]


def test_warnings_end_with_one_only_where_it_is_strict(demo_folder, run):
    assert run("golden check golden.jsonl").exit_code == 0
    assert run("golden check golden.jsonl --strict").exit_code == 1


def test_the_queries_that_are_needed_are_those_of_statsmodels(demo_folder, run):
    power = pytest.importorskip("statsmodels.stats.power")  # 0.14
    result = run("golden check golden.jsonl --difference 0.05 --sd 0.4 --format json")
    [size] = [one for one in rows_of(result) if one["check"] == "size"]
    exact = power.TTestPower().solve_power(0.05 / 0.4, power=0.8, alpha=0.05)
    assert size["value"] == int(exact) + 1


def test_a_set_that_is_large_enough_says_what_it_shows(demo_folder, run):
    result = run("golden check golden.jsonl --difference 0.9 --sd 0.4 --format json")
    assert [one for one in rows_of(result) if one["check"] == "size"] == []
    assert json.loads(result.stdout)["notes"][0].startswith("8 questions show differences of")


def test_a_check_can_be_left_out_and_an_unknown_one_is_refused(demo_folder, run, refused):
    result = run("golden check golden.jsonl --skip balance --difference 0.9 --format json")
    assert rows_of(result) == []
    assert "Did you mean 'balance'" in refused("golden check golden.jsonl --skip balances")


def test_a_difference_of_nothing_is_refused(demo_folder, refused):
    assert "must be above 0" in refused("golden check golden.jsonl --difference 0")


# -- sample, split, review


def test_a_sample_goes_to_standard_output_where_no_file_is_named(demo_folder, run):
    result = run("golden sample golden.jsonl --n 4 --by query_type")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (
        sorted(row["metadata"]["query_type"] for row in rows) == ["factoid"] * 2 + ["summary"] * 2
    )


def test_the_parts_of_a_split_are_written_and_counted(demo_folder, run):
    result = run("golden split golden.jsonl --part a.jsonl=0.5 --part b.jsonl=0.5 --format json")
    ids = [{one.query_id for one in read_golden(name)} for name in ("a.jsonl", "b.jsonl")]
    assert ids[0].isdisjoint(ids[1])
    counted = {one["part"]: one["n"] for one in rows_of(result) if one["value"] == "questions"}
    assert (
        counted == {"a.jsonl": len(ids[0]), "b.jsonl": len(ids[1])} == {"a.jsonl": 4, "b.jsonl": 4}
    )


def test_parts_that_are_there_are_kept(demo_folder, run, refused):
    (demo_folder / "a.jsonl").write_text("mine")
    words = "golden split golden.jsonl --part a.jsonl=0.5 --part b.jsonl=0.5"
    assert "exists already" in refused(words)
    assert not (demo_folder / "b.jsonl").exists()
    assert run(f"{words} --force").exit_code == 0
    assert len(read_golden("a.jsonl")) == 4


def test_shares_that_are_none_are_refused(demo_folder, refused):
    assert "add up to 1" in refused("golden split golden.jsonl --part a=0.5 --part b=0.6")
    assert "expected a share" in refused("golden split golden.jsonl --part a=half --part b=0.6")


def test_a_review_is_applied(demo_folder, run):
    words = "golden review golden.jsonl --decisions review.csv --reviewer eve -o done.jsonl"
    result = run(words)
    assert "1 accept" in result.stderr
    items = {one.query_id: one for one in read_golden("done.jsonl")}
    assert set(items) == {f"q{n}" for n in range(8)} - {"q1"}
    assert items["q2"].provenance["review"] == {"decision": "accept", "reviewer": "eve"}


def test_a_form_of_another_kind_is_refused(demo_folder, refused):
    assert "in .csv for a sheet" in refused("golden review golden.jsonl -o review.pdf")


# -- generate, ground-truth


def test_what_is_generated_can_be_checked_and_its_rejects_are_written(demo_folder, run):
    words = (
        "golden generate docs --chat my_chat:ask --factoid 3 --unanswerable 2 -o drafts.jsonl "
        "--rejected rejected.csv"
    )
    result = run(words)
    assert result.exit_code == 0, result.stderr
    items = read_golden("drafts.jsonl")
    assert [one.answerable for one in items] == [True] * 3 + [False] * 2
    assert Path("rejected.csv").read_text().startswith("kind,passage,question,reason")
    checked = run("golden check drafts.jsonl --documents docs --skip balance --difference 0.9")
    assert checked.exit_code == 0, checked.output


def test_a_second_run_asks_nothing_again(demo_folder, run):
    words = "golden generate docs --chat my_chat:ask --factoid 2 -o drafts.jsonl"
    first = run(words)
    content = Path("drafts.jsonl").read_bytes()
    second = run(f"{words} --force")
    assert "0 answered from the journal" in first.stderr
    assert "0 messages were sent" in second.stderr
    assert Path("drafts.jsonl").read_bytes() == content


@pytest.mark.parametrize(
    ("chat", "told"),
    [
        ("my_chat", "expected MODULE:FUNCTION"),
        ("no_chat:ask", "no module is named 'no_chat'"),
        ("my_chat:say", "the module has no 'say'"),
        ("my_chat:re", "it cannot be called"),
    ],
)
def test_a_chat_that_is_none_is_refused(demo_folder, refused, chat, told):
    assert told in refused(f"golden generate docs --chat {chat} -o drafts.jsonl")


def test_a_chat_and_a_provider_are_not_given_together(demo_folder, refused):
    words = "golden generate docs --chat my_chat:ask --provider openai -o drafts.jsonl"
    assert "give --chat, or --provider" in refused(words)


def test_a_provider_without_a_model_is_refused(demo_folder, refused, monkeypatch):
    monkeypatch.delenv("RAG_EVAL_OLLAMA_MODEL", raising=False)
    assert "RAG_EVAL_OLLAMA_MODEL" in refused("golden generate docs --provider ollama -o d.jsonl")


def test_ground_truth_of_named_queries_is_read_as_a_golden_set(demo_folder, run, refused):
    words = "golden ground-truth nfcorpus.zip --chat my_chat:ask -o truth.jsonl --query"
    assert run(f"{words} PLAIN-1").exit_code == 0
    [item] = read_golden("truth.jsonl")
    assert (item.query_id, item.references, item.relevant) == (
        *("PLAIN-1", ("It is healthy.",)),
        {"MED-1": 2.0},
    )
    assert "no query has the id 'PLAIN-9'" in refused(f"{words} PLAIN-9 --force")


def test_ground_truth_takes_the_ids_of_a_file_and_the_earlier_option(demo_folder, run):
    Path("ids.txt").write_text("PLAIN-1\n")
    words = "golden ground-truth nfcorpus.zip --chat my_chat:ask -o"
    assert run(f"{words} file.jsonl --query-file ids.txt").exit_code == 0
    assert run(f"{words} earlier.jsonl --query-id PLAIN-1").exit_code == 0
    assert [item.query_id for item in read_golden("file.jsonl")] == ["PLAIN-1"]
    assert read_golden("earlier.jsonl") == read_golden("file.jsonl")
    help_page = run("golden ground-truth --help").stdout
    assert "--query-file" in help_page
    assert "--query-id" not in help_page


# -- datasets, stats


def test_the_list_of_data_sets_has_licence_and_size(folder, run):
    rows = rows_of(run("datasets --format json"))
    assert {"squad_v2", "ragbench", "beir", "golden"} <= {row["dataset"] for row in rows}
    assert all(row["licence"] and row["questions"] for row in rows)


def test_a_golden_set_is_counted_by_its_path(demo_folder, run):
    rows = rows_of(run("stats golden.jsonl --format json"))
    counts = {(row["by"], row["value"]): row["n"] for row in rows}
    assert counts["all", "questions"] == 8
    assert counts["query_type", "factoid"] == counts["query_type", "summary"] == 4


def test_an_archive_that_leads_out_is_refused_in_one_line(folder, refused):
    with zipfile.ZipFile("evil.zip", "w") as archive:
        archive.writestr("../evil.jsonl", "{}")
    assert "contains paths outside its root" in refused("stats beir --path evil.zip")


def test_a_name_that_is_no_set_and_no_path_is_refused(folder, refused):
    assert "Did you mean 'squad_v2'" in refused("stats squad")


def test_a_file_that_is_not_there_is_no_unknown_data_set(folder, refused):
    assert "missing.jsonl: there is no such file" in refused("stats missing.jsonl")


# -- records for a pipeline


def test_a_generated_set_is_asked_of_a_pipeline_that_names_documents(demo_folder, run):
    run("golden generate docs --chat my_chat:ask --factoid 3 --unanswerable 0 -o drafts.jsonl")
    assert run("golden records drafts.jsonl --gold documents -o asked.jsonl").exit_code == 0
    (demo_folder / "my_rag.py").write_text(
        "def answer(question):\n    return {'answer': '47 miles', 'retrieved': ['4.md']}\n"
    )
    words = "eval --callable my_rag:answer --records asked.jsonl --metric recall@5 -o run"
    result = run(f"{words} --format json")
    assert result.exit_code == 0, result.output
    golds = [one.relevant_spans[0].filename for one in read_golden("drafts.jsonl")]
    [row] = rows_of(result)
    assert row["mean"] == pytest.approx(golds.count("4.md") / 3)


def test_gold_that_a_set_does_not_have_is_refused(demo_folder, refused):
    assert "no question has gold of the kind 'spans'" in refused(
        "golden records golden.jsonl --gold spans"
    )


def test_a_split_says_which_documents_stand_in_several_parts(demo_folder, run):
    run("golden generate docs --chat my_chat:ask --factoid 4 --multi-hop 2 -o drafts.jsonl")
    words = "golden split drafts.jsonl --part a.jsonl=0.5 --part b.jsonl=0.5 --force"
    told = json.loads(run(f"{words} --format json").stdout)["notes"]
    assert any("--together document" in one for one in told)
    result = run(f"{words} --format json --by answerable --together query_type")
    assert result.exit_code == 0, result.output


def test_the_set_is_the_same_however_many_drafts_are_made_at_once(demo_folder, run):
    words = "golden generate docs --chat my_chat:ask --factoid 4 --concurrency"
    for n in (1, 8):
        assert run(f"{words} {n} -o drafts{n}.jsonl").exit_code == 0
    assert Path("drafts1.jsonl").read_text() == Path("drafts8.jsonl").read_text()


def test_what_was_rejected_can_be_kept(demo_folder, run):
    words = "golden review golden.jsonl --decisions review.csv -o done.jsonl --rejected out.jsonl"
    assert run(words).exit_code == 0
    [item] = read_golden("out.jsonl")
    assert item.query_id == "q1"
    assert item.provenance["review"]["decision"] == "reject"


def test_what_is_said_of_many_questions_is_one_line_for_people(demo_folder, run):
    rows = [{"query_id": f"n{n}", "question": f"What is {n**7}?"} for n in range(9)]
    Path("bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = run("golden check bare.jsonl --skip balance --skip leakage")
    assert shown.stdout.count("answerable is missing") == 1
    assert "9 questions" in shown.stdout
    listed = rows_of(run("golden check bare.jsonl --skip balance --format json"))
    assert [one["query_id"] for one in listed if one["check"] == "fields"] == [
        f"n{n}" for n in range(9)
    ]


def test_findings_are_shown_whole_in_text_and_in_markdown(demo_folder, run):
    long = " and ".join(f"part {n}" for n in range(14))
    rows = [{"query_id": f"n{n}", "question": f"What of {long}{'!' * n}", "metdata": {}}
            for n in range(2)]  # fmt: skip
    Path("bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    listed = [one["told"] for one in rows_of(run("golden check bare.jsonl --format json"))]
    assert any("did you mean 'metadata'?" in one for one in listed)
    for words in ("", " --format markdown"):
        shown = run(f"golden check bare.jsonl{words}").stdout
        whole = " ".join(shown.replace("\\", "").split())
        assert all(one in whole for one in listed)
        assert "…" not in shown


def test_no_line_of_the_findings_is_wider_than_a_page(demo_folder, run):
    shown = run("golden check golden.jsonl").stdout
    assert max(map(len, shown.splitlines())) <= 100


def test_findings_are_counted_by_check_for_people(demo_folder, run):
    rows = rows_of(run("golden check golden.jsonl --format json"))
    shown = run("golden check golden.jsonl").stdout
    balance = sum(one["check"] == "balance" for one in rows)
    assert ["balance", "warning", str(balance)] in [line.split() for line in shown.splitlines()]


def test_ids_of_files_that_are_not_there_end_with_one(demo_folder, run):
    row = {"question": "Who?", "references": ["Ann"], "relevant": ["monet.md"]}
    Path("bare.jsonl").write_text(json.dumps(row) + "\n")
    result = run("golden check bare.jsonl --documents docs")
    assert result.exit_code == 1
    assert "there is no document 'monet.md'" in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        "sample golden.jsonl --n 2",
        "split golden.jsonl --part a.jsonl=0.5 --part b.jsonl=0.5",
        "check golden.jsonl",
    ],
)
def test_a_key_that_no_question_has_is_refused_with_those_that_there_are(
    demo_folder, refused, words
):
    told = refused(f"golden {words} --by nope")
    assert "named 'nope'" in told
    assert "query_type" in told


def test_a_sample_with_a_share_without_an_answer_can_be_drawn(demo_folder, run):
    rows = [{"question": f"What is {n * 7919}?", "answerable": n % 5 == 0} for n in range(40)]
    Path("bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("golden sample bare.jsonl --n 10 --unanswerable-ratio 0.3")
    drawn = [json.loads(line)["answerable"] for line in result.stdout.splitlines()]
    assert sorted(drawn) == [False] * 3 + [True] * 7
    counted = rows_of(run("stats bare.jsonl --samples 10 --unanswerable-ratio 0.3 --format json"))
    [n] = [one["n"] for one in counted if (one["by"], one["value"]) == ("answerable", "False")]
    assert n == 3
