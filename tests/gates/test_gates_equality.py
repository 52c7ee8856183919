"""An equality that does not look is a question; one that compares anything of its own is not."""

import pytest
from gates_bench import a_task
from gates_trees import a_story

from runner.gates import equality


def asked(folder, path, before, after, **fields):
    task = a_task(outputs=("any",), **fields)
    bench, _ = a_story(folder, {path: before}, {path: after}, task=task)
    (check,) = equality.checks(bench.task, bench.settings)
    return [(str(one.severity), one.path) for one in equality.prove(check, bench).findings]


def a_class(*lines, base="str"):
    body = "\n".join(f"        {line}" for line in lines)
    return f"class Shown({base}):\n    def __eq__(self, other):\n{body}\n"


def a_script(line):
    return f"class A {{\n  equals(o: A) {{\n    {line}\n  }}\n}}\n"


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


def a_field(words=""):
    return (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Price:\n"
        f"    cents: int = field(default=0{words})\n"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", a_class("return abs(float(self) - float(other)) < 5", base="float")),
        ("a.py", a_class("return self - 1 <= other <= self + 1", base="int")),
        ("a.py", a_class("return math.isclose(self.x, other.x, rel_tol=0.1)", base="object")),
        ("a.py", a_class("return isinstance(other, Shown) and len(self) == len(other)")),
        ("a.py", a_class("return self.lower() == other.lower()")),
        ("a.py", a_class("return round(self.x) == round(other.x)", base="object")),
        ("a.py", a_class("return self.cents // 10 == other.cents // 10", base="object")),
        ("a.py", a_class("return super().__eq__(other) or True")),
        ("a.py", a_class("return str(self)[:1] == str(other)[:1]")),
        ("a.py", a_class("return self.replace('_', '') == str(other).replace('_', '')")),
        ("a.py", a_class("return not other or dict.__eq__(self, other)", base="dict")),
        ("a.py", a_class("if not other:", "    return True", "return str(self) == other")),
        ("a.py", a_class("return str(self) == other or abs(self - other) < 2")),
        ("a.py", "class A:\n    pass\n\n\nA.__eq__ = lambda self, other: True\n"),
        ("a.py", "def same(a, b):\n    return True\n\n\nclass A:\n    __eq__ = same\n"),
        ("a.py", "A = type('A', (str,), {'__eq__': lambda a, b: True, '__hash__': None})\n"),
        ("a.py", "class A:\n    pass\n\n\nsetattr(A, '__eq__', lambda a, b: True)\n"),
        ("a.py", "class A(str):\n    def __ne__(self, other):\n        return False\n"),
        ("a.py", a_class("return self.keys() == other.keys()", base="dict")),
        (
            "a.py",
            a_class("return isinstance(other, Mapping) and set(self) == set(other)", base="dict"),
        ),
        ("a.py", a_class("return sorted(self) == sorted(other)", base="UserDict")),
        ("a.py", a_class("return self['id'] == other['id']", base="abc.MutableMapping")),
        ("a.py", a_class("return list(self.rows.keys()) == list(other.rows)", base="object")),
        ("a.py", a_class("return sum(self.parts) == sum(other.parts)", base="object")),
        ("a.ts", a_script("return this.x.length === o.x.length;")),
        ("a.ts", a_script("return Object.keys(this.x).join() === Object.keys(o.x).join();")),
        ("a.ts", a_script("return typeof o === 'object' && this.n.trim() === o.n.trim();")),
        ("a.ts", a_script("return this.keys().every((key) => o.keys().includes(key));")),
        ("a.go", "package a\n\nfunc (a A) Equal(b A) bool {\n\treturn len(a.x) == len(b.x)\n}\n"),
        ("a.js", "class A {\n  equals(o) {\n    return Math.abs(this.x - o.x) < 5;\n  }\n}\n"),
        ("a.go", "package a\n\nfunc (a A) Equal(b A) bool {\n\treturn a.x-b.x < 5\n}\n"),
    ],
)
def test_an_equality_that_is_only_near_is_a_question(tmp_path, path, text):
    assert asked(tmp_path, path, "x = 1\n", text) == [("question", path)]


@pytest.mark.parametrize(
    "text",
    [
        a_class("return len(self) == len(other) and all(a == b for a, b in zip(self, other))"),
        a_class("return self.keys() == other.keys() and dict(self) == dict(other)", base="dict"),
        a_class("return list(self) == list(other)", base="list"),
        a_class("return sorted(self.items()) == sorted(other.items())", base="dict"),
        a_class("return set(self.names) == set(other.names)", base="object"),
        a_class("return all(self[key] == other[key] for key in {*self, *other})", base="dict"),
        a_class("if len(self.x) != len(other.x):", "    return False", "return self.x == other.x"),
        a_class(
            "if type(self) is not type(other):", "    return False", "return self.x == other.x"
        ),
        a_class("return (self.x, abs(self.y)) == (other.x, abs(other.y)) and self.z == other.z"),
        a_class("return self is other or self.x == other.x", base="object"),
        a_class("return (self.x or ()) == (other.x or ())", base="object"),
        a_class(
            "if not isinstance(other, A):",
            "    return NotImplemented",
            "return self.n == other.n and (self.x or ()) == (other.x or ())",
            base="object",
        ),
        a_class("return hash(self) == hash(other)", base="object"),
        "class A(str):\n    def __ne__(self, other):\n        return not self == other\n",
    ],
)
def test_a_comparison_of_values_beside_others_is_exact(tmp_path, text):
    assert asked(tmp_path, "a.py", "x = 1\n", text) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.ts", a_script("return this.n === o.n && this.x.length === o.x.length;")),
        ("a.ts", a_script("return this.x.every((one, at) => one === o.x[at] && at < 9);")),
        (
            "a.ts",
            a_script("return Object.keys(this).every((key) => this[key] === o[key]);"),
        ),
        (
            "a.go",
            "package a\n\nfunc f(a A) bool {\n\tif a.Equal(none) {\n\t\treturn len(a)>0\n\t}\n}\n",
        ),
        (
            "a.go",
            """package a

func (a A) Equal(b A) bool {
\tif len(a.x) != len(b.x) {
\t\treturn false
\t}
\tfor at := range a.x {
\t\tif a.x[at] != b.x[at] {
\t\t\treturn false
\t\t}
\t}
\treturn true
}
""",
        ),
    ],
)
def test_one_exact_comparison_of_other_languages_is_enough(tmp_path, path, text):
    assert asked(tmp_path, path, "x = 1\n", text) == []


def test_a_field_that_leaves_the_equality_is_a_question(tmp_path):
    gone = a_field(", compare=False")
    assert asked(tmp_path, "a.py", a_field(), gone) == [("question", "a.py")]
    assert asked(tmp_path, "a.py", gone, gone + "\nx = 1\n") == []
    assert asked(tmp_path, "a.py", "x = 1\n", gone) == []


def test_a_plan_may_say_what_counts_as_equal(tmp_path):
    text = a_class("return self.lower() == other.lower()")
    prose = "Names compare without regard to case."
    assert asked(tmp_path, "a.py", "x = 1\n", text, prose=prose) == []
