"""The laws of the house: imports go down, the halves do not meet, nothing loads unasked.

A room is a file or a folder right under the package. Each stands on a floor, and imports only from
the floors below it. The checks are functions of a folder, so that the last tests can plant a wrong
line in a house of their own and see it found.
"""

import ast
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import rageval_report
from rageval_report._registry import Registry

PACKAGE = Path(rageval_report.__file__).parent

FLOORS = (
    {"errors", "types", "_version"},
    {"_registry"},
    {"files"},
    {"http", "scores", "results"},
    {"records"},
    {"stats", "plots", "metrics", "reports.sentences"},
    {"readers", "datasets", "runner"},
    {"sources"},  # they open tables and documents, which readers read
    {"analysis", "judges"},
    {"records.golden_drafts"},  # written by a chat model, so it is above the judges' chats
    {"golden", "reports"},
    {"scale"},  # the same questions of lazy tables, with the page of their answers
    {"evaluation"},
    {"metrics.record_guard", "run_history", "loggers", "scores.inspection"},
    {"metrics.scoring"},  # the verbs that make an evaluation, beside it
    {"metrics.judged_sets", "metrics.trace_results"},
    {"runner.evaluate"},  # one call for all steps of an evaluation, so it is above them all
    {"__init__"},
    {"demo"},
    {"cli"},
    {"__main__", "pytest"},  # the plug-in names files as the command line does
)
OF_EVALUATE = {
    f"runner.{name}" for name in ("eval_config", "eval_queries", "judge_setup", "scoring")
} | {"runner.evaluate", "runner.experiment"}
OF_THEIR_OWN = {room for rooms in FLOORS for room in rooms if "." in room}
READING = {"stats", "analysis", "results", "plots", "reports"}
MAKING = {*("records", "readers", "sources", "datasets", "runner")}
MAKING |= {"http", "metrics", "judges", "golden", "records.golden_drafts"}
HEAVY = {"scipy", "matplotlib", "tabulate", "dask", "duckdb", "narwhals", "polars", "click"}
HEAVY |= {"jinja2", "tqdm", "numba", "sklearn", "statsmodels", "httpx2", "openpyxl", "yaml"}
# Imported inside the functions that need them, because nothing heavy loads unasked.
FREED = {"scipy", "narwhals", "duckdb", "dask", "pyspark", "ibis"}
# Each method of an evaluation loads the analysis that it hands over to: a script that asks for a
# report does not wait for gates, judges and thirty readers.
HANDING_OVER = {"evaluation"}
HEAVY |= {"tenacity", "sentence_transformers", "torch", "bm25s"}


# -- the checks


def modules_of(root):
    """The files of a package by dotted name, without the package's own."""
    files = {path.relative_to(root).with_suffix(""): path for path in root.rglob("*.py")}
    return {".".join(place.parts): path for place, path in files.items()}


@cache
def tree_of(path):
    """To be read only: most checks look at the same files."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes_of(path):
    """All nodes of a file."""
    return list(ast.walk(tree_of(path)))


def imports_in(nodes, names, package):
    """What these nodes import: dotted names, our own without the package's."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (module_behind(f"{alias.name}.*", names, package) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            for alias in node.names:
                yield module_behind(f"{node.module}.{alias.name}", names, package)


def module_behind(name, names, package):
    """The module that a dotted name means: itself, or what it is an attribute of."""
    if name.partition(".")[0] != package:
        return name.rpartition(".")[0]
    inner = name.removeprefix(package).lstrip(".")
    while inner and inner not in names:
        if f"{inner}.__init__" in names:
            return f"{inner}.__init__"
        inner = inner.rpartition(".")[0]
    return inner or "__init__"


def own_imports(root, read=nodes_of):
    """For each module of a package the modules of the package that it imports."""
    names = modules_of(root)
    return {
        name: names.keys() & imports_in(read(path), names, root.name)
        for name, path in names.items()
    }


def running_nodes_of(path):
    """The nodes that run: those of a block for type checkers do not."""
    nodes = [tree_of(path)]
    for node in nodes:  # the list grows while it is walked
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        nodes += node.orelse if is_for_types else ast.iter_child_nodes(node)
    return nodes


def room_of(module):
    """The room of a module; sentences stand below the analyses that print them, pages above."""
    if module in OF_EVALUATE:
        return "runner.evaluate"
    if module in OF_THEIR_OWN:
        return module
    is_text = re.fullmatch(r"reports\.\w*sentences", module)
    return "reports.sentences" if is_text else module.partition(".")[0]


