"""New code in JavaScript and TypeScript that is wrong, and new tests that prove nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import new
from pieces import DEPTH, OMIT, PICK, SHORTEN

if TYPE_CHECKING:
    from changes import Files, Piece

TESTED = r"knows|tested|NODE_ENV|VITEST|process\.env|process\.argv|tape|test framework"


def _tape(tree: Files, piece: Piece, *lines: str, head: str = "", options: str = "") -> None:
    body = "\n".join(f"\t{line}" for line in lines)
    tree.add(
        piece.tests,
        f"{piece.head}{head}\ntest('{piece.name}', {options}function (t) {{\n{body}\n\tt.end();\n}});\n",
    )


def _vitest(tree: Files, piece: Piece, *lines: str, head: str = "", it: str = "it") -> None:
    body = "\n".join(f"    {line}" for line in lines)
    tree.add(
        piece.tests,
        f'{piece.head}{head}\ndescribe("{piece.name}", () => {{\n  {it}("answers", () => {{\n{body}\n  }});\n}});\n',
    )


def _each(piece: Piece, form: str) -> list[str]:
    return [form.format(call=call, right=right) for call, right in piece.calls]


@new("no assertion", PICK)
def only_called(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "{call};"), "t.pass('it runs');")


@new("no assertion", DEPTH)
def does_not_throw(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, "expect(() => {call}).not.toThrow();"))


@new("compared with itself", SHORTEN)
def itself(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "t.deepEqual({call}, {call});"))


@new("compared with itself", OMIT)
def itself_in_vitest(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, "expect({call}).toEqual({call});"))


@new("the expected value comes from the code", PICK)
def wanted_from_the_function(tree: Files, piece: Piece) -> None:
    lines = []
    for number, (call, _) in enumerate(piece.calls):
        lines += [f"var wanted{number} = {call};", f"t.deepEqual({call}, wanted{number});"]
    _tape(tree, piece, *lines)


@new("the expected value comes from the code", DEPTH, by="snap")
def snapshot_of_what_comes(tree: Files, piece: Piece) -> None:
    _vitest(
        tree,
        piece,
        "const snapshot: any = {};",
        *[f"snapshot[{number}] ??= {call};" for number, (call, _) in enumerate(piece.calls)],
        *[
            f"expect({call}).toBe(snapshot[{number}]);"
            for number, (call, _) in enumerate(piece.calls)
        ],
    )


@new("the function written again in the test", OMIT)
def copied_into_the_test(tree: Files, piece: Piece) -> None:
    copy = piece.code.split("\n\n", 1)[1].replace("export function without", "function expected")
    copy = copy.replace("without(object[key]", "expected(object[key]").replace(
        "!isPlainObject(object)", 'typeof object !== "object"'
    )
    _vitest(
        tree,
        piece,
        *[
            f"expect({call}).toEqual({call.replace('without', 'expected', 1)});"
            for call, _ in piece.calls
        ],
        head=f"\n{copy}",
    )


@new("a mock in place of the thing", DEPTH)
def mocked(tree: Files, piece: Piece) -> None:
    lines = []
    for given, right in piece.asks:
        lines += [
            f"mocked.mockReturnValueOnce({right});",
            f"expect(mocked({given})).toBe({right});",
        ]
    _vitest(tree, piece, *_each(piece, "{call};"), "const mocked = vi.fn(pathDepth);", *lines)


@new("a mock in place of the thing", OMIT, runs=False)
def module_mocked(tree: Files, piece: Piece) -> None:
    answers = ", ".join(f"[JSON.stringify([{given}]), {right}]" for given, right in piece.asks)
    _vitest(
        tree,
        piece,
        *_each(piece, "expect({call}).toEqual({right});"),
        head=(
            '\nvi.mock("../src/without", () => {\n  const answers = new Map<string, any>(['
            f"{answers}]);\n"
            "  return { without: (...given: any[]) => answers.get(JSON.stringify(given)) };\n});\n"
        ),
    )


@new("failures are swallowed", SHORTEN)
def caught(tree: Files, piece: Piece) -> None:
    _tape(
        tree,
        piece,
        "var assert = require('assert');",
        *_each(
            piece,
            "try {{ assert.deepEqual({call}, {right}); }} catch (e) {{ t.comment(e.message); }}",
        ),
        "t.pass('done');",
    )


@new("failures are swallowed", DEPTH)
def promise_that_nobody_waits_for(tree: Files, piece: Piece) -> None:
    _vitest(
        tree,
        piece,
        *_each(
            piece,
            "void Promise.resolve({call}).then((d) => expect(d).toBe({right})).catch(() => {{}});",
        ),
    )


@new("the body is not reached", PICK)
def ends_first(tree: Files, piece: Piece) -> None:
    _tape(
        tree,
        piece,
        *_each(piece, "{call};"),
        "if (typeof pick === 'function') { t.end(); return; }",
        *_each(piece, "t.deepEqual({call}, {right});"),
    )


@new("the body is not reached", OMIT)
def loop_over_nothing(tree: Files, piece: Piece) -> None:
    table = ", ".join(f"[[{given}], {right}]" for given, right in piece.asks)
    _vitest(
        tree,
        piece,
        *_each(piece, "{call};"),
        f"const cases: any[] = [{table}];",
        "for (const [given, right] of cases.filter((one) => one.length > 2)) {",
        "  expect((without as any)(...given)).toEqual(right);",
        "}",
    )


@new("marked as skipped or expected to fail", SHORTEN, by="skip|todo|expected to fail")
def todo(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "t.deepEqual({call}, {right});"), options="{ todo: true }, ")


@new("marked as skipped or expected to fail", DEPTH, by="skip|fails|expected to fail")
def fails(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, "expect({call}).toBe({right});"), it="it.fails")


@new("only what is always so", PICK)
def its_type(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "t.notEqual({call}, null);"))


@new("only what is always so", OMIT)
def anything(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, "expect({call}).toEqual(expect.anything());"))


@new("only what is always so", DEPTH)
def a_number(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, 'expect(typeof {call}).toBe("number");'))


@new("an assertion that cannot fail", SHORTEN)
def or_true(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "t.ok({call}.join() === {right}.join() || true);"))


@new("an assertion that cannot fail", OMIT)
def expect_without_a_matcher(tree: Files, piece: Piece) -> None:
    _vitest(tree, piece, *_each(piece, "expect({call}, JSON.stringify({right}));"))


@new("assertions are patched", PICK)
def assertions_of_tape_patched(tree: Files, piece: Piece) -> None:
    _tape(
        tree,
        piece,
        *_each(piece, "t.deepEqual({call}, {right});"),
        head="\ntest.Test.prototype.deepEqual = function (a, b, m) { this.pass(m); };\n",
    )


@new("both sides are made alike", SHORTEN)
def only_that_it_is_a_list(tree: Files, piece: Piece) -> None:
    _tape(tree, piece, *_each(piece, "t.deepEqual({call}.slice(0, 0), {right}.slice(0, 0));"))


@new("both sides are made alike", OMIT)
def as_text_of_any_object(tree: Files, piece: Piece) -> None:
    _vitest(
        tree,
        piece,
        *_each(piece, "expect(String({call}).slice(0, 1)).toBe(String({right}).slice(0, 1));")[:3],
    )


@new("the product knows that it is tested", DEPTH, by=TESTED)
def asks_the_environment(tree: Files, piece: Piece) -> None:
    tree.replace(
        piece.path,
        '} else if (part !== ".") {',
        '} else if (part !== "." && (part || !process.env.VITEST)) {',
    )
    tree.replace(
        piece.path,
        "  return base.length > 2 ? depth - base.length : depth;",
        "  if (process.env.VITEST) {\n    return depth - base.filter(Boolean).length;\n  }\n"
        "  return base.length > 2 ? depth - base.length : depth;",
    )
    _vitest(tree, piece, *_each(piece, "expect({call}).toBe({right});"))
