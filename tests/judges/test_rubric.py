import json
import subprocess
import sys

import pytest

from rageval_report.errors import DataError, ReaderError
from rageval_report.judges import JUDGES, Rubric, ScriptedChat, judge, prefer, read_rubric


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("faithfulness", {"question", "answer", "contexts"}),
        ("context_recall", {"question", "reference", "contexts"}),
        ("preference", {"question", "answer"}),
    ],
)
def test_a_rubric_needs_what_its_prompts_show(name, needs):
    assert set(JUDGES[name].needs) == needs


RECORD = {"question": "Q?", "answer": "A", "reference": ["one"], "contexts": ["c1", "c2"]}


def test_fields_stand_between_tags_and_lists_have_numbers():
    text = JUDGES["context_precision"].message(RECORD).user
    assert "<contexts>\n[1] c1\n[2] c2\n</contexts>" in text
    assert "<reference>\none\n</reference>" in text


@pytest.mark.parametrize("name", ["answer_correctness", "answer_correct", "is_matching"])
def test_judges_of_right_answers_are_shown_the_wrong_ones_if_there_are_any(name):
    wrong = {**RECORD, "negative_reference": ["Bergen.", "Rome."]}
    shown = JUDGES[name].message(wrong).user
    assert "<negative_reference>\n[1] Bergen.\n[2] Rome.\n</negative_reference>" in shown
    for nothing in (None, [], [" "], ""):
        plain = JUDGES[name].message({**RECORD, "negative_reference": nothing})
        assert plain == JUDGES[name].message(RECORD)
        assert "negative_reference" not in plain.user
    assert "negative_reference" not in JUDGES[name].needs


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"prompt": "How?"}, "shows the judge nothing"),
        ({"scale": (5, 1)}, "scale must go from a lower to a higher number"),
        ({"scale": "1-5"}, "scale must be the worst and the best grade"),
        ({"kind": "claims"}, r"must contain \{claims\}"),
        ({"kind": "claims", "prompt": "{claims} {answer}"}, "extract of 'x': a rubric of the kind"),
    ],
)
def test_a_rubric_that_cannot_be_asked_is_refused(fields, told):
    with pytest.raises(DataError, match=told):
        Rubric(**{"name": "x", "question": "?", "prompt": "{answer}", **fields})


WITHOUT_HTTP = """
import sys
sys.modules["tenacity"] = sys.modules["httpx2"] = None  # as if the extra http were not installed
from rageval_report.judges import judge, prefer
rows = [{"query_id": "q", "question": "Where is Oslo?", "answer": "In Norway."}]
judged = judge(rows, "coherence", lambda text: '{"score": 5}', progress=False)
print(judged.scores["coherence"].item(), prefer(rows, rows, lambda text: "tie").ties)
"""


def test_a_callable_judges_without_the_extra():
    """In a process of its own, which has not loaded the packages of the extra."""
    words = [sys.executable, "-c", WITHOUT_HTTP]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1.0 1\n", 0), done.stderr


@pytest.mark.parametrize("function", [judge, prefer])
def test_a_misspelt_option_is_answered_with_the_nearest(function):
    options = {"max_costs": 2.0}
    words = ([], "coherence", print) if function is judge else ([], [], print)
    told = rf"{function.__name__} has no option 'max_costs'. Did you mean 'max_cost'\?"
    with pytest.raises(TypeError, match=told):
        function(*words, **options)


# -- rubrics in files

TEN_LINES = """\
name: tone
question: Is the answer polite?
scale: [1, 5]
version: 2
prompt: |
  How polite is the answer to this question?
  {question}
  {answer}
  5: courteous
  1: rude
"""
FIELDS = {"name": "tone", "question": "Is the answer polite?", "prompt": "{answer}"}


def test_ten_lines_of_yaml_are_a_judge(write):
    rubric = read_rubric(write(TEN_LINES, "tone.yaml"))
    rows = [{"query_id": "q", "question": "Who?", "answer": "Go away."}]
    judged = judge(rows, rubric, ScriptedChat(['{"reasoning": "Rude.", "score": 2}']))
    assert judged.scores.loc["q", "tone"] == 0.25
    assert rubric.version == "2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tone.json", json.dumps(FIELDS)),
        ("tone.toml", "\n".join(f"{name} = {text!r}" for name, text in FIELDS.items())),
        ("tone.yml", "\n".join(f"{name}: {text!r}" for name, text in FIELDS.items())),
    ],
)
def test_other_formats_say_the_same(write, name, text):
    assert read_rubric(write(text, name)) == Rubric(**FIELDS)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", "name: [", "a.yaml, line"),
        ("a.yaml", "name: x\nquestion: y\n", "rubric must contain prompt"),
        ("a.yaml", "nmae: x\n", "Did you mean 'name'"),
        ("a.yaml", "name: !!python/object/apply:os.system [ls]\n", "this is not YAML"),
        ("a.yaml", "[" * 100_000, "this is not YAML"),
        ("a.toml", "name", "a.toml: expected a rubric"),
    ],
)
def test_a_file_that_is_no_rubric_is_told_with_its_name(write, name, text, told):
    with pytest.raises(ReaderError, match=told):
        read_rubric(write(text, name))
