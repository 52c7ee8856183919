"""Tests of before that do not compile with code of now: what keeps one back hides no other."""

import os
import shutil
from pathlib import Path

import pytest
from test_gates_base_tests import asked
from test_gates_base_tests_languages import (
    CRATE,
    GO,
    GO_MODULE,
    INSIDE,
    LIB,
    needs_cargo,
    needs_go,
)

HELPED = """package shop

import (
	"strings"
	"testing"
)

const (
	// what two of them cost
	six = 6
)

type row struct{ n, want int }

func same(t *testing.T, one row) {
	t.Helper()
	if got := Price(one.n); got != one.want {
		t.Fatal(strings.Repeat("-", six), got)
	}
}

func TestPrice(t *testing.T) {
	same(t, row{n: 2, want: six})
}
"""
BASE = {**GO_MODULE, "shop_test.go": HELPED}
BENT = GO.replace("3 * n", "4 * n")
PRICE = "`example.org/shop.TestPrice`"
FAILS = ("question", f"{PRICE} as it was fails on this code")
LINE = "go test ./..."
ANEW = HELPED.replace("same(", "equal(").replace("six", "eight").replace("= 6", "= 8")
ANEW = ANEW.replace("row", "line")

USED = "\n\nfunc Used() int { return %s }\n"


def of_strings(source):
    """Without the package `strings`."""
    return source.replace('\t"strings"\n', "").replace('strings.Repeat("-", eight), ', "")


@needs_go
@pytest.mark.parametrize(
    ("product", "tests"),
    [
        ("\nfunc same(n int) int { return n }\n" + USED % "same(1)", ANEW),
        ("\nvar (\n\tsix, five = 8, 5\n)\n" + USED % "six + five", ANEW),
        ("\ntype row []int\n" + USED % "len(row{})", ANEW),
        ("\nvar strings = 1\n" + USED % "strings", of_strings(ANEW)),
        (
            "\nfunc same(n int) int { return n }\n\ntype row []int\n" + USED % "same(len(row{}))",
            ANEW,
        ),
    ],
    ids=["function", "constant in brackets", "type", "package", "two"],
)
def test_a_name_of_the_product_that_a_test_of_go_has_too_hides_nothing(tmp_path, product, tests):
    after = BASE | {"shop.go": BENT + product, "shop_test.go": tests}
    assert asked(tmp_path / "bent", BASE, after, LINE)[0] == [FAILS]
    right = tests.replace("= 8", "= 6")
    after = BASE | {"shop.go": GO + product, "shop_test.go": right}
    assert asked(tmp_path / "right", BASE, after, LINE)[0] == []


@pytest.fixture(autouse=True)
def _folders(tmp_path):
    (tmp_path / "bent").mkdir()
    (tmp_path / "right").mkdir()


@needs_go
def test_what_the_product_imports_may_be_named_as_a_test_helper_was(tmp_path):
    code = GO.replace("shop\n", 'shop\n\nimport same "strings"\n', 1) + USED % 'same.Count("", "")'
    after = BASE | {"shop.go": code.replace("3 * n", "4 * n"), "shop_test.go": ANEW}
    assert asked(tmp_path, BASE, after, LINE)[0] == [FAILS]


@needs_go
def test_a_helper_of_a_package_beside_and_of_files_that_stay_is_renamed_in_all_of_them(tmp_path):
    within = "package shop\n\nvar Six = func() int { return 6 }\n"
    beside = """package shop_test

import (
	"testing"

	"example.org/shop"
)

func TestPrice(t *testing.T) {
	if shop.Price(2) != shop.Six() {
		t.Fatal("six")
	}
}
"""
    before = GO_MODULE | {"export_test.go": within, "shop_test.go": beside}
    code = BENT + "\nfunc Six() int { return 8 }\n"
    after = {**before, "shop.go": code, "export_test.go": "package shop\n"}
    assert asked(tmp_path, before, after, LINE)[0] == [FAILS]


TAX = "\nfunc Tax(n int) int { return n + 1 }\n"
TAX_TEST = """package shop

import (
	"strings"
	"testing"
)

func due(n int) int {
	return Tax(n) + strings.Count("", "x")
}

func TestTax(t *testing.T) {
	if due(1) != 2 {
		t.Fatal("two")
	}
}
"""
PLUS = ("Tax(n int) int { return n + 1", "Tax(n, m int) int { return n + m")
MORE = ("Tax(n)", "Tax(n, 1)")
UNRUN = ("warning", "`example.org/shop.TestTax` could not be run as it was")


@needs_go
def test_another_signature_of_one_function_hides_no_test_of_another(tmp_path):
    before = BASE | {"shop.go": GO + TAX, "tax_test.go": TAX_TEST}
    good = before | {
        "shop.go": (GO + TAX).replace(*PLUS),
        "tax_test.go": TAX_TEST.replace(*MORE),
    }
    assert asked(tmp_path / "right", before, good, LINE)[0] == [UNRUN]
    bent = good | {
        "shop.go": (BENT + TAX).replace(*PLUS),
        "shop_test.go": HELPED.replace("= 6", "= 8"),
    }
    assert sorted(asked(tmp_path / "bent", before, bent, LINE)[0]) == [FAILS, UNRUN]


