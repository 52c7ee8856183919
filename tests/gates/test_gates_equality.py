"""An equality that does not look is a question; one that compares anything of its own is not."""

import pytest
from gates_bench import a_task
from gates_trees import a_story

from runner.gates import equality


def asked(folder, path, before, after):
    task = a_task(outputs=("any",))
    bench, _ = a_story(folder, {path: before}, {path: after}, task=task)
    (check,) = equality.checks(bench.task, bench.settings)
    return [(str(one.severity), one.path) for one in equality.prove(check, bench).findings]


def a_class(*lines, base="str"):
    body = "\n".join(f"        {line}" for line in lines)
    return f"class Shown({base}):\n    def __eq__(self, other):\n{body}\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", a_class("return True")),
        ("a.py", a_class("return other is not None")),
        ("a.py", a_class("return isinstance(other, str)")),
        ("a.py", a_class("if other is None:", "    return False", "return True")),
        ("a.py", "class Any:\n    __eq__ = lambda *_: True\n"),
        (
            "a.ts",
            "export class Any {\n  asymmetricMatch(other: any): boolean { return true; }\n}\n",
        ),
        ("a.js", "class A {\n  equals(other) {\n    return true; // yes\n  }\n}\n"),
        ("a.go", "package a\n\nfunc (a A) Equal(b A) bool {\n\treturn true\n}\n"),
        ("a.rs", "impl PartialEq for A {\n    fn eq(&self, _: &A) -> bool { true }\n}\n"),
    ],
)
def test_an_equality_that_does_not_look_is_a_question(tmp_path, path, text):
    assert asked(tmp_path, path, "x = 1\n", text) == [("question", path)]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", a_class("return str(self) == other")),
        ("a.py", a_class("return isinstance(other, Shown)", base="object")),
        ("a.py", a_class("return type(self) is type(other)", base="object")),
        ("a.py", a_class("return super().__eq__(other)")),
        ("a.py", a_class("return NotImplemented")),
        ("a.py", a_class("return False")),
        ("a.ts", "class A {\n  equals(other: A) { return other.x === this.x; }\n}\n"),
        ("a.go", "package a\n\nfunc (a A) Equal(b A) bool { return a.x == b.x }\n"),
        ("tests/test_a.py", a_class("return True")),
    ],
)
def test_others_are_none(tmp_path, path, text):
    assert asked(tmp_path, path, "x = 1\n", text) == []


def test_what_was_so_before_is_no_news(tmp_path):
    text = a_class("return True")
    assert asked(tmp_path, "a.py", text, f"{text}\n\nx = 1\n") == []
