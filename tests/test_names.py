"""The names of the house: said plainly, with one meaning each, and typed where users meet them.

Each check is a function of a list of parsed modules, so that the last tests can plant a bad name.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import rageval_report

PACKAGE = Path(rageval_report.__file__).parent

# Words that say how a value came about, not what it is.
VAGUE = {"told", "found", "one", "asked", "given", "made", "held"}
MOST_LOADS = 34  # with optional packages of sources, MLflow, the scoring of rankings, paths of rank

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def modules():
    """Every module of the package by its path, parsed."""
    files = sorted(PACKAGE.rglob("*.py"))
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in files
    }


# -- the checks


def vague_names(modules):
    """Names of variables, parameters, functions and classes that are only a vague word."""
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.arg):
                name = node.arg
            else:
                continue
            if name.strip("_").lower() in VAGUE:
                yield f"{path}, line {node.lineno}: {name}"


def classes_of_one_name(modules):
    """Class names, without underscores in front, that several modules define."""
    places = defaultdict(set)
    for path, tree in modules.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name.strip("_")].add(path)
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


def aliases_of_one_name(modules):
    """Type aliases, such as ``Rows = list[Row]``, that several modules define."""
    places = defaultdict(set)
    for path, tree in modules.items():
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            for target in targets:
                is_name = isinstance(target, ast.Name)
                if is_name and re.fullmatch(r"_?[A-Z][a-z]\w*", target.id):
                    places[target.id.strip("_")].add(path)
    return {name: sorted(paths) for name, paths in places.items() if len(paths) > 1}


def opaque_parameters(modules):
    """Public functions that take ``*args: Any`` or ``**options: Any``."""
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if not isinstance(node, FUNCTIONS) or node.name.startswith("_"):
                continue
            for parameter in filter(None, (node.args.vararg, node.args.kwarg)):
                annotation = parameter.annotation
                if annotation is not None and ast.unparse(annotation) == "Any":
                    yield f"{path}, line {node.lineno}: {node.name}(*{parameter.arg})"


def loads(modules):
    """Calls of `load` from the registry, which a type checker cannot follow."""
    for path, tree in modules.items():
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        is_ours = path == "_registry.py" or any(
            node.module == "rageval_report._registry"
            and any(alias.name == "load" for alias in node.names)
            for node in imports
        )
        for node in ast.walk(tree):
            if is_ours and isinstance(node, ast.Call) and getattr(node.func, "id", "") == "load":
                yield f"{path}, line {node.lineno}"


# -- the package


def test_a_name_says_what_a_thing_is(modules):
    assert list(vague_names(modules)) == []


def test_a_class_name_has_one_meaning(modules):
    assert classes_of_one_name(modules) == {}


def test_a_type_alias_is_defined_once(modules):
    assert aliases_of_one_name(modules) == {}


# The signatures of click, which call with whatever click passes.
CLICK = ("cli/command.py", "cli/group.py")


def test_public_functions_say_their_parameters(modules):
    ours = {path: tree for path, tree in modules.items() if path not in CLICK}
    assert list(opaque_parameters(ours)) == []


def test_few_things_are_loaded_by_name(modules):
    assert len(list(loads(modules))) <= MOST_LOADS


# -- the checks themselves


def planted(**sources):
    return {f"{name}.py": ast.parse(source) for name, source in sources.items()}


@pytest.mark.parametrize(
    "source",
    ["told = 1", "def _found(): ...", "class One: ...", "def f(asked): ...", "[x for one in y]"],
)
def test_a_vague_name_is_found(source):
    assert len(list(vague_names(planted(a=source)))) == 1


def test_names_that_hold_a_vague_word_are_not_blamed():
    assert list(vague_names(planted(a="one_step = 1\nn_asked = 2\nhold = 3"))) == []


def test_two_classes_and_two_aliases_of_one_name_are_found():
    modules = planted(a="class _Pair: ...\nRows = list", b="class Pair: ...\nRows: type = dict")
    assert classes_of_one_name(modules) == {"Pair": ["a.py", "b.py"]}
    assert aliases_of_one_name(modules) == {"Rows": ["a.py", "b.py"]}


def test_an_opaque_parameter_is_found():
    source = "def f(**options: Any): ...\ndef _g(*args: Any): ...\ndef h(**options: int): ..."
    assert len(list(opaque_parameters(planted(a=source)))) == 1


def test_a_call_of_load_is_counted_if_it_is_that_of_the_registry():
    ours = "from rageval_report._registry import load\nload('a:b')"
    assert len(list(loads(planted(a=ours, b="load('a:b')")))) == 1
