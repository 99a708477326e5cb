"""Small changes to a file of Python: each is one that a test should notice.

A change is made in the syntax tree: to comparisons, arithmetic, `and` and `or` (swapped, and one
operand dropped), numbers, booleans, conditions (negated), `return` (of None), calls of pairs such
as `min` and `max` (swapped), the first two arguments (swapped), bounds of slices (dropped), default
values, and statements (deleted). Texts, annotations, decorators and what an error says are left
alone. Nothing is written: `changed` returns a tree that can be compiled.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

OTHERS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
# Calls whose name is swapped for its counterpart, alone or as an attribute.
PAIRS = (
    "min max|any all|minimum maximum|floor ceil|nanmin nanmax|argmin argmax|idxmin idxmax|"
    "cumsum cumprod|sum prod|nansum nanprod|isna notna|cdf sf|ppf isf|startswith endswith|"
    "lstrip rstrip|zeros ones|sqrt square|expm1 exp|log1p log"
)
SWAPPED = {
    name: other
    for pair in map(str.split, PAIRS.split("|"))
    for name, other in (pair, reversed(pair))
}
# Calls that give the same with their first two arguments swapped, or whose swap says nothing.
SYMMETRIC = frozenset(
    "min max minimum maximum hypot isclose allclose gcd array_equal union1d intersect1d cast zip "
    "logical_and logical_or isinstance issubclass hasattr getattr add multiply".split()
)
# Fields of nodes that are no code that runs, or are left alone.
LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_params"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change of a file: its number there, where it is, and its statement before and after."""

    file: str
    number: int
    function: str
    lines: tuple[int, ...]  # a test that reaches one of these reaches the change
    old: str
    new: str
    occurrence: int  # of the same change of the same statement in the same function, from 0

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the mutant as long as its statement and its function stay as they are."""
        return (self.file, self.function, self.old, self.new, self.occurrence)

    def __str__(self) -> str:
        where = f"{self.file}:{self.lines[0]} {self.function or '(outside functions)'}"
        return f"{where}\n    - {self.old}\n    + {self.new}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order of its statements."""
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for number, change in zip(count(), _changes(ast.parse(source)), strict=False):
        old = _text(change.statement)
        new = change.with_it(lambda change=change: _text(change.statement))
        if old != new:
            key = (change.function, old, new)
            lines = tuple(_header(change.statement))
            found.append(Mutant(file, number, change.function, lines, old, new, seen[key]))
            seen[key] += 1
    return found


def changed(source: str, number: int) -> ast.Module:
    """The tree of a source with one of its changes."""
    tree = ast.parse(source)
    for place, change in enumerate(_changes(tree)):
        if place == number:
            change.put(change.new)
            return ast.fix_missing_locations(tree)
    raise IndexError(number)


@dataclass(frozen=True)
class _Change:
    """A node of a statement that another takes the place of."""

    function: str
    statement: ast.stmt
    holder: ast.AST | list
    slot: str | int
    old: ast.AST
    new: ast.AST | None

    def put(self, node: ast.AST | None) -> None:
        if isinstance(self.holder, list):
            self.holder[self.slot] = node
        else:
            setattr(self.holder, self.slot, node)

    def with_it(self, look: object) -> str:
        if self.old is self.statement:
            return "pass" if isinstance(self.new, ast.Pass) else _text(self.new)
        self.put(self.new)
        text = look()
        self.put(self.old)
        return text


def _text(statement: ast.stmt) -> str:
    """A statement on one line; of one that holds others its head."""
    if isinstance(statement, FUNCTIONS):
        return f"def {statement.name}({ast.unparse(statement.args)}):"
    text = ast.unparse(statement)
    return text.partition("\n")[0] if hasattr(statement, "body") else " ".join(text.split())


def _header(statement: ast.stmt) -> range:
    """The lines of a statement without those of the statements inside it."""
    inside = [node.lineno for node in ast.walk(statement) if isinstance(node, ast.stmt)]
    inside.remove(statement.lineno)
    end = min(inside) - 1 if inside else statement.end_lineno
    return range(statement.lineno, max(end, statement.lineno) + 1)


def _changes(tree: ast.Module) -> Iterator[_Change]:
    """Every change; the tree is as it was before each."""
    yield from _inside(tree, None, (), set())


