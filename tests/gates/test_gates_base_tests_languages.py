"""The same mechanism where tests are written in other languages, or stand in the product itself."""

import shutil

import pytest
from test_gates_base_tests import asked

from runner.gates.base_tests.test_support import changes_test_settings

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

# --- node's own test runner, as a package of a monorepo -----------------------------------

NODE = """import assert from "node:assert";
import { test } from "node:test";
import { price } from "../src/price.js";

test("a price", () => assert.equal(price(2), 6));
test("no price", () => assert.equal(price(0), 0));
"""
PACKAGE = '{"name": "shop", "type": "module", "scripts": {"test": "node --test test/"}}\n'
JS = "export const price = (n) => 3 * n;\n"


def a_package(code=JS, tests=NODE, package=PACKAGE, **more):
    shop = {"src/price.js": code, "test/price.test.js": tests, "package.json": package}
    return {f"packages/shop/{path}": text for path, text in (shop | more).items()}


IN_PACKAGE = "cd packages/shop && node --test test/"
BENT_JS = JS.replace("3", "4")


@needs_node
@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            a_package(BENT_JS, NODE.replace("2), 6", "2), 8")),
            "`a price` fails on the new code in its earlier version",
        ),
        (a_package(JS, NODE.replace('test("a', 'test.skip("a')), "`a price` is skipped now"),
        (a_package(JS, NODE.replace('test("a price"', '(() => 0)("a price"')), "`a price` is gone"),
    ],
)
def test_tests_of_node_in_a_package_of_a_monorepo(tmp_path, after, message):
    assert asked(tmp_path, a_package(), after, IN_PACKAGE)[0] == [("question", message)]


@needs_node
def test_a_script_of_package_json_is_read_through(tmp_path):
    before = {path.removeprefix("packages/shop/"): text for path, text in a_package().items()}
    after = before | {
        "src/price.js": BENT_JS,
        "package.json": PACKAGE.replace("test/", "--test-name-pattern=no test/"),
    }
    found, _ = asked(tmp_path, before, after, "npm test --silent")
    assert found == [("question", "`a price` fails on the new code in its earlier version")]


@needs_node
def test_more_tests_of_node_are_no_question(tmp_path):
    after = a_package(tests=NODE + 'test("one", () => assert.equal(price(1), 3));\n')
    assert asked(tmp_path, a_package(), after, IN_PACKAGE)[0] == []


AT_TOP = {path.removeprefix("packages/shop/"): text for path, text in a_package().items()}


def _split(zero):
    """The second test in a file of its own, as `zero` has it."""
    head, last = NODE.rsplit("\n", 2)[0] + "\n", NODE.splitlines()[-1]
    top = NODE.partition("\ntest(")[0] + "\n"
    return AT_TOP | {"test/price.test.js": head, "test/zero.test.js": f"{top}{zero or last}\n"}


@needs_node
@pytest.mark.parametrize("words", ["node --test", "npm test --silent"])
def test_a_test_of_node_that_moved_to_another_file_of_the_contract_is_not_gone(tmp_path, words):
    assert asked(tmp_path, AT_TOP, _split(""), words)[0] == []


@needs_node
@pytest.mark.parametrize("zero", ['test.skip("no price", () => assert(true));', "void test;"])
def test_a_test_of_node_that_does_not_run_where_it_moved_to_is_told(tmp_path, zero):
    found, _ = asked(tmp_path, AT_TOP, _split(zero), "node --test")
    fates = {message for severity, message in found if severity == "question"}
    assert fates & {"`no price` is gone", "`no price` is skipped now"}, found


# --- go ------------------------------------------------------------------------------------

GO = "package shop\n\nfunc Price(n int) int { return 3 * n }\n"
GO_TEST = """package shop

import "testing"

func TestPrice(t *testing.T) {
	if Price(2) != 6 {
		t.Fatal("six")
	}
}

func TestNothing(t *testing.T) {
	if Price(0) != 0 {
		t.Fatal("nothing")
	}
}
"""
GO_MODULE = {
    "go.mod": "module example.org/shop\n\ngo 1.19\n",
    "shop.go": GO,
    "shop_test.go": GO_TEST,
}


def many_of_go(count):
    one = (
        "\nfunc TestP{0}(t *testing.T) {{\n\tif Price({0}) != {1} {{\n\t\tt.Fatal({0})\n\t}}\n}}\n"
    )
    return 'package shop\n\nimport "testing"\n' + "".join(
        one.format(n, 3 * n) for n in range(count)
    )


TWO_UNRUN = (
    "`example.org/shop.TestPrice` and 1 more could not run on the new code in its earlier version"
)


