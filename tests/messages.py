"""List the messages of the product: `make messages` prints `path:line<TAB>kind<TAB>text`, sorted.

A message is a literal that reaches an error, a finding, a question, a hint, the help or the output.
A value within an f-string is shown as `{name}`. A name is followed to the literals that are
assigned to it, a call to those that its function returns or yields, a parameter to what calls
pass for it, and a field to its class, which an annotation names; all of these through imports, too.
"""

from __future__ import annotations

import ast
import gc
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
KINDS = {
    "error": re.compile(r"\w*(?:Error|Refused|Refusal|Fault|Lost)|__init__|_?(?:refuse|refusal)"),
    "finding": re.compile(r"_?(?:Finding|finding|Difference|Remark)"),
    "problem": re.compile(r"_?(?:Problem|(?:add_)?problem|Complaint|complaint|complain\w*|warn)"),
    "question": re.compile(r"_?(?:ask\w*|confirm|read_key|read_line|choose)"),
    "help": re.compile(r"Operation|Field|Api|Tool|flag|option|choice|word|add_argument"),
    "print": re.compile(r"_?(?:print|say|tell|note|warning|put|patience)"),
}
"""Kinds of a message by the name of the function or class that takes it."""
NAMES = {
    "hint": "hint",
    **dict.fromkeys(("message", "why", "reason", "note", "__str__"), "finding"),
}
"""Kinds of what is assigned to a name, or returned by a function of it."""
BY_KEYWORD = {
    **dict.fromkeys(("hint", "hints"), "hint"),
    **dict.fromkeys(("help", "summary", "examples", "description"), "help"),
    **dict.fromkeys(("message", "detail", "why", "reason", "trouble"), "finding"),
    **dict.fromkeys(("note", "text"), "print"),
    "question": "question",
}


ADDING = ("append", "appendleft", "extend", "insert")
"""Methods that add a part to a list."""
OF_PATTERN = re.compile(r"compile|lazy_pattern|regex|search|(?:full)?match|find\w*|index|subn?")
"""Calls that take or have a pattern, which is not shown."""
OF_TEXT = re.compile(r"r?partition|r?split|replace|(?:starts|ends)with|remove(?:pre|suf)fix|encode")
"""Methods of a text whose arguments are not shown."""
NOT_PROSE = re.compile(r"\\[ABSZbdswnt]|\(\?[:!<=Pim]|</|/>|\[\^|[\ud800-\udfff]")
"""In a pattern or in markup."""


HOLE = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
"""A value in the text of a message."""
WORD = re.compile(r"[A-Za-z]{2,}")
LEAVES = (
    ast.Constant,
    ast.Name,
    ast.expr_context,
    ast.operator,
    ast.cmpop,
    ast.boolop,
    ast.unaryop,
)
PARTED = (ast.JoinedStr, ast.BinOp)
"""Texts of which a literal is a part."""


class Message(NamedTuple):
    """One text with its place."""

    path: str
    line: int
    kind: str
    text: str


def text_of(node: ast.AST) -> str:
    """Return the text of a literal, an f-string or a sum of them, `{name}` for each value.

    Empty for other nodes.
    """
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp):
        return "".join(text_of(one) or f"{{{ast.unparse(one)}}}" for one in (node.left, node.right))
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else text_of(part)
        for part in parts
    )


def kind_of(call: ast.Call) -> str:
    """Return the kind of the messages that a call takes by position; empty for none."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return next((kind for kind, names in KINDS.items() if names.fullmatch(name)), "")


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the nodes below a node, as `ast.iter_child_nodes` in a third of its time."""
    found: list[ast.AST] = []
    for value in vars(node).values():
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def parts_of(node: ast.AST) -> list[ast.AST]:
    """Return the expressions within a node whose texts are shown with it."""
    if isinstance(node, ast.Call):
        method = getattr(node.func, "attr", "")
        name = method or getattr(node.func, "id", "")
        if OF_PATTERN.fullmatch(name):
            return []
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if OF_TEXT.fullmatch(method):
            return [*owner]
        return [*owner, *node.args[method == "get" :], *(one.value for one in node.keywords)]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, (ast.Compare, ast.Attribute)):
        return []
    children = [one for one in children_of(node) if isinstance(one, (ast.expr, ast.comprehension))]
    pieces = (ast.Constant, *PARTED) if isinstance(node, PARTED) else ()
    return [one for one in children if not isinstance(one, pieces)]


class Scope(NamedTuple):
    """A file, and the classes and functions around a node."""

    path: str
    names: tuple[str, ...] = ()


Value = tuple[Scope, ast.AST]


