"""A Python function as a target."""

from __future__ import annotations

import sys

import pytest

from rageval_report.errors import DataError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError
from rageval_report.runner.targets import FunctionSettings, FunctionTarget

QUERY = Query(0, "q1", "Why?", {"relevant": ["d1"], "language": "en"})

MODULE = """
def answer(question):
    return {"answer": question.upper(), "retrieved": ["d1"]}

def whole(query):
    return sorted(query)[0] + query["question"]

async def later(question):
    return question

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "rag_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rag_of_a_test", raising=False)
    return "rag_of_a_test"


def test_a_function_is_found_by_its_name_and_asked(module):
    reply = FunctionTarget(FunctionSettings(f"{module}:answer")).ask(QUERY)
    assert reply.fields == {"answer": "WHY?", "retrieved": ["d1"]}
    assert reply.latency_ms > 0


def test_a_function_of_the_whole_query_sees_no_gold(module):
    settings = FunctionSettings(f"{module}:whole", argument="query", fields=("language",))
    assert FunctionTarget(settings).ask(QUERY).fields == {"answer": "languageWhy?"}
    told_nothing = FunctionSettings(f"{module}:whole", argument="query")
    assert FunctionTarget(told_nothing).ask(QUERY).fields == {"answer": "query_idWhy?"}


def test_gold_cannot_be_among_the_fields_of_a_function(module):
    settings = FunctionSettings(f"{module}:whole", argument="query", fields=("relevant",))
    with pytest.raises(KeyError, match="no field that may be sent is named 'relevant'"):
        FunctionTarget(settings).ask(QUERY)


def test_fields_of_a_function_that_takes_the_question_alone_are_refused():
    with pytest.raises(DataError, match="fields needs argument: query"):
        FunctionTarget(FunctionSettings("json:dumps", fields=("language",)))


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("no_such_module_here:f", "no module is named 'no_such_module_here'"),
        ("rag_of_a_test:g", "the module has no function 'g'"),
        ("rag_of_a_test:number", "is not a function: it is int"),
        ("rag_of_a_test:later", "is asynchronous"),
        ("rag_of_a_test", "function must be 'module:function'"),
        (":f", "function must be 'module:function'"),
    ],
)
def test_what_is_no_function_is_told(module, place, told):
    with pytest.raises(DataError, match=told):
        FunctionTarget(FunctionSettings(place))


def test_an_argument_that_is_not_known_is_named():
    with pytest.raises(KeyError, match="Did you mean 'question'"):
        FunctionTarget(FunctionSettings("m:f", argument="qestion"))


def test_what_a_function_raises_is_a_query_without_an_answer():
    def fails(question):
        raise ZeroDivisionError("no documents")

    with pytest.raises(TargetError, match="ZeroDivisionError: no documents") as caught:
        FunctionTarget.of(fails).ask(QUERY)
    assert caught.value.kind == "exception"


def test_what_a_function_returns_is_checked():
    with pytest.raises(TargetError, match="expected a text or an object; got None"):
        FunctionTarget.of(lambda question: None).ask(QUERY)