def _inside(
    node: ast.AST, statement: ast.stmt | None, scope: tuple[str, ...], bound: set[str]
) -> Iterator[_Change]:
    """The changes below a node; `bound` are the names that the function around it has."""
    if isinstance(node, FUNCTIONS):
        yield from _of_slot(node.args, "defaults", statement, scope, bound)
        yield from _of_slot(node.args, "kw_defaults", statement, scope, bound)
        names = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
        yield from _of_slot(node, "body", statement, (*scope, node.name), names)
        return
    if isinstance(node, ast.ClassDef):
        yield from _of_slot(node, "body", statement, (*scope, node.name), set())
        return
    for field in node._fields:
        if field not in LEFT_ALONE:
            yield from _of_slot(node, field, statement, scope, bound)


def _of_slot(
    node: ast.AST, field: str, statement: ast.stmt | None, scope: tuple[str, ...], bound: set[str]
) -> Iterator[_Change]:
    value = getattr(node, field)
    slots = [(value, n) for n in range(len(value))] if isinstance(value, list) else [(node, field)]
    for holder, slot in slots:
        child = holder[slot] if isinstance(holder, list) else getattr(holder, slot)
        if not isinstance(child, ast.AST) or _is_for_types(child):
            continue
        mine = child if isinstance(child, ast.stmt) else statement
        for new in _replacements(child, scope, bound):
            yield _Change(".".join(scope), mine, holder, slot, child, new)
        if _is_condition(node, field) and not isinstance(child, ast.Compare | ast.UnaryOp):
            negated = ast.UnaryOp(ast.Not(), child)
            yield _Change(".".join(scope), mine, holder, slot, child, negated)
        if isinstance(node, ast.Slice):
            yield _Change(".".join(scope), mine, holder, slot, child, None)
        if not isinstance(child, ast.Raise | ast.JoinedStr):
            yield from _inside(child, mine, scope, bound)
        if isinstance(child, ast.stmt):
            bound |= _names_bound_by(child)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _is_condition(node: ast.AST, field: str) -> bool:
    is_test = field == "test" and isinstance(node, ast.If | ast.While | ast.IfExp)
    return is_test or (field == "ifs" and isinstance(node, ast.comprehension))


def _replacements(
    node: ast.AST, scope: tuple[str, ...], bound: set[str]
) -> Iterator[ast.AST | None]:
    """What may take the place of a node."""
    match node:
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Raise() | ast.Expr(value=ast.Call() | ast.Await()):
            yield ast.Pass()
        case ast.Assign() if scope and _names_bound_by(node) <= bound:
            yield ast.Pass()
        case ast.AugAssign(target, op, value):
            yield ast.Pass()
            if not _is_text(value):
                yield from (ast.AugAssign(target, other(), value) for other in _others(op))
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield ast.Return(None)
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                for other in _others(op):
                    yield ast.Compare(left, [*ops[:place], other(), *ops[place + 1 :]], comparators)
        case ast.BinOp(left, op, right) if not _is_text(left) and not _is_text(right):
            if scope or not isinstance(op, ast.BitOr):  # outside it is a union of types
                yield from (ast.BinOp(left, other(), right) for other in _others(op))
        case ast.BoolOp(op, values):
            yield ast.BoolOp(_others(op)[0](), values)
            for place in range(len(values)):
                kept = values[:place] + values[place + 1 :]
                yield ast.BoolOp(op, kept) if len(kept) > 1 else kept[0]
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            # One more than a large number is often as good; twice as much is not.
            yield ast.Constant(value * 2 if abs(value) >= 1000 else value + 1)
            if value == 1:
                yield ast.Constant(value - 1)
        case ast.Call():
            yield from _other_calls(node)


def _others(op: ast.AST) -> tuple[type[ast.AST], ...]:
    return OTHERS.get(type(op), ())


def _other_calls(call: ast.Call) -> Iterator[ast.Call]:
    function, arguments = call.func, call.args
    name = getattr(function, "attr", getattr(function, "id", ""))
    if name in SWAPPED:
        is_attribute = isinstance(function, ast.Attribute)
        other = SWAPPED[name]
        swapped = ast.Attribute(function.value, other, function.ctx) if is_attribute else None
        yield ast.Call(swapped or ast.Name(other, ast.Load()), arguments, call.keywords)
    has_stars = any(isinstance(value, ast.Starred) for value in arguments[:2])
    if len(arguments) > 1 and not has_stars and name not in SYMMETRIC:
        yield ast.Call(function, [arguments[1], arguments[0], *arguments[2:]], call.keywords)


def _is_text(node: ast.AST) -> bool:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    return is_text or isinstance(node, ast.JoinedStr)


def _names_bound_by(statement: ast.AST) -> set[str]:
    """The names that an assignment binds."""
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return {
        node.id
        for target in targets
        if target is not None
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