class Code:
    """All code of the product, and the literals in it that reach a message."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.values: dict[tuple[Scope, str], list[Value]] = {}
        self.returned: dict[tuple[str, str], list[Value]] = {}
        self.parameters: dict[Scope, list[str]] = {}
        self.every_call: list[tuple[Scope, ast.Call]] = []
        self.calls: dict[tuple[str, str], list[tuple[Scope, ast.Call]]] = {}
        self.defined: dict[str, set[str]] = {}
        self.annotations: dict[tuple[Scope, str], ast.AST] = {}
        self.enums: dict[Scope, list[Value]] = {}
        self.imported: dict[tuple[str, str], tuple[str, str]] = {}
        self.found: dict[ast.AST, tuple[str, str]] = {}
        self.passed: set[tuple[str, str, str]] = set()
        self.waiting: list[tuple[Scope, ast.AST, str]] = []
        self.fields: list[tuple[Scope, ast.AST, str]] = []
        self.paths = {path.relative_to(ROOT).as_posix() for path in paths}
        for path in sorted(self.paths):
            self.read(Scope(path), ast.parse((ROOT / path).read_text("utf-8")))
        for scope, call in self.every_call:
            self.calls.setdefault(self.resolve(scope, call.func), []).append((scope, call))
        self.start()
        while self.waiting or self.fields:
            while self.waiting:
                self.follow(*self.waiting.pop())
            # Last: a text that is also reached in another way, has the kind of that way.
            if self.fields:
                self.follow_field(*self.fields.pop())

    # --- one pass over the files ------------------------------------------------------

    def read(self, scope: Scope, node: ast.AST) -> None:
        """Keep the imports, values, parameters and calls below a node."""
        for child in children_of(node):
            if isinstance(child, LEAVES):
                continue
            inside = scope
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inside = Scope(scope.path, (*scope.names, child.name))
                self.defined.setdefault(child.name, set()).add(scope.path)
                self.read_parameters(inside, child)
                bases = [getattr(one, "id", "") for one in getattr(child, "bases", ())]
                if any(base.endswith("Enum") for base in bases):
                    members = [one for one in child.body if isinstance(one, ast.Assign)]
                    self.enums[inside] = [(inside, one.value) for one in members]
            elif isinstance(child, ast.ImportFrom):
                for alias in child.names:
                    key = (scope.path, alias.asname or alias.name)
                    self.imported[key] = self.find_module(child.module or "", alias.name)
            elif isinstance(child, ast.Call):
                self.every_call.append((scope, child))
            self.read_values(scope, child)
            self.read(inside, child)

    def read_parameters(
        self, inside: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> None:
        """Keep the parameters of a function; the fields of a class are its parameters."""
        if isinstance(node, ast.ClassDef):
            fields = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
            self.parameters[inside] = [getattr(one, "id", "") for one in fields]
            return
        given = node.args
        every = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        self.parameters[inside] = [one.arg for one in every]
        self.annotations |= {(inside, one.arg): one.annotation for one in every if one.annotation}
        filled = given.args[len(given.args) - len(given.defaults) :]
        defaults = zip(
            (*filled, *given.kwonlyargs), (*given.defaults, *given.kw_defaults), strict=False
        )
        for one, value in defaults:
            if value is not None:
                self.values.setdefault((inside, one.arg), []).append((inside, value))

    def find_module(self, module: str, name: str) -> tuple[str, str]:
        """Return the file and the name in it that an import brings; no name for a whole module."""
        for dotted, inner in ((f"{module}.{name}", ""), (module, name)):
            file = dotted.replace(".", "/")
            for path in (f"{file}.py", f"{file}/__init__.py"):
                if path in self.paths:
                    return path, inner
        return "", name

    def read_values(self, scope: Scope, node: ast.AST) -> None:
        """Keep what is assigned or added to a name, and what a function returns or yields."""
        pairs: list[tuple[ast.AST, ast.AST]] = []
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            self.annotations[scope, node.target.id] = node.annotation
        if isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)) and node.value:
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            pairs = [(node.target, node.iter)]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ADDING and node.args:
            pairs = [(node.func.value, node.args[-1])]  # type: ignore[attr-defined]
        elif isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value:
            key = (scope.path, scope.names[-1])
            self.returned.setdefault(key, []).append((scope, node.value))
        for target, value in pairs:
            for one in ast.walk(target):
                if isinstance(one, ast.Name):
                    self.values.setdefault((scope, one.id), []).append((scope, value))

    def resolve(self, scope: Scope, node: ast.AST) -> tuple[str, str]:
        """Return the file and the name in it that a name or an attribute stands for.

        An attribute of a value, not of a module, stands for a method of the same file, or of the
        one file that defines it.
        """
        if isinstance(node, ast.Name):
            return self.imported.get((scope.path, node.id), (scope.path, node.id))
        if not isinstance(node, ast.Attribute):
            return "", ""
        if isinstance(node.value, ast.Name):
            path, name = self.imported.get((scope.path, node.value.id), ("", ""))
            if path and not name:
                return path, node.attr
        paths = self.defined.get(node.attr, set())
        path = next(iter(paths)) if len(paths) == 1 else scope.path
        return path, node.attr

    def find_classes(self, scope: Scope, node: ast.AST) -> list[Scope]:
        """Return the scopes of the classes that the annotation of a name or a field names."""
        if isinstance(node, ast.Name):
            depths = range(len(scope.names), -1, -1)
            around = [Scope(scope.path, scope.names[:depth]) for depth in depths]
            if node.id == "self":
                return around[1:2]
            places = [(one, node.id) for one in around]
        elif isinstance(node, ast.Attribute):
            places = [(one, node.attr) for one in self.find_classes(scope, node.value)]
        else:
            return []
        named = ((place, self.annotations.get((place, name))) for place, name in places)
        place, annotation = next(((p, a) for p, a in named if a is not None), (scope, None))
        found = [] if annotation is None else ast.walk(annotation)
        resolved = [self.resolve(place, one) for one in found if isinstance(one, ast.Name)]
        return [Scope(path, (name,)) for path, name in resolved if path]

    # --- from messages to literals ----------------------------------------------------

    def start(self) -> None:
        """Begin with what calls and names of a message hold."""
        for scope, call in self.every_call:
            kind = kind_of(call)
            self.waiting += ((scope, one, kind) for one in call.args if kind)
            for keyword in call.keywords:
                if keyword.arg in BY_KEYWORD:
                    self.waiting.append((scope, keyword.value, BY_KEYWORD[keyword.arg]))
        named = [(key[1], values) for key, values in (*self.values.items(), *self.returned.items())]
        for name, values in named:
            if name in NAMES:
                self.waiting += ((scope, value, NAMES[name]) for scope, value in values)
        for scope, fields in list(self.parameters.items()):
            for name in fields:
                if name in BY_KEYWORD and scope.names[-1][:1].isupper():
                    self.follow_parameter(scope, name, BY_KEYWORD[name])

    def follow_parameter(self, scope: Scope, parameter: str, kind: str) -> None:
        """Follow a parameter to what calls of its function or class pass for it."""
        names = [one for one in self.parameters[scope] if one not in ("self", "cls")]
        owner = scope.names[-2] if scope.names[-1] == "__init__" else scope.names[-1]
        if (scope.path, owner, parameter) in self.passed:
            return
        self.passed.add((scope.path, owner, parameter))
        for inside, call in self.calls.get((scope.path, owner), ()):
            given = dict(zip(names, call.args, strict=False))
            given |= {one.arg: one.value for one in call.keywords if one.arg}
            if parameter in given:
                self.waiting.append((inside, given[parameter], kind))

    def follow_name(self, scope: Scope, name: str, kind: str) -> None:
        """Follow a name to its values, from the innermost function outwards."""
        for depth in range(len(scope.names), -1, -1):
            around = Scope(scope.path, scope.names[:depth])
            values = self.values.get((around, name), ())
            self.waiting += ((inside, value, kind) for inside, value in values)
            if is_parameter := name in self.parameters.get(around, ()):
                self.follow_parameter(around, name, kind)
            if values or is_parameter:
                return
        path, there = self.imported.get((scope.path, name), ("", ""))
        values = self.values.get((Scope(path), there), ())
        self.waiting += ((inside, value, kind) for inside, value in values)

    def follow(self, scope: Scope, node: ast.AST, kind: str) -> None:
        """Collect the literals that a message is made of."""
        if node in self.found:
            return
        self.found[node] = (scope.path, kind)
        if isinstance(node, ast.Name):
            self.follow_name(scope, node.id, kind)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            place = self.resolve(scope, getattr(node, "func", node))
            constants = self.values.get((Scope(place[0]), place[1]), ())
            for inside, value in (*self.returned.get(place, ()), *constants):
                self.waiting.append((inside, value, kind))
        if isinstance(node, ast.Attribute):
            self.fields.append((scope, node, kind))
        self.waiting += ((scope, part, kind) for part in parts_of(node))

    def follow_field(self, scope: Scope, node: ast.AST, kind: str) -> None:
        """Follow a field or a property to its class; one that is an enumeration, to its values."""
        values: list[Value] = []
        for owner in self.find_classes(scope, node.value):
            values += self.returned.get((owner.path, node.attr), ())
            if node.attr in self.parameters.get(owner, ()):
                self.follow_parameter(owner, node.attr, kind)
        for owner in self.find_classes(scope, node):
            values += self.enums.get(owner, ())
        self.waiting += ((inside, value, kind) for inside, value in values)


def messages(paths: Iterable[Path] | None = None) -> list[Message]:
    """Return the messages of all code, or of some files, that have a blank and a word."""
    gc.disable()  # looking for garbage in syntax trees takes 4 of 10 seconds
    code = Code((ROOT / "runner").rglob("*.py") if paths is None else paths)
    gc.enable()
    found = {
        Message(path, node.lineno, kind, text)
        for node, (path, kind) in code.found.items()
        if " " in (text := " ".join(text_of(node).split()))
        if WORD.search(HOLE.sub("", text)) and not NOT_PROSE.search(text)
    }
    return sorted(found)


if __name__ == "__main__":
    sys.stdout.writelines(f"{m.path}:{m.line}\t{m.kind}\t{m.text}\n" for m in messages())
