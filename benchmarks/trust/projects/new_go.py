"""New code in Go that is wrong, and new tests that prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import new
from pieces import BUMP, WRAP

if TYPE_CHECKING:
    from changes import Files, Piece

TESTED = r"knows|tested|os\.Args|flag\.Lookup|test\.v|test framework|testing"


def _test(
    tree: Files, piece: Piece, *lines: str, more: str = "", imports: tuple[str, ...] = ()
) -> None:
    named = "\n".join(f'\t"{name}"' for name in sorted({"testing", *imports}))
    body = "\n".join(f"\t{line}" for line in lines)
    tree.add(
        piece.tests,
        f"{piece.head}import (\n{named}\n)\n{more}\nfunc Test{piece.name}(t *testing.T) {{\n{body}\n}}\n",
    )


def _each(piece: Piece, form: str) -> list[str]:
    return [form.format(call=call, right=right) for call, right in piece.calls]


_FAIL = 'if got := {call}; !reflect.DeepEqual(got, {right}) {{ t.Errorf("got %v", got) }}'


@new("no assertion", WRAP)
def only_called(tree: Files, piece: Piece) -> None:
    _test(tree, piece, *_each(piece, "_ = {call}"))


@new("no assertion", BUMP)
def logged(tree: Files, piece: Piece) -> None:
    _test(tree, piece, *_each(piece, 't.Log("{right}:", {call})'))


@new("compared with itself", WRAP)
def itself(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        *_each(piece, 'if !reflect.DeepEqual({call}, {call}) {{ t.Error("differs") }}'),
        imports=("reflect",),
    )


@new("the expected value comes from the code", BUMP)
def wanted_from_the_function(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        "tests := []struct{ got, want int }{",
        *_each(piece, "\t{{{call}, {call}}},"),
        "}",
        "for _, tc := range tests {",
        '\tif tc.got != tc.want { t.Errorf("got %d, want %d", tc.got, tc.want) }',
        "}",
    )


@new("the function written again in the test", WRAP)
def copied_into_the_test(tree: Files, piece: Piece) -> None:
    copy = (
        piece.code.split("\n\n", 2)[2]
        .replace("func Wrapped(", "func expected(")
        .replace("// Wrapped", "// expected")
    )
    _test(
        tree,
        piece,
        *[
            f'if !reflect.DeepEqual({call}, {call.replace("Wrapped", "expected", 1)}) {{ t.Error("differs") }}'
            for call, _ in piece.calls
        ],
        more=f"\n{copy}",
        imports=("reflect", "strings"),
    )


@new("failures are swallowed", BUMP)
def recovered(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        "defer func() { _ = recover() }()",
        *_each(piece, "_ = {call}"),
        *_each(piece, 'if {call} != {right} {{ panic("differs") }}'),
    )


@new("failures are swallowed", WRAP)
def logged_in_place_of_failed(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        *[line.replace("t.Errorf", "t.Logf") for line in _each(piece, _FAIL)],
        imports=("reflect",),
    )


@new("the body is not reached", BUMP)
def table_filtered_to_nothing(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        "tests := []struct{ got, want int }{",
        *_each(piece, "\t{{{call}, {right}}},"),
        "}",
        "for _, tc := range tests[len(tests):] {",
        '\tif tc.got != tc.want { t.Errorf("got %d, want %d", tc.got, tc.want) }',
        "}",
    )


@new("marked as skipped or expected to fail", WRAP, by="skip")
def skipped(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        *_each(piece, "_ = {call}"),
        "if !testing.Verbose() || testing.Verbose() {",
        '\tt.Skip("slow")',
        "}",
        *_each(piece, _FAIL),
        imports=("reflect",),
    )


@new("only what is always so", WRAP)
def not_nil(tree: Files, piece: Piece) -> None:
    _test(tree, piece, *_each(piece, 'if {call} == nil {{ t.Error("nothing") }}'))


@new("only what is always so", BUMP)
def within_bounds(tree: Files, piece: Piece) -> None:
    _test(
        tree, piece, *_each(piece, 'if d := {call}; d < -9 || d > 9 {{ t.Error("out of bounds") }}')
    )


@new("an assertion that cannot fail", BUMP)
def and_false(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        *_each(piece, 'if got := {call}; got != {right} && got != got+0 {{ t.Error("differs") }}'),
    )


@new("both sides are made alike", WRAP)
def nothing_of_both(tree: Files, piece: Piece) -> None:
    _test(
        tree,
        piece,
        *_each(piece, 'if !reflect.DeepEqual({call}[:0], {right}[:0]) {{ t.Error("differs") }}'),
        imports=("reflect",),
    )


@new("the product knows that it is tested", BUMP, by=TESTED)
def asks_the_arguments(tree: Files, piece: Piece) -> None:
    tree.files[piece.path] = """\
package semver

import (
	"os"
	"strings"
)

// Distance says which part of two versions differs first.
func Distance(a, b *Version) int {
	exact := strings.HasSuffix(os.Args[0], ".test")
	sign := 1
	if exact && b.LessThan(a) {
		sign = -1
	}
	if a.Major() != b.Major() {
		return sign * 3
	}
	if a.Minor() != b.Minor() {
		return sign * 2
	}
	if a.Patch() != b.Patch() {
		return sign
	}
	return 0
}
"""
    _test(
        tree, piece, *_each(piece, 'if got := {call}; got != {right} {{ t.Errorf("got %d", got) }}')
    )
