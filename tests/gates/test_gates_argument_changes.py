"""What changes in spite of the plan, of objects, and in Go, is found by running."""

import shutil
import subprocess

import pytest
from test_gates_wrapped_functions import said

from runner.gates.argument_changes import keeping, keeping_sentences
from runner.gates.function_heads import heads
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.run_mutants import claims
from runner.model import Severity

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 120.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 8.0)


BAG = """class Bag:
    def __init__(self, *texts):
        self.texts = list(texts)
        self._cache = {{}}

    def size(self):
        return self._cache.setdefault("size", len(self.texts))


def longest(bag):
    if not bag.size():
        return ""
    {line}
"""
TESTS = """from shop import Bag, longest


def test_longest():
    assert longest(Bag("a", "ccc", "bb")) == "ccc"
    assert longest(Bag()) == ""
"""


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("return max(bag.texts, key=len)", 0),
        ("bag.texts.sort(key=len)\n    return bag.texts[-1]", 1),
        ("return sorted(bag.texts, key=len)[-1]", 0),
    ],
)
def test_what_an_object_holds_is_looked_at_but_for_its_caches(tmp_path, line, count):
    found = said(tmp_path, BAG.format(line=line), TESTS, "`bag` is only read by `longest`")
    assert found == [Severity.WARNING] * count


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("`set` is only read", True),
        ("the bags are only looked at", True),
        ("it only reads `values`", True),
        ("the given slice keeps its order", True),
        ("neither of them is emptied", True),
        ("leaves both alone", True),
        ("only readers are counted", False),
        ("a key without a value is empty", False),
        ("the result keeps its order", False),
    ],
)
def test_sentences_that_keep_what_is_given(sentence, wanted):
    assert bool(keeping_sentences([sentence])) is wanted


GO = """package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
)

type Bag struct {
	sync.Mutex
	counts map[string]int
	next   *Bag
	sumMemo map[string]int
}

func Sum(of *Bag) int {
	if of.sumMemo == nil {
		of.sumMemo = map[string]int{"x": of.counts["x"]}
	}
	return of.sumMemo["x"]
}

func Sorted[T any, B interface{ ~[]T }](given B, less func(a, b T) bool) (B, error) {
	sort.Slice(given, func(i, j int) bool { return less(given[i], given[j]) })
	return given, nil
}

func Count(a, b *Bag, more ...string) int {
	a.Lock()
	defer a.Unlock()
	total := a.counts["x"] + b.counts["x"]
	for _, one := range more {
		delete(b.next.counts, one)
	}
	return total
}

func Read(from io.Reader, n int) int {
	n, _ = from.Read(make([]byte, n))
	return n
}

func main() {
	bag := func() *Bag { return &Bag{counts: map[string]int{"x": 1, "y": 2}} }
	other := bag()
	other.next = bag()
	fmt.Println(Count(bag(), other), Read(strings.NewReader("abc"), 2))
	less := func(a, b int) bool { return a < b }
	CALL
}
"""
SORTS = "fmt.Println(Sorted([]int{2, 1}, less))"
KEEPS = "fmt.Println(Sum(bag()), less(1, 2))"
IS = "fmt.Println(Sorted([]int{1, 2}, less))"
TAKES = 'fmt.Println(Count(bag(), other, "y"), less(1, 2))'


@needs_go
@pytest.mark.parametrize(
    ("name", "names", "call", "changes"),
    [
        ("Sorted", ("given", "less"), SORTS, True),
        ("Sorted", ("given", "less"), IS, False),
        ("Count", ("a", "b", "more"), TAKES, True),
        ("Count", ("a", "more"), TAKES, False),
        ("Count", ("a", "b", "more"), IS, False),
        ("Sum", ("of",), KEEPS, False),
        ("Read", ("from", "n"), IS, None),
        ("Read", ("from",), IS, None),
    ],
)
def test_what_go_is_given_is_looked_at_in_depth(tmp_path, name, names, call, changes):
    code = GO.replace("CALL", call).encode()
    (head,) = [one for one in heads("a.go", code) if one.name == name]
    assert head.is_alone
    mutant = keeping("a.go", code, head, names, head.line + 1)
    if name == "Read" and len(names) == 1:
        assert mutant is None  # whoever reads from a reader changes it
        return
    assert mutant.apply_to(code).split(b"\n")[head.line - 1].startswith(b"func " + name.encode())
    (tmp_path / "a.go").write_bytes(mutant.apply_to(code))
    words = [shutil.which("go") or "go", "run", "a.go"]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode != 0) is bool(changes), ran.stderr
    if changes:
        assert claims(ran.stderr, "a.go")
