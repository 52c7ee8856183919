"""A Python file as it is imported: the statements that run then, and who mentions which names.

A unit is one statement at the level of the module or of a class, or what is evaluated where a
function is defined. Bodies of functions are no units: they are the blocks of `blocks`.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from runner.impact.calm import is_of_python
from runner.impact.mentions import Mentions, body_mentions, find_mentions, last_name
from runner.impact.python_blocks import blocks_of, body_of, functions_in, is_generator, parse_python
from runner.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.impact.python_blocks import Block, Function, Key


class Does(StrEnum):
    """What a unit does when it is run."""

    IMPORT = "import"
    BIND = "bind"
    FUNCTION = "function"
    CLASS = "class"
    DOCSTRING = "docstring"
    ANNOTATION = "annotation"
    OTHER = "other"
    """Anything may come of it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that runs while a file is imported."""

    does: Does
    scope: tuple[str, ...]
    """The classes it stands in, outermost first."""
    branch: str
    """The conditions it stands under."""
    text: str
    """Its syntax without positions."""
    binds: tuple[str, ...]
    """The names that it gives a value."""
    mentions: Mentions = field(compare=False, hash=False)
    node: ast.stmt = field(compare=False, hash=False)

    @property
    def said(self) -> tuple[str, tuple[str, ...], str, str]:
        """What makes it the same unit in another version of the file."""
        return self.does, self.scope, self.branch, self.text


@dataclass(frozen=True, slots=True)
class Code:
    """One block of a file, and what the lines of its own mention."""

    key: Key
    block: Block
    mentions: Mentions


@dataclass(frozen=True, slots=True)
class Parts:
    """A whole file."""

    units: tuple[Unit, ...]
    codes: tuple[Code, ...]
    classes: dict[str, ast.ClassDef]
    """Classes at module level by name; one whose name is bound again is not among them."""
    keys: dict[int, Key]
    """The block of a function's body, by the identity of its node in a unit."""
    lazy_annotations: bool
    aliases: tuple[ast.alias, ...]
    """Everything that it imports anywhere."""


@lru_cache(maxsize=256)
def parts_of(content: bytes) -> Parts | None:
    """Units and blocks of a Python file; None for what cannot be parsed."""
    tree, blocks = parse_python(content), blocks_of(content)
    if tree is None or blocks is None:
        return None
    try:
        keys = _keys(tree)
        # Then annotations are not evaluated (PEP 563), and an import tells nobody of them.
        lazy = any("annotations" in unit for unit in _futures(tree))
        units = tuple(_units(tree.body, (), "", lazy=lazy))
        bodies = {key: function for function, key in keys}
        codes = tuple(
            Code(key, block, body_mentions(bodies[key]))
            for key, block in blocks.items()
            if key in bodies
        )
    except RecursionError:
        return None
    bound = Counter(name for unit in units if _gives_value(unit) for name in unit.binds)
    found = (node for node in tree.body if isinstance(node, ast.ClassDef))
    classes = {node.name: node for node in found if bound[node.name] == 1}
    by_node = {id(function): key for function, key in keys if key in blocks}
    aliases = tuple(node for node in ast.walk(tree) if isinstance(node, ast.alias))
    return Parts(units, codes, classes, by_node, lazy, aliases)


def _gives_value(unit: Unit) -> bool:
    """Whether it binds names of the module, and does not only describe them."""
    return not unit.scope and unit.does not in (Does.DOCSTRING, Does.ANNOTATION)


def _keys(tree: ast.Module) -> list[tuple[Function, Key]]:
    """Every function with the key that its body has in `blocks`."""
    counts: dict[str, int] = {}
    found = []
    for name, function in functions_in(tree):
        number = counts.get(name, 0)
        counts[name] = number + 1
        found.append((function, (name, number)))
    return found


