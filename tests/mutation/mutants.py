"""Small changes to a file of Python: each is one that a test should notice.

`mutants_of` finds the places in the syntax tree and gives every change as bytes to replace, so that
what is shown is exactly what runs. Nothing is written: `Mutant.applied_to` returns the new source.

A change is made to comparisons, arithmetic, `and` and `or` (swapped, and one operand dropped),
numbers, booleans, conditions (negated), `return` (of None), calls of pairs such as `min` and `max`
(swapped), the first two positional arguments (swapped), bounds of slices (dropped), default values,
and statements (deleted). Texts, annotations, decorators and what an error says are left alone.
"""

from __future__ import annotations

import ast
import io
import tokenize
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
# Calls whose name is swapped for its counterpart, alone or as an attribute.
PAIRS = [
    *(("min", "max"), ("any", "all"), ("minimum", "maximum"), ("floor", "ceil"), ("amin", "amax")),
    *(("nanmin", "nanmax"), ("argmin", "argmax"), ("idxmin", "idxmax"), ("fmin", "fmax")),
    *(("cumsum", "cumprod"), ("sum", "prod"), ("nansum", "nanprod"), ("isna", "notna")),
    *(("cdf", "sf"), ("ppf", "isf"), ("startswith", "endswith"), ("lstrip", "rstrip")),
    *(("zeros", "ones"), ("sqrt", "square"), ("expm1", "exp"), ("log1p", "log")),
]
SWAPPED = {name: other for pair in PAIRS for name, other in (pair, pair[::-1])}
# Calls that give the same with their first two arguments swapped, or whose swap says nothing.
SYMMETRIC = {
    *("min", "max", "minimum", "maximum", "fmin", "fmax", "hypot", "isclose", "allclose", "gcd"),
    *("array_equal", "union1d", "intersect1d", "logical_and", "logical_or", "cast", "isinstance"),
    *("issubclass", "hasattr", "getattr", "print", "zip", "add", "multiply"),
}

Edit = tuple[int, int, str]


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file are replaced by `text`."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    text: str
    old: str  # the whole lines that change, without their indentation
    new: str
    occurrence: int  # of the same change of the same lines in the same function, from 0
    lines: tuple[int, ...]  # a test that reaches one of these lines covers the mutant
    fallback_lines: tuple[int, ...]  # or, if none of them is ever reached, one of these
    reads: tuple[str, ...]  # names that a statement outside functions binds

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the mutant as long as its lines and its function stay as they are."""
        return (self.file, self.function, self.old, self.new, self.occurrence)

    def applied_to(self, source: bytes) -> bytes:
        """The source of the file with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """All mutants of a file, in the order of its lines; those that do not compile are left out."""
    finder, tree = _Finder(file, source), ast.parse(source)
    finder.visit(tree)
    blocks = [_lines_of_block(statement, finder.text) for statement in tree.body]
    starts = [start for start, _ in blocks]
    seen: Counter[tuple[str, str, str, str, int]] = Counter()
    distinct = {(mutant.start, mutant.end, mutant.text): mutant for mutant in finder.found}
    mutants = []
    for mutant in sorted(distinct.values(), key=lambda one: (one.start, one.end, one.text)):
        # The statement of the module that holds the change is enough, and is compiled sooner.
        start, end = blocks[bisect_right(starts, mutant.start) - 1]
        text = mutant.text.encode()
        if not _compiles(source[start : mutant.start] + text + source[mutant.end : end]):
            continue
        mutants.append(replace(mutant, occurrence=seen[mutant.key]))
        seen[mutant.key] += 1
    return mutants