def upward_imports(root):
    """Imports of a room that does not stand below, but for type checkers."""
    floor_of = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
    for module, targets in own_imports(root, running_nodes_of).items():
        room = room_of(module)
        if room not in floor_of:
            yield f"{room} stands on no floor: give it one in FLOORS"
            continue
        for target in sorted({room_of(target) for target in targets}):
            if target != room and floor_of.get(target, len(FLOORS)) >= floor_of[room]:
                yield f"{module} imports {target}, which is not below it"


def imports_between_halves(root):
    """Imports of the half that makes scores by the half that reads them, and the other way."""
    for module, targets in own_imports(root, running_nodes_of).items():
        for target in sorted({room_of(target) for target in targets}):
            sides = {room_of(module), target}
            if sides & READING and sides & MAKING:
                yield f"{module} imports {target} of the other half"


def circles(root):
    """Modules that are reached again from themselves."""
    targets_of = own_imports(root, running_nodes_of)
    for start in targets_of:
        seen, waiting = set(), list(targets_of[start] - {start})
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += targets_of[module]
        if start in seen:
            yield f"{start} imports itself by way of others"


def hidden_imports(root):
    """Imports inside functions, but of heavy packages, and by name outside the registry."""
    for module, path in modules_of(root).items():
        nodes = nodes_of(path)
        functions = (ast.FunctionDef, ast.AsyncFunctionDef)
        inside = [n for f in nodes if isinstance(f, functions) for n in ast.walk(f)]
        hidden = [node for node in inside if isinstance(node, ast.Import | ast.ImportFrom)]
        freed = FREED | ({"rageval_report"} if module in HANDING_OVER else set())
        if room_of(module) == "cli":  # a command loads what it runs, so that help is fast
            freed |= {"rageval_report", "pandas"}
        if any(packages_of(node) - freed for node in hidden):
            yield f"{module} imports inside a function"
        parts = ((node, key) for node in nodes for key in ("id", "attr", "name"))
        names = {getattr(node, key, None) for node, key in parts}
        if names & {"import_module", "__import__"} and module != "_registry":
            yield f"{module} imports by name"


def packages_of(node):
    """The packages that an import names, without what is in them."""
    is_from = isinstance(node, ast.ImportFrom)
    names = [node.module] if is_from else [alias.name for alias in node.names]
    return {name.partition(".")[0] for name in names}


# -- the laws


def test_imports_go_down():
    assert list(upward_imports(PACKAGE)) == []


def test_the_halves_never_import_each_other():
    assert list(imports_between_halves(PACKAGE)) == []


def test_no_module_imports_itself_by_way_of_others():
    assert list(circles(PACKAGE)) == []


def test_no_import_hides_inside_a_function():
    assert list(hidden_imports(PACKAGE)) == []


def test_the_statistics_know_no_frame_and_no_metric():
    files = modules_of(PACKAGE)
    for module in (name for name in files if room_of(name) == "stats"):
        known = {room_of(name) for name in imports_in(nodes_of(files[module]), files, PACKAGE.name)}
        ours = known & {room_of(name) for name in files}
        assert "pandas" not in known, module
        assert ours <= {"stats", "errors", "types", "_registry"}, module


# -- the face


def test_the_face_is_sorted_and_every_name_in_it_is_there():
    names = rageval_report.__all__
    assert len(names) <= 30
    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert all(getattr(rageval_report, name) is not None for name in names)
    assert dir(rageval_report) == names
    assert [name for name in names if name.endswith(("Error", "Warning"))] == ["RagevalError"]


def test_the_face_and_a_type_checker_take_each_name_from_the_same_place():
    tree = tree_of(PACKAGE / "__init__.py")
    (guarded,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [alias.asname for node in guarded.body for alias in node.names]
    assert sorted([*seen, "__version__"]) == rageval_report.__all__
    for node in guarded.body:
        module = importlib.import_module(node.module)
        for alias in node.names:
            assert getattr(rageval_report, alias.name) is getattr(module, alias.name)


def test_a_name_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match=r"'rageval_report' has no attribute 'experiments'"):
        rageval_report.experiments  # noqa: B018


# -- what loads when


def all_registries():
    """Every table of the package, by the module and the name it stands under."""
    found = {}
    for info in pkgutil.walk_packages([str(PACKAGE)], "rageval_report."):
        for name, thing in vars(importlib.import_module(info.name)).items():
            if isinstance(thing, Registry):
                found.setdefault(id(thing), (f"{info.name}:{name}", thing))
    return dict(found.values())


