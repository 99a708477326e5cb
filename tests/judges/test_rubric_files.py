import json

import pytest

from rageval_report.errors import ReaderError
from rageval_report.judges import Rubric, ScriptedChat, judge, read_rubric

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
        ("a.yaml", "- one\n", "expected an object"),
        ("a.yaml", "name: x\nquestion: y\n", "has no prompt"),
        ("a.yaml", "nmae: x\n", "Did you mean 'name'"),
        ("a.yaml", "name: !!python/object/apply:os.system [ls]\n", "cannot be parsed"),
        ("a.json", "{", "a.json, line 1"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.toml", "name = ", "cannot be parsed"),
        ("a.txt", "name: x", "must end in .yaml, .yml, .json, .toml"),
        ("a.yaml", "name: x\nquestion: y\nprompt: nothing\n", "shows the judge nothing"),
    ],
)
def test_a_file_that_is_no_rubric_is_told_with_its_name(write, name, text, told):
    with pytest.raises(ReaderError, match=told):
        read_rubric(write(text, name))
