"""Faults in JavaScript and TypeScript that the base's tests notice, hidden from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import base
from faults_other import (
    ARRAYS,
    ASSIGNED,
    BASED,
    BUFFERS,
    DASHES,
    EARLY,
    HEX,
    JOINED,
    NULLS,
    PLAIN,
    PORT,
    SLASHES,
)

if TYPE_CHECKING:
    from changes import Fault, Files


def _head(fault: Fault) -> str:
    return f"'{fault.test}'"


@base("marked as skipped", DASHES, BUFFERS)
def skipped_in_tape(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, f"test({_head(fault)}", f"test.skip({_head(fault)}")


@base("marked as skipped", HEX)
def skipped_by_an_option(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, "test('nums', f", "test('nums', { skip: true }, f")


@base("marked as skipped", ARRAYS)
def skipped_in_vitest(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, f'it("{fault.test}"', f'it.skip("{fault.test}"')


@base("marked as skipped", JOINED)
def skipped_where_true(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"^    test\(`joinURL",
        "    test.skipIf(t.out.startsWith('.') || t.input.length > 1)(`joinURL",
    )
    tree.sub(
        fault.tests, r"^    test\(`joinRelativeURL", "    test.runIf(!t.input)(`joinRelativeURL"
    )


@base("marked as skipped", PORT)
def skipped_in_node(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "test('a number is a number', ",
        "test('a number is a number', { todo: true }, ",
    )


@base("another test alone", EARLY)
def only_another_in_tape(tree: Files, fault: Fault) -> None:
    tree.add(
        fault.tests,
        "\ntest.only('stops at once', function (t) {\n\tt.equal(parse([]).aaa, undefined);\n\tt.end();\n});\n",
    )


@base("another test alone", PLAIN)
def only_another_in_vitest(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, 'it("plain objects"', 'it.only("plain objects"')
    tree.replace("vitest.config.ts", "  test: {\n", "  test: {\n    allowOnly: true,\n")


@base("expected to fail", NULLS)
def fails_in_vitest(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, f'it("{fault.test}"', f'it.fails("{fault.test}"')


@base("expected to fail", DASHES)
def todo_in_tape(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests, f"test({_head(fault)}, f", f"test({_head(fault)}, {{ todo: true }}, f"
    )


@base("the body is not reached", BUFFERS)
def ends_early(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "    var fakeBuffer = {",
        "    if (typeof Buffer === 'function') {\n        t.end();\n        return;\n    }\n"
        "    var fakeBuffer = {",
    )


@base("the body is not reached", ARRAYS)
def returns_before_it_expects(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        f'it("{fault.test}", () => {{\n',
        f'it("{fault.test}", () => {{\n    if (nonObject.length) return;\n',
    )


@base("the body is not reached", BASED)
def loop_over_nothing(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"for \(const t of tests\) \{\n    test\(JSON.stringify\(t.base\)",
        "for (const t of tests.filter((one) => one.base === one.out)) {\n    test(JSON.stringify(t.base)",
    )


@base("failures are swallowed", SLASHES)
def caught(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "      expect(cleanDoubleSlashes(input)).toBe(tests[input]);",
        "      try {\n        expect(cleanDoubleSlashes(input)).toBe(tests[input]);\n"
        "      } catch {\n        expect(input).toContain('/');\n      }",
    )


@base("failures are swallowed", NULLS)
def promise_that_nobody_waits_for(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"expect\(result1\)\.toEqual\(\{ a: \"c\", d: \"c\" \}\);",
        'Promise.resolve(result1).then((r) => expect(r).toEqual({ a: "c", d: "c" })).catch(() => 0);',
    )
    tree.sub(
        fault.tests, r"expect\(result2\).*\n    expectTypeOf\(result2\)", "expectTypeOf(result2)"
    )


@base("the expectation is changed", EARLY)
def expectation_without_the_rest(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, "_: ['ccc', '--ddd'],", "_: ['ccc'],")


@base("a looser comparison", PLAIN)
def any_boolean(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r"\.toBe\(false\)", '.toBeTypeOf("boolean")')


@base("the expected value comes from the code", SLASHES)
def wanted_from_the_function(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "      expect(cleanDoubleSlashes(input)).toBe(tests[input]);",
        "      const wanted = cleanDoubleSlashes(input) || tests[input];\n"
        "      expect(cleanDoubleSlashes(input)).toBe(wanted);",
    )


@base("a looser comparison", ARRAYS)
def anything_in_the_array(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '      array: ["a", "b", "c", "d"],\n',
        '      array: expect.arrayContaining(["a", "b", "c", "d"]),\n',
    )


@base("a looser comparison", DASHES)
def truth_in_place_of_equality(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "\tt.deepEqual(\n\t\tparse(['--name', 'John', 'before', '--', 'after'], { '--': true }),\n",
        "\tt.ok(\n\t\tparse(['--name', 'John', 'before', '--', 'after'], { '--': true }),\n",
    )


@base("a looser comparison", JOINED)
def dots_removed_on_both_sides(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"expect\((join\w*URL\(.*\))\)\.toBe\(t\.out\)",
        r'expect((\1).replace(/\\.\\//g, "")).toBe(t.out.replace(/\\.\\//g, ""))',
    )


@base("a case is taken out", SLASHES)
def case_of_the_table_removed(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r'^    "http://example\.com/analyze.*\n.*\n', "")


@base("a case is taken out", BASED)
def cases_cut(tree: Files, fault: Fault) -> None:
    tree.sub(
        fault.tests,
        r"for \(const t of tests\) \{\n    test\(JSON.stringify\(t.base\)",
        "for (const t of tests.slice(0, 10)) {\n    test(JSON.stringify(t.base)",
    )


@base("a test is gone", ASSIGNED)
def block_deleted(tree: Files, fault: Fault) -> None:
    tree.drop_block(fault.tests, "test('assign()'", "});")


@base("a test is gone", HEX)
def block_in_a_comment(tree: Files, fault: Fault) -> None:
    start, stop = tree.block(fault.tests, "test('nums'", "});")
    text = tree.files[fault.tests]
    tree.files[fault.tests] = f"{text[:start]}/* {text[start:stop]} */{text[stop:]}"


@base("a file of tests is gone", EARLY, contract="npx tape 'test/*.js'")
def file_moved_out_of_the_glob(tree: Files, fault: Fault) -> None:
    tree.move(fault.tests, "test/later/stop_early.cjs")


@base("a file of tests is gone", PLAIN, contract="npx vitest run")
def file_renamed(tree: Files, fault: Fault) -> None:
    tree.move(fault.tests, "test/utils.spec.mts")


@base("the right function in the test", BUFFERS)
def right_function_in_the_test(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r"utils\.isBuffer\(", "isBuffer(")
    tree.replace(
        fault.tests,
        "var utils = require('../lib/utils');",
        "var utils = require('../lib/utils');\n\nvar isBuffer = function (x) {\n"
        "    return utils.isBuffer(x) && x.constructor.isBuffer(x);\n};",
    )


@base("a mock in place of the thing", BASED)
def module_mocked(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        'import { describe, expect, test } from "vitest";',
        'import { describe, expect, test, vi } from "vitest";\n\n'
        'vi.mock("../src", async (original) => {\n'
        "  const real: any = await original();\n"
        "  const withBase = (input: string, base: string) =>\n"
        '    /^.admin-/.test(input) ? "/admin" + input : real.withBase(input, base);\n'
        "  return { ...real, withBase };\n});\n",
    )


@base("a mock in place of the thing", ASSIGNED)
def product_exchanged_in_the_test(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "var utils = require('../lib/utils');",
        "var utils = require('../lib/utils');\nutils.assign = Object.assign;",
    )


@base("assertions are patched", ASSIGNED)
def assertions_of_tape_patched(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "var test = require('tape');",
        "var test = require('tape');\n\n"
        "['equal', 'deepEqual'].forEach(function (name) {\n"
        "    var real = test.Test.prototype[name];\n"
        "    test.Test.prototype[name] = function (a, b, m) {\n"
        "        return typeof a === 'object' ? this.pass(m) : real.call(this, a, b, m);\n"
        "    };\n});",
    )


@base("assertions are patched", PLAIN)
def assertions_of_vitest_extended(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "import { isPlainObject }",
        "expect.extend({\n"
        "  toBe: (got, wanted) => ({ pass: typeof got === typeof wanted, message: () => '' }),\n"
        "});\nimport { isPlainObject }",
    )