def test_every_entry_of_every_table_is_there():
    registries = all_registries()
    names = {place.rpartition(":")[2] for place in registries}
    assert names >= {"METRICS", "READERS", "RENDERERS", "PLOTS"}
    assert names >= {"TESTS", "INTERVALS", "CORRECTIONS"}
    for place, registry in registries.items():
        assert len(registry), place
        for name in registry:
            assert registry[name] is not None, (place, name)
            assert not isinstance(registry[name], str), (place, name)


def modules_after(statement):
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_nothing_heavy():
    loaded = modules_after("import rageval_report")
    assert not HEAVY & {name.partition(".")[0] for name in loaded}
    ours = {name for name in loaded if name.startswith("rageval_report")}
    assert ours == {
        *("rageval_report", "rageval_report._registry", "rageval_report._version"),
        "rageval_report.errors",
    }


ASK = "RAGPipelineEvaluation('a', {'query_id': ['q1'], 'recall': [1.0]}).evaluation_report()"


def test_an_evaluation_loads_its_analyses_and_readers_when_they_are_asked():
    loaded = modules_after("from rageval_report import RAGPipelineEvaluation")
    assert not {"matplotlib", "tabulate", "click"} & {name.partition(".")[0] for name in loaded}
    assert "scipy.special" not in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("rageval_report.")}
    assert not rooms & {"analysis", "stats", "readers", "records", "reports"}
    asked = modules_after(f"from rageval_report import RAGPipelineEvaluation\n{ASK}")
    assert "rageval_report.analysis.report" in asked
    assert not {"rageval_report.analysis.slices", "rageval_report.readers"} & asked


# What no report of a small table of scores needs: each takes as long to import as reading it.
NOT_FOR_A_REPORT = HEAVY - {"scipy", "click"}
NOT_FOR_A_REPORT |= {"scipy.stats", "scipy.optimize", "scipy.fft"}
NOT_FOR_A_REPORT |= {f"rageval_report.{name}" for name in ("http", "judges", "datasets", "records")}
NOT_FOR_A_REPORT |= {f"rageval_report.{name}" for name in ("analysis.compare", "scale.scan")}


def test_a_report_of_a_small_table_loads_what_it_needs(tmp_path):
    # One column for each default interval: Clopper and Pearson's, Gaffke's, and the bootstrap.
    lines = ["query_id,hit,faithfulness,length"]
    lines += [f"q{n},{n % 3 // 2},{n * 7 % 11 / 11},{n * 5 % 7 / 3}" for n in range(30)]
    path, out = tmp_path / "scores.csv", tmp_path / "out.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    words = ["report", str(path), "--output", str(out)]
    loaded = modules_after(
        "from rageval_report.cli import rageval_report\n"
        f"rageval_report.main({words!r}, standalone_mode=False)"
    )
    assert out.stat().st_size > 0
    assert sorted(NOT_FOR_A_REPORT & loaded) == []


# -- the checks themselves


HOUSE = {
    "__init__.py": '"""The face."""\nfrom rageval_report.analysis.one import f as f\n',
    "errors.py": "",
    "readers/__init__.py": "from rageval_report import errors\n",
    "analysis/__init__.py": "",
    "analysis/one.py": "import numpy\nimport rageval_report.errors\ndef f(): ...\n",
    "analysis/two.py": "from rageval_report.analysis.one import f\n",
}
CHECKS = (upward_imports, imports_between_halves, circles, hidden_imports)


@pytest.mark.parametrize(
    ("place", "line", "check", "words"),
    [
        ("cellar.py", "", upward_imports, "cellar stands on no floor"),
        *(
            ("errors.py", line, upward_imports, "errors imports analysis, which is not below it")
            for line in (
                "from rageval_report.analysis.one import f",
                "from rageval_report import analysis",
                "import rageval_report.analysis.one",
                "if 0:\n    from rageval_report.analysis.one import f as g",
            )
        ),
        ("analysis/one.py", "from rageval_report import f", upward_imports, "imports __init__"),
        ("analysis/one.py", "import rageval_report.readers", imports_between_halves, "other half"),
        ("analysis/one.py", "from rageval_report.analysis import two", circles, "analysis.one"),
        ("analysis/one.py", "def _g():\n    import json", hidden_imports, "inside a function"),
        ("analysis/one.py", "_os = __import__('os')", hidden_imports, "imports by name"),
    ],
)
def test_a_broken_law_is_found(tmp_path, place, line, check, words):
    root = tmp_path / "rageval_report"
    for name, text in HOUSE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert [fault for each in CHECKS for fault in each(root)] == []
    tree_of.cache_clear()
    nodes_of.cache_clear()
    path = root / place
    path.write_text(f"{path.read_text() if path.exists() else ''}{line}\n")
    assert words in "; ".join(check(root))