def _futures(tree: ast.Module) -> Iterator[list[str]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield [alias.name for alias in node.names]


# --- taking apart -------------------------------------------------------------------------


def _units(
    body: Iterable[ast.stmt], scope: tuple[str, ...], branch: str, *, lazy: bool
) -> Iterator[Unit]:
    for at, node in enumerate(body):
        match node:
            case ast.Expr(ast.Constant(value)):
                if isinstance(value, str) and at == 0 and not branch:
                    yield _unit(Does.DOCSTRING, scope, branch, node, ())
            case ast.Pass():
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _function(node, scope, branch, lazy=lazy)
            case ast.ClassDef():
                yield from _class(node, scope, branch, lazy=lazy)
            case ast.If():
                yield from _condition(node, scope, branch, lazy=lazy)
            case ast.Try() | ast.TryStar():
                yield from _attempt(node, scope, branch, lazy=lazy)
            case _:
                yield from _plain(node, scope, branch, lazy=lazy)


def _class(
    node: ast.ClassDef, scope: tuple[str, ...], branch: str, *, lazy: bool
) -> Iterator[Unit]:
    told = [*node.bases, *node.keywords, *node.decorator_list]
    text = f"{node.name} {' '.join(map(ast.dump, told))}"
    yield Unit(Does.CLASS, scope, branch, text, (node.name,), find_mentions(told), node)
    yield from _units(node.body, (*scope, node.name), branch, lazy=lazy)


def _attempt(
    node: ast.Try | ast.TryStar, scope: tuple[str, ...], branch: str, *, lazy: bool
) -> Iterator[Unit]:
    kinds = [handler.type for handler in node.handlers if handler.type]
    place = f"{branch}/{type(node).__name__} {' '.join(map(ast.dump, kinds))}"
    yield Unit(Does.OTHER, scope, place, "", (), find_mentions(kinds), node)
    parts = [("", node.body), ("else", node.orelse), ("finally", node.finalbody)]
    parts += [("except", handler.body) for handler in node.handlers]
    for name, part in parts:
        yield from _units(part, scope, f"{place}{name}", lazy=lazy)


def _condition(node: ast.If, scope: tuple[str, ...], branch: str, *, lazy: bool) -> Iterator[Unit]:
    """What stands under `if`; under `if TYPE_CHECKING:` nothing is ever run."""
    place = f"{branch}/if {ast.dump(node.test)}"
    if last_name(node.test) != "TYPE_CHECKING" or isinstance(node.test, ast.Call):
        yield Unit(Does.OTHER, scope, place, "", (), find_mentions([node.test]), node)
        yield from _units(node.body, scope, place, lazy=lazy)
    yield from _units(node.orelse, scope, f"{place} else", lazy=lazy)


def _plain(node: ast.stmt, scope: tuple[str, ...], branch: str, *, lazy: bool) -> Iterator[Unit]:
    match node:
        case ast.Import(names) | ast.ImportFrom(names=names):
            bound = (alias.asname or alias.name.partition(".")[0] for alias in names)
            yield _unit(Does.IMPORT, scope, branch, node, tuple(bound))
        case ast.Assign(targets=targets, value=value) if (found := _bound(targets)) is not None:
            text = f"{' '.join(found)} = {ast.dump(value)}"
            yield Unit(Does.BIND, scope, branch, text, found, find_mentions([value]), node)
        case ast.AnnAssign(target=ast.Name(id=name), annotation=said, value=value):
            if value is not None:
                text = f"{name} = {ast.dump(value)}"
                yield Unit(Does.BIND, scope, branch, text, (name,), find_mentions([value]), node)
            seen = find_mentions([] if lazy else [said])
            text = f"{name}: {ast.dump(said)}"
            yield Unit(Does.ANNOTATION, scope, branch, text, (name,), seen, node)
        case _:
            yield _unit(Does.OTHER, scope, branch, node, ())


def _bound(targets: list[ast.expr]) -> tuple[str, ...] | None:
    """The plain names that are assigned; None where anything else is."""
    if not all(isinstance(target, ast.Name) for target in targets):
        return None
    return tuple(target.id for target in targets if isinstance(target, ast.Name))


def _function(node: Function, scope: tuple[str, ...], branch: str, *, lazy: bool) -> Iterator[Unit]:
    """What is evaluated where a function is defined, its docstring and its annotations apart."""
    body = body_of(node)
    arguments = _arguments(node.args)
    values = [*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    names = [one.arg for one in arguments]
    defaults = [None if one is None else ast.dump(one) for one in node.args.kw_defaults]
    shape = (
        type(node).__name__, node.name, bool(body), is_generator(body), names,
        len(node.args.posonlyargs), len(node.args.args), bool(node.args.vararg),
        bool(node.args.kwarg), [ast.dump(one) for one in node.decorator_list],
        [ast.dump(one) for one in node.args.defaults], defaults,
    )  # fmt: skip
    seen = find_mentions(values)
    # Parameters are mentioned, too: by their names pytest gives a test its fixtures.
    seen.names.update(names)
    yield Unit(Does.FUNCTION, scope, branch, repr(shape), (node.name,), seen, node)
    hints = [one.annotation for one in arguments if one.annotation is not None]
    hints += [node.returns] if node.returns is not None else []
    if hints:
        text = f"{node.name} {_hinted(node, arguments)}"
        mentions = find_mentions([] if lazy else hints)
        yield Unit(Does.ANNOTATION, scope, branch, text, (node.name,), mentions, node)
    if len(body) < len(node.body):
        text = f"{node.name} {ast.dump(node.body[0])}"
        yield Unit(Does.DOCSTRING, scope, branch, text, (node.name,), Mentions(), node)


def _arguments(args: ast.arguments) -> list[ast.arg]:
    found = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return found + [one for one in (args.vararg, args.kwarg) if one is not None]


def _hinted(node: Function, arguments: list[ast.arg]) -> str:
    said = [(one.arg, one.annotation and ast.dump(one.annotation)) for one in arguments]
    return repr((said, node.returns and ast.dump(node.returns)))


def _unit(
    does: Does, scope: tuple[str, ...], branch: str, node: ast.stmt, binds: tuple[str, ...]
) -> Unit:
    return Unit(does, scope, branch, ast.dump(node), binds, find_mentions([node]), node)


def is_own(value: ast.expr, parts: Parts) -> bool:
    """Whether an expression calls, or is, something that the file itself or another one makes.

    What it imports from Python's own library is none of it, nor is an accessor of a property.
    """
    roots = {_root(one.func) for one in ast.walk(value) if isinstance(one, ast.Call)}
    roots |= {_root(value)} if isinstance(value, ast.Name) else set()
    for unit in parts.units:
        if not roots & {*unit.binds}:
            continue
        if unit.does is not Does.IMPORT or not _is_from_python(unit.node):
            return True
    return False


def _root(expression: ast.expr) -> str:
    while isinstance(expression, ast.Attribute | ast.Call):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _is_from_python(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and is_of_python(node.module or "")
    return isinstance(node, ast.Import) and all(is_of_python(one.name) for one in node.names)