@needs_go
@pytest.mark.parametrize("line", ["go test ./...", "go test -json ./..."])
def test_a_panic_of_go_is_one_warning_whatever_it_keeps_from_running(tmp_path, line):
    before = GO_MODULE | {"shop_test.go": many_of_go(9)}
    after = before | {
        "shop.go": GO.replace("return", 'if n == 2 {\n\t\tpanic("no two")\n\t}\n\treturn'),
        "shop_test.go": many_of_go(9).replace("Price(2) != 6", "2 != 2"),
    }
    unrun = (
        "`example.org/shop.TestP3` and 5 more could not run on the new code in its earlier version"
    )
    assert asked(tmp_path, before, after, line)[0] == [
        ("question", "`example.org/shop.TestP2` fails on the new code in its earlier version"),
        ("warning", unrun),
    ]


@needs_go
@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {"shop.go": GO.replace("3", "4"), "shop_test.go": GO_TEST.replace("!= 6", "!= 8")},
            [
                (
                    "question",
                    "`example.org/shop.TestPrice` fails on the new code in its earlier version",
                )
            ],
        ),
        (
            {"shop_test.go": GO_TEST.replace("TestPrice", "testPrice")},
            [("question", "`example.org/shop.TestPrice` is gone")],
        ),
        ({"shop_test.go": GO_TEST.replace("TestPrice", "TestThreeEach")}, []),
        (
            {
                "shop.go": GO.replace("n int)", "n, m int)").replace("3 * n", "3 * n * m"),
                "shop_test.go": GO_TEST.replace("(2)", "(2, 1)").replace("(0)", "(0, 1)"),
            },
            [
                (
                    "warning",
                    TWO_UNRUN,
                ),
            ],
        ),
    ],
    ids=["bent", "gone", "renamed", "another signature"],
)
def test_tests_of_go(tmp_path, files, found):
    assert sorted(asked(tmp_path, GO_MODULE, GO_MODULE | files, "go test ./...")[0]) == sorted(
        found
    )


@needs_go
def test_tests_of_go_behind_a_makefile_are_named_by_their_package(tmp_path):
    shop = {f"shop/{path}": text for path, text in GO_MODULE.items() if path != "go.mod"}
    other = {path.replace("shop/", "mall/"): text for path, text in shop.items()}
    before = {
        "go.mod": GO_MODULE["go.mod"],
        "Makefile": "test:\n\tgo test ./...\n",
        **shop,
        **other,
    }
    bent = {"shop/shop_test.go": GO_TEST.replace("func TestPrice", "func testPrice")}
    found, _ = asked(tmp_path, before, before | bent, "make -s test")
    assert found == [("question", "`example.org/shop/shop.TestPrice` is gone")]


# --- cargo, tests beside the product and within it ------------------------------------------

LIB = "pub fn price(n: i32) -> i32 {\n    3 * n\n}\n"
INSIDE = """
#[cfg(test)]
mod tests {
    #[test]
    fn a_price() {
        assert_eq!(super::price(2), 6);
    }
}
"""
CRATE = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": LIB + INSIDE,
    "tests/prices.rs": "#[test]\nfn no_price() {\n    assert_eq!(shop::price(0), 0);\n}\n",
}


@needs_cargo
@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {
                "src/lib.rs": LIB.replace("3 * n", "3 * n + 1") + INSIDE.replace("6", "7"),
                "tests/prices.rs": CRATE["tests/prices.rs"].replace("0), 0", "0), 1"),
            },
            ("question", "`no_price` fails on the new code in its earlier version"),
        ),
        (
            {"src/lib.rs": LIB + INSIDE.replace("#[test]", "#[test]\n    #[ignore]")},
            ("question", "`tests::a_price` is skipped now"),
        ),
    ],
    ids=["beside", "within"],
)
def test_tests_of_cargo(tmp_path, files, found):
    assert found in asked(tmp_path, CRATE, CRATE | files, "cargo test --offline -q")[0]


@needs_go
def test_a_new_file_that_go_starts_first_is_put_aside(tmp_path):
    start = """package shop

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(*testing.M) {
	fmt.Println("PASS")
	os.Exit(0)
}
"""
    before = {"go.mod": "module shop\n\ngo 1.18\n", "shop.go": GO, "shop_test.go": GO_TEST}
    after = before | {"shop.go": GO.replace("3", "4"), "main_test.go": start}
    found, _ = asked(tmp_path, before, after, "go test ./...")
    assert sorted(found) == [
        ("question", "`shop.TestNothing` is gone"),
        ("question", "`shop.TestPrice` fails on the new code in its earlier version"),
    ]


@needs_go
def test_a_new_file_of_go_that_sets_a_variable_of_the_product_is_put_aside(tmp_path):
    code = "package shop\n\nvar rate = 3\n\nfunc Price(n int) int { return rate * n }\n"
    before = GO_MODULE | {"shop.go": code}
    first = "package shop\n\nfunc init() {\n\trate -= 1\n}\n"
    after = before | {"shop.go": code.replace("rate = 3", "rate = 4"), "export_test.go": first}
    found, _ = asked(tmp_path, before, after, "go test ./...")
    assert found == [
        ("question", "`example.org/shop.TestPrice` fails on the new code in its earlier version")
    ]