@needs_go
def test_what_runs_before_every_test_of_go_is_not_taken_out(tmp_path):
    setup = "package shop\n\nvar rate = 1\n\nfunc SetRate(n int) { rate = n }\n\n"
    code = setup + "func Price(n int) int { return rate * n }\n"
    first = "package shop\n\nfunc init() { SetRate(3) }\n"
    before = BASE | {"shop.go": code, "init_test.go": first}
    after = before | {
        "shop.go": code.replace("SetRate(n int)", "SetRate(n, _ int)"),
        "init_test.go": first.replace("(3)", "(3, 0)"),
    }
    found = asked(tmp_path, before, after, LINE)[0]
    assert found == [("warning", f"{PRICE} could not be run as it was")]


@needs_go
def test_a_helper_that_moved_to_a_new_file_of_tests_is_no_question(tmp_path):
    at = HELPED.index("func same"), HELPED.index("func TestPrice")
    helper = HELPED[at[0] : at[1]].replace('strings.Repeat("-", six), ', "")
    rest = HELPED[: at[0]].replace('\t"strings"\n', "") + HELPED[at[1] :]
    moved = {"help_test.go": f'package shop\n\nimport "testing"\n\n{helper}', "shop_test.go": rest}
    more = "\nfunc Half(n int) int { return n / 2 }\n"
    assert asked(tmp_path, BASE, BASE | moved | {"shop.go": GO + more}, LINE)[0] == []


# --- Rust ----------------------------------------------------------------------------------

TAXED = "pub fn tax(n: i32) -> i32 {\n    n + 1\n}\n"
TAXED_TEST = "use shop::tax;\n\nfn due() -> i32 {\n    tax(1)\n}\n\n"
TAXED_TEST += "#[test]\nfn a_tax() {\n    assert_eq!(due(), 2);\n}\n"
CARGO = "cargo test --offline -q"


@needs_cargo
def test_another_signature_hides_no_other_test_of_cargo(tmp_path):
    inside = INSIDE.replace(
        "    #[test]", "    #[test]\n    fn taxed() { super::tax(1); }\n\n    #[test]"
    )
    before = CRATE | {"src/lib.rs": LIB + TAXED + inside, "tests/tax.rs": TAXED_TEST}
    taxed = TAXED.replace("n: i32", "n: i32, m: i32").replace("+ 1", "+ m")
    after = before | {
        "src/lib.rs": LIB.replace("3 * n", "4 * n")
        + taxed
        + inside.replace("tax(1)", "tax(1, 1)").replace("6)", "8)"),
        "tests/tax.rs": TAXED_TEST.replace("tax(1)", "tax(1, 1)"),
    }
    assert sorted(asked(tmp_path, before, after, CARGO)[0]) == [
        ("question", "`tests::a_price` as it was fails on this code"),
        ("warning", "`a_tax` could not be run as it was"),
        ("warning", "`tests::taxed` could not be run as it was"),
    ]


# --- TypeScript ----------------------------------------------------------------------------

TSC = Path(__file__).parents[2] / "editors/vscode/node_modules/typescript/bin/tsc"
TYPED = """import assert = require("assert");
import { test } from "node:test";
import { price, tax } from "./price";

test("a price", () => assert.equal(price(2), 6));
test("a tax", () => assert.equal(tax(1), 2));
"""
TYPED_CODE = (
    "export const price = (n: number) => 3 * n;\nexport const tax = (n: number) => n + 1;\n"
)
NODE_TYPES = (
    'declare module "assert" { const any: any; export = any; }\n'
    'declare module "node:test" { export const test: any; }\n'
)


@pytest.mark.skipif(
    shutil.which("node") is None or not TSC.exists(), reason="npm ci --prefix editors/vscode"
)
def test_types_that_do_not_fit_hide_no_test_of_typescript(tmp_path):
    before = {
        "src/price.ts": TYPED_CODE,
        "src/price.test.ts": TYPED,
        "src/node.d.ts": NODE_TYPES,
        "tsconfig.json": '{"compilerOptions": {"outDir": "dist", "module": "commonjs", '
        '"target": "es2020", "strict": true, "noEmitOnError": true}}\n',
    }
    code = TYPED_CODE.replace("tax = (n: number) => n + 1", "tax = (n: number, m: number) => n + m")
    tests = TYPED.replace("tax(1)", "tax(1, 1)").replace("), 6", "), 8")
    after = before | {"src/price.ts": code.replace("3 * n", "4 * n"), "src/price.test.ts": tests}
    line = f"node {os.fspath(TSC)} -p . --typeRoots none && node --test dist/"
    found = asked(tmp_path, before, after, line)[0]
    assert ("question", "`a price` as it was fails on this code") in found