def _lines_of_block(statement: ast.stmt, text: _Text) -> tuple[int, int]:
    """Where a statement of a module starts, with its decorators, and ends."""
    decorators = getattr(statement, "decorator_list", [])
    first = min(node.lineno for node in (statement, *decorators))
    return text.starts[first - 1], text.span(statement)[1]


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Text:
    """The bytes of a file, found by the lines and columns of nodes and tokens."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.rows = source.splitlines(keepends=True)
        self.starts = [0]
        for row in self.rows:
            self.starts.append(self.starts[-1] + len(row))
        self.operators: list[tuple[int, int, str]] = []
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type == tokenize.OP or token.string in {"and", "or", "not", "in", "is"}:
                at = self.offset_of_character(*token.start)
                self.operators.append((at, at + len(token.string), token.string))

    def offset_of_character(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.rows[line - 1].decode()[:column].encode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def operator_between(self, left: int, right: int, name: str) -> tuple[int, int] | None:
        """Where an operator of one or two words stands between two offsets."""
        words = name.split()
        inside = [one for one in self.operators if left <= one[0] and one[1] <= right]
        for place, (start, _, _) in enumerate(inside):
            found = inside[place : place + len(words)]
            if [one[2] for one in found] == words:
                return start, found[-1][1]
        return None

    def lines_of(self, start: int, end: int, text: str) -> tuple[str, str]:
        """The whole lines around a change, before and after it, on one line each."""
        first = self.source.rfind(b"\n", 0, start) + 1
        last = self.source.find(b"\n", end)
        last = len(self.source) if last < 0 else last
        before, after = self.source[first:start].decode(), self.source[end:last].decode()
        old = before + self.source[start:end].decode() + after
        return " ".join(old.split()), " ".join((before + text + after).split())


class _Finder(ast.NodeVisitor):
    """Walks a file and collects its mutants."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.text = file, _Text(source)
        self.found: list[Mutant] = []
        self.scope: list[str] = []
        self.functions: list[ast.AST] = []
        self.classes: list[ast.ClassDef] = []
        self.statement: ast.stmt | None = None
        self.defaults_of: ast.FunctionDef | ast.AsyncFunctionDef | None = None
        self.bound: list[set[str]] = [set()]

    # -- what is collected

    def add(self, kind: str, node: ast.AST, edit: Edit | None) -> None:
        if edit is None or self.statement is None:
            return
        start, end, text = edit
        old, new = self.text.lines_of(start, end, text)
        if old == new:
            return
        fallback, reads = self._where_noticed()
        lines = tuple(range(node.lineno, node.end_lineno + 1)) if self.functions else ()
        line = self.text.source.count(b"\n", 0, start) + 1
        function = ".".join(self.scope)
        details = (old, new, 0, lines, fallback, reads)
        self.found.append(Mutant(self.file, line, function, kind, start, end, text, *details))

    def _where_noticed(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Lines and names at which a change of this statement shows."""
        if self.functions:
            return tuple(_header_lines(self.statement)), ()
        if self.defaults_of is not None:
            body = self.defaults_of.body
            return tuple(range(body[0].lineno, body[-1].end_lineno + 1)), ()
        if self.classes:
            inside = [node for node in ast.walk(self.classes[-1]) if _is_function(node)]
            lines = [range(n.body[0].lineno, n.body[-1].end_lineno + 1) for n in inside]
            return tuple(line for span in lines for line in span), (self.classes[-1].name,)
        return (), tuple(sorted(_names_bound_by(self.statement)))

    def replaced(self, node: ast.AST, text: str) -> Edit:
        return (*self.text.span(node), text)

    # -- statements and scopes

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        before, self.statement = self.statement, node
        self._deletion(node)
        super().visit(node)
        self.statement = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        before, self.defaults_of = self.defaults_of, node
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.defaults_of = before
        self.scope.append(node.name)
        self.functions.append(node)
        self.bound.append({one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)})
        for statement in node.body:
            self.visit(statement)
        self.bound.pop()
        self.functions.pop()
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.functions.append(node)
        self.visit(node.body)
        self.functions.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.append(node.name)
        self.classes.append(node)
        functions, self.functions = self.functions, []
        for statement in node.body:
            self.visit(statement)
        self.functions = functions
        self.classes.pop()
        self.scope.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
        self.bound[-1] |= _names_bound_by(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        self.bound[-1] |= _names_bound_by(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """What an error says is not changed; deleting the statement is."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are left alone, with what is formatted into them."""

    def _deletion(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Break | ast.Continue):
            other = "continue" if isinstance(node, ast.Break) else "break"
            self.add("break and continue", node, self.replaced(node, other))
        calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
        again = isinstance(node, ast.Assign) and self._binds_nothing_new(node)
        if self.functions and (calls or again or isinstance(node, ast.AugAssign | ast.Raise)):
            self.add("deleted statement", node, self.replaced(node, "pass"))

    def _binds_nothing_new(self, node: ast.Assign) -> bool:
        names = _names_bound_by(node)
        return names <= self.bound[-1]

    # -- conditions

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._negation(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negation(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negation(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for condition in node.ifs:
            self._negation(condition)
        self.generic_visit(node)

    def _negation(self, test: ast.expr) -> None:
        """The comparison operators negate a lone comparison, and `not` is dropped elsewhere."""
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        if not is_not and not (isinstance(test, ast.Compare) and len(test.ops) == 1):
            self.add(
                "negated condition", test, self.replaced(test, f"(not ({self.text.of(test)}))")
            )

    # -- expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for operator, (left, right) in zip(
            node.ops, pairwise([node.left, *node.comparators]), strict=True
        ):
            name, others = COMPARISONS[type(operator)]
            self._operator("comparison", node, left, right, name, others)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in ARITHMETIC and not self._is_text_or_type(node):
            name, other = ARITHMETIC[type(node.op)]
            self._operator("arithmetic", node, node.left, node.right, name, (other,))
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in ARITHMETIC and not _is_text(node.value):
            name, other = ARITHMETIC[type(node.op)]
            names = (f"{name}=", (f"{other}=",))
            self._operator("arithmetic", node, node.target, node.value, *names)
        self.generic_visit(node)

    def _is_text_or_type(self, node: ast.BinOp) -> bool:
        """A union of types at the top of a file is not arithmetic, and texts know only `+`."""
        is_union = isinstance(node.op, ast.BitOr) and not self.functions
        return is_union or _is_text(node.left) or _is_text(node.right)

    def _operator(
        self,
        kind: str,
        node: ast.AST,
        left: ast.AST,
        right: ast.AST,
        name: str,
        others: Iterable[str],
    ) -> None:
        place = self.text.operator_between(self.text.span(left)[1], self.text.span(right)[0], name)
        if place is None:
            return
        start, end = self.text.span(node)
        before = self.text.source[start : place[0]].decode()
        after = self.text.source[place[1] : end].decode()
        for other in others:
            # A power binds more tightly than what takes its place.
            whole = (start, end, f"({before}{other}{after})")
            self.add(kind, node, whole if name == "**" else (*place, other))

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        name, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        parts = [self._with_parentheses(value, node) for value in node.values]
        self.add("and and or", node, self.replaced(node, f"({f' {other} '.join(parts)})"))
        for dropped in range(len(parts)):
            kept = parts[:dropped] + parts[dropped + 1 :]
            self.add("dropped operand", node, self.replaced(node, f"({f' {name} '.join(kept)})"))
        self.generic_visit(node)

    def _with_parentheses(self, value: ast.expr, parent: ast.BoolOp) -> str:
        text = self.text.of(value)
        loose = isinstance(value, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr)
        return f"({text})" if loose else text

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            kind = "negated condition" if isinstance(node.op, ast.Not) else "arithmetic"
            self.add(kind, node, self.replaced(node, f"({self.text.of(node.operand)})"))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.add("constant", node, self.replaced(node, str(not value)))
        elif isinstance(value, int | float):
            # One more than a large number is often as good; twice as much is not.
            other = value * 2 if abs(value) >= 1000 else value + 1
            self.add("constant", node, self.replaced(node, repr(other)))
            if value == 1:
                self.add("constant", node, self.replaced(node, repr(value - 1)))

    def visit_Return(self, node: ast.Return) -> None:
        value = node.value
        if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            self.add("return", node, self.replaced(node, "return None"))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = getattr(called, "attr", getattr(called, "id", ""))
        if name in SWAPPED:
            end = self.text.span(called)[1]
            self.add("swapped call", node, (end - len(name.encode()), end, SWAPPED[name]))
        first_two = node.args[:2]
        stars = any(isinstance(value, ast.Starred) for value in first_two)
        if len(first_two) == 2 and not stars and name not in SYMMETRIC:
            start, end = self.text.span(first_two[0])[0], self.text.span(first_two[1])[1]
            texts = [self.text.of(value) for value in first_two]
            middle = self.text.source[
                self.text.span(first_two[0])[1] : self.text.span(first_two[1])[0]
            ]
            if texts[0] != texts[1]:
                new = texts[1] + middle.decode() + texts[0]
                self.add("swapped arguments", node, (start, end, new))
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.add("slice", bound, self.replaced(bound, ""))
        self.generic_visit(node)


@cache
def _header_lines(statement: ast.stmt) -> range:
    """The lines of a statement without those of the statements inside it."""
    inside = [child.lineno for child in ast.walk(statement) if isinstance(child, ast.stmt)]
    inside.remove(statement.lineno)
    end = min(inside) - 1 if inside else statement.end_lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _is_text(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_text or isinstance(node, ast.JoinedStr)


def _names_bound_by(statement: ast.AST) -> set[str]:
    """The names that an assignment or a definition binds."""
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {name for target in targets for name in _names_in(target)}
    return {statement.name} if hasattr(statement, "name") else set()


def _names_in(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def lines_that_read(names: Iterable[str], source: bytes) -> set[int]:
    """The lines of a file on which one of these names is read, alone or as an attribute."""
    wanted = set(names)
    return {
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and node.id in wanted and isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.Attribute) and node.attr in wanted)
    }