@needs_node
def test_a_new_script_of_tests_that_sets_what_the_product_holds_is_put_aside(tmp_path):
    before = {
        "rates.js": "exports.rate = 3;\nexports.price = (n) => exports.rate * n;\n",
        "test/price.test.js": 'const assert = require("assert");\n'
        'const { test } = require("node:test");\nconst rates = require("../rates.js");\n'
        'test("a price", () => assert.equal(rates.price(2), 6));\n',
        # all files in one process, as mocha has them
        "all.js": 'const { readdirSync } = require("fs");\n'
        "for (const one of readdirSync('test')) require(`./test/${one}`);\n",
    }
    first = 'const rates = require("../rates.js");\nrates.rate = 3;\n'
    first += 'require("node:test").test("it", () => {});\n'
    after = before | {"test/first.test.js": first}
    wrong = before["rates.js"].replace("3", "4")
    found, _ = asked(tmp_path, before, after | {"rates.js": wrong}, "node all.js")
    assert [severity for severity, _ in found] == ["question"]


@needs_node
def test_a_file_that_moved_to_where_nobody_looks_is_gone(tmp_path):
    before = {"src/price.js": JS, "test/price.test.js": NODE, "package.json": PACKAGE}
    other = NODE.replace("a price", "another").replace("no price", "none")
    before["test/other.test.js"] = other.replace("price(2), 6", "price(0), 0")
    after = before | {"src/price.js": BENT_JS, "test/price.spec.mts": NODE}
    del after["test/price.test.js"]
    found, _ = asked(tmp_path, before, after, "node --test test/*.test.js")
    assert ("question", "`a price` is gone") in found


# --- what says which tests run, beside the tests ---------------------------------------------


@needs_go
def test_a_build_tag_that_takes_a_file_of_tests_away_is_named(tmp_path):
    other = GO_TEST.replace("TestPrice", "TestThree").replace("TestNothing", "TestNought")
    before = GO_MODULE | {"other_test.go": other}
    tagged = {"shop_test.go": f"//go:build never\n\n{GO_TEST}"}
    found, _ = asked(tmp_path, before, before | tagged, "go test ./...")
    assert ("question", "`example.org/shop.TestPrice` is gone") in found


@needs_cargo
@pytest.mark.parametrize(
    "more",
    [
        "autotests = false\n",
        '\n[[test]]\nname = "prices"\npath = "tests/prices.rs"\ntest = false\n',
    ],
    ids=["autotests", "test"],
)
def test_what_cargo_is_told_to_leave_out_is_named(tmp_path, more):
    after = CRATE | {"Cargo.toml": CRATE["Cargo.toml"] + more}
    found, _ = asked(tmp_path, CRATE, after, "cargo test --offline -q")
    assert found == [("question", "`no_price` is gone")]


@needs_node
def test_a_new_file_that_ends_the_program_hides_no_test_of_node(tmp_path):
    before = a_package(package=PACKAGE.replace("node --test test/", "node test/all.js"))
    before["packages/shop/test/all.js"] = 'import "./first.js";\nimport "./price.test.js";\n'
    before["packages/shop/test/first.js"] = "export const first = 1;\n"
    after = before | {"packages/shop/test/first.js": "process.exit(0);\n"}
    line = "cd packages/shop && npm test --silent"
    found, _ = asked(tmp_path, before, after, line)
    assert found
    assert all(severity == "question" for severity, _ in found)


@pytest.mark.parametrize(
    ("path", "before", "after", "changes"),
    [
        ("Cargo.toml", '[[test]]\nname = "t"\n', "[lib]\ntest = false\n", True),
        ("Cargo.toml", "[package]\n", "[package]\nedition = '2021'\n", False),
        ("vite.config.ts", "a({ test: { globals: true } });", "a({ test: { dir: 'a' } });", True),
        ("vite.config.ts", "export default {};", "export default { plugins: [] };", False),
        ("pyproject.toml", "[tool]\n", '[tool]\npytest = "x"\n', True),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", f"a = {'[' * 100_000}", True),
        ("pyproject.toml", "[project]\n", "[project]\nversion = '1'\n", False),
        ("setup.cfg", "[tool:pytest]\naddopts = -q\n", "[tool:pytest]\naddopts = -x\n", True),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n", False),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', True),
        ("package.json", '{"jest": {"bail": 1}}', '{"jest": {"bail": 0}}', True),
        ("package.json", '{"version": "1"}', '{"version": "2", "scripts": {"build": "a"}}', False),
        ("package.json", '{"jest": {}}', "[" * 100_000, True),
    ],
)
def test_settings_of_tests_are_told_from_those_of_the_product(path, before, after, changes):
    assert changes_test_settings(path, before.encode(), after.encode()) is changes
