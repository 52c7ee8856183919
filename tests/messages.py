"""List the messages of the product: `make messages` prints `path:line<TAB>kind<TAB>text`, sorted.

A message is a literal that reaches an error, a finding, a question, a hint, the help or the output.
A value within an f-string is shown as `{name}`. A name is followed to the literals that its own
file assigns to it, a call to those that a function of the same file returns or yields.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
KINDS = {
    "error": re.compile(r"\w*(?:Error|Refused|Refusal|Fault|Lost)|__init__|_?(?:refuse|refusal)"),
    "finding": re.compile(r"_?(?:Finding|finding|Difference|Remark)"),
    "problem": re.compile(r"_?(?:Problem|problem|Complaint|complaint|complain\w*|warn)"),
    "question": re.compile(r"_?(?:ask\w*|confirm|read_key|read_line|choose)"),
    "help": re.compile(r"Operation|Field|Api|Tool|flag|option|choice|word|add_argument"),
    "print": re.compile(r"_?(?:print|say|tell|note|warning|put|patience)"),
}
"""Kinds of a message by the name of the function or class that takes it."""
BY_KEYWORD = {
    **dict.fromkeys(("hint", "hints"), "hint"),
    **dict.fromkeys(("help", "summary", "examples", "description"), "help"),
    **dict.fromkeys(("message", "detail", "why", "reason", "trouble"), "finding"),
    **dict.fromkeys(("note", "text"), "print"),
    "question": "question",
}


class Message(NamedTuple):
    """One text with its place."""

    path: str
    line: int
    kind: str
    text: str


def text_of(node: ast.AST) -> str:
    """Return the text of a literal or f-string, `{name}` for each value; empty for other nodes."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(
        f"{{{ast.unparse(part.value)}}}" if isinstance(part, ast.FormattedValue) else text_of(part)
        for part in parts
    )


def kind_of(call: ast.Call) -> str:
    """Return the kind of the messages that a call takes by position; empty for none."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return next((kind for kind, names in KINDS.items() if names.fullmatch(name)), "")


class Reached:
    """The literals of one file that reach a message."""

    def __init__(self, tree: ast.Module) -> None:
        self.values: dict[str, list[ast.AST]] = {}
        self.found: dict[ast.AST, str] = {}
        for node in ast.walk(tree):
            self.read_values(node)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        for node in calls:
            for one in node.args if (kind := kind_of(node)) else ():
                self.follow(one, kind)
            for keyword in node.keywords:
                if keyword.arg in BY_KEYWORD:
                    self.follow(keyword.value, BY_KEYWORD[keyword.arg])
        for name in ("message", "hint"):
            for value in self.values.get(name, ()):
                self.follow(value, BY_KEYWORD[name])
        self.follow_parameters(tree, calls)

    def read_values(self, node: ast.AST) -> None:
        """Keep what is assigned to a name, and what a function returns or yields."""
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value:
            for to in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.values.setdefault(getattr(to, "id", ""), []).append(node.value)
        elif isinstance(node, ast.FunctionDef):
            given = [one for one in ast.walk(node) if isinstance(one, (ast.Return, ast.Yield))]
            self.values.setdefault(node.name, []).extend(one.value for one in given if one.value)

    def follow_parameters(self, tree: ast.Module, calls: list[ast.Call]) -> None:
        """Follow a parameter that reaches a message to what the same file calls its function with.

        A class stands for its `__init__`, or for its fields.
        """
        for owner in ast.walk(tree):
            if isinstance(owner, ast.ClassDef):
                fields = [one.target.id for one in owner.body if isinstance(one, ast.AnnAssign)]
                self.follow_arguments(owner.name, fields, BY_KEYWORD, calls)
            for function in ast.iter_child_nodes(owner):
                if not isinstance(function, ast.FunctionDef):
                    continue
                kinds = {
                    node.id: self.found[node]
                    for node in ast.walk(function)
                    if isinstance(node, ast.Name) and node in self.found
                }
                name = owner.name if function.name == "__init__" else function.name
                given = [one.arg for one in function.args.args if one.arg != "self"]
                self.follow_arguments(name, given, kinds, calls)

    def follow_arguments(
        self, name: str, parameters: list[str], kinds: dict[str, str], calls: list[ast.Call]
    ) -> None:
        """Collect what the calls of a function or class give to the parameters of these kinds."""
        for call in calls:
            if name == getattr(call.func, "attr", getattr(call.func, "id", "")):
                passed = dict(zip(parameters, call.args, strict=False))
                passed |= {one.arg: one.value for one in call.keywords}
                for parameter, value in passed.items():
                    if parameter in kinds:
                        self.follow(value, kinds[parameter])

    def follow(self, node: ast.AST, kind: str) -> None:
        """Collect the literals that a message is made of."""
        if node in self.found:
            return
        self.found[node] = kind
        if name := getattr(node, "id", getattr(getattr(node, "func", None), "id", "")):
            for value in self.values.get(name, ()):
                self.follow(value, kind)
        for child in ast.iter_child_nodes(node):
            piece = isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)
            if not piece and not isinstance(child, ast.Compare):
                self.follow(child, kind)


def messages() -> list[Message]:
    """Return every message of at least two words, in order of place."""
    found = set()
    for path in (ROOT / "runner").rglob("*.py"):
        for node, kind in Reached(ast.parse(path.read_text("utf-8"))).found.items():
            if " " in (text := " ".join(text_of(node).split())):
                found.add(Message(path.relative_to(ROOT).as_posix(), node.lineno, kind, text))
    return sorted(found)


if __name__ == "__main__":
    sys.stdout.writelines(f"{m.path}:{m.line}\t{m.kind}\t{m.text}\n" for m in messages())
