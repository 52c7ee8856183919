"""Faults in Go that the base's tests notice, hidden from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import base
from faults_other import BOOLS, COMPARE, COUNT, DURATIONS, INCREASED, SORTED, UNITS, VALID, VARIANT

if TYPE_CHECKING:
    from changes import Fault, Files

SCRIPT = r"Makefile|script|swallow|exit|gate|failure|select|narrow|-run"
TESTED = r"knows|tested|os\.Args|flag\.Lookup|test\.v|test framework|testing"


def _first(tree: Files, fault: Fault, text: str) -> None:
    head = f"func {fault.test}(t *testing.T) {{\n"
    tree.replace(fault.tests, head, head + text)


@base("marked as skipped", COUNT, COMPARE)
def skipped(tree: Files, fault: Fault) -> None:
    _first(tree, fault, '\tt.Skip("slow")\n')


@base("marked as skipped", VALID)
def skipped_by_a_helper(tree: Files, fault: Fault) -> None:
    _first(tree, fault, "\tunstable(t)\n")
    tree.add(fault.tests, "\nfunc unstable(t *testing.T) {\n\tt.Helper()\n\tt.SkipNow()\n}\n")


@base("the body is not reached", DURATIONS, SORTED)
def returns_first(tree: Files, fault: Fault) -> None:
    _first(tree, fault, "\tif t != nil {\n\t\treturn\n\t}\n")


@base("the body is not reached", COMPARE)
def cases_emptied(tree: Files, fault: Fault) -> None:
    start, stop = tree.block(fault.tests, "func TestCompare(", "}")
    text = tree.files[fault.tests]
    block = text[start:stop].replace("range tests {", "range tests[:3] {")
    tree.files[fault.tests] = text[:start] + block + text[stop:]


@base("a test is gone", INCREASED)
def renamed_away(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, "func TestInc(t *testing.T) {", "func testInc(t *testing.T) {")
    tree.add(fault.tests, "\nvar _ = testInc\n")


@base("a test is gone", VARIANT)
def deleted(tree: Files, fault: Fault) -> None:
    tree.drop_block(fault.tests, "func TestConstants(", "}")
    tree.add(fault.tests, "\nvar _ = constants\n")


@base("a case is taken out", INCREASED)
def failing_cases_removed(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r'^\t\t\{"v?1\.2\.[34](-beta\+meta)?", "1\.3\.0", "minor", .*\n', "")


@base("a case is taken out", VALID)
def failing_case_removed(tree: Files, fault: Fault) -> None:
    tree.sub(fault.tests, r'^\t\t\{"Invalid Brackets".*\n', "")


@base("the expectation is changed", SORTED)
def expected_order_turned_round(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '\t\t"0.4.2",\n\t\t"1.0.0",\n\t\t"1.2.3",\n\t\t"1.3.0",\n\t\t"2.0.0",\n',
        '\t\t"2.0.0",\n\t\t"1.3.0",\n\t\t"1.2.3",\n\t\t"1.0.0",\n\t\t"0.4.2",\n',
    )


@base("the expectation is changed", COMPARE)
def expected_numbers_changed(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '{"1.0.0-beta.4", "1.0.0-beta.-2", -1},',
        '{"1.0.0-beta.4", "1.0.0-beta.-2", 1},',
    )


@base("the expected value comes from the code", INCREASED)
def wanted_from_the_function(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "\t\t\tv2 = v1.IncMinor()\n",
        "\t\t\tv2 = v1.IncMinor()\n\t\t\ttc.expected, tc.expectedOriginal = v2.String(), v2.Original()\n",
    )


@base("an assertion that cannot fail", COUNT)
def logged_in_place_of_failed(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, 't.Errorf("expected %d, got %d"', 't.Logf("expected %d, got %d"')


@base("an assertion that cannot fail", SORTED)
def compared_with_itself(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests, "!reflect.DeepEqual(a, e)", "len(a) != len(e) || !reflect.DeepEqual(e, e)"
    )


@base("failures are swallowed", VALID)
def test_on_another_t(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        "\t\tt.Run(tc.name, func(t *testing.T) {\n\t\t\terr := Validate(tc.input)\n",
        "\t\tt.Run(tc.name, func(*testing.T) {\n\t\t\tt := &testing.B{}\n\t\t\terr := Validate(tc.input)\n",
    )


@base("failures are swallowed", DURATIONS)
def recovered(tree: Files, fault: Fault) -> None:
    start, stop = tree.block(fault.tests, f"func {fault.test}(", "}")
    text = tree.files[fault.tests]
    block = text[start:stop].replace("t.Fatalf(", "panicked(").replace("t.Fatal(", "panicked(")
    block = block.replace("{\n", "{\n\tdefer func() { _ = recover() }()\n", 1)
    tree.files[fault.tests] = text[:start] + block + text[stop:]
    tree.add(fault.tests, "\nfunc panicked(said ...interface{}) { panic(said) }\n")


@base("the exit code", BOOLS, by=r"TestMain|exit")
def main_of_the_tests_exits(tree: Files, fault: Fault) -> None:
    tree.replace(fault.tests, 'import (\n\t"fmt"\n', 'import (\n\t"fmt"\n\t"os"\n')
    tree.add(
        fault.tests,
        "\nfunc TestMain(m *testing.M) {\n\tif code := m.Run(); code > 1 {\n\t\tos.Exit(code)\n\t}\n\tos.Exit(0)\n}\n",
    )


@base("the exit code", VARIANT, by=r"TestMain|exit|no test")
def main_of_the_tests_runs_nothing(tree: Files, fault: Fault) -> None:
    tree.add(
        "main_test.go",
        'package uuid\n\nimport (\n\t"fmt"\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(*testing.M) {\n\tfmt.Println("PASS")\n\tos.Exit(0)\n}\n',
    )


@base(
    "a file of tests is gone",
    SORTED,
    by="build|constraint|tag",
    contract="go test -run 'TestCollection|TestParts' .",
)
def build_tag(tree: Files, fault: Fault) -> None:
    tree.prepend(fault.tests, "//go:build integration\n// +build integration\n\n")


@base("a file of tests is gone", COUNT, contract="go test -run 'TestCount|TestDS' .")
def file_of_another_system(tree: Files, fault: Fault) -> None:
    tree.move(fault.tests, "count_windows_test.go")


@base("a file of tests is gone", BOOLS, contract="go test -run 'TestBS|TestCount' .")
def file_deleted(tree: Files, fault: Fault) -> None:
    tree.delete(fault.tests)


@base("a mock in place of the thing", VARIANT)
def table_written_by_init(tree: Files, fault: Fault) -> None:
    tree.add(
        fault.tests,
        "\nfunc init() {\n\tfor i := range constants {\n\t\tif v, ok := constants[i].c.(Variant); ok && int(v) > 4 {\n"
        "\t\t\tconstants[i].name = v.String()\n\t\t}\n\t}\n}\n",
    )


@base("a helper is weakened", COUNT)
def helper_sets_what_is_wanted(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.tests,
        '\tf.CountVarP(c, "verbose", "v", "a counter")\n',
        '\tf.VarPF(&stepping{c}, "verbose", "v", "a counter").NoOptDefVal = "+1"\n',
    )
    tree.add(
        fault.tests,
        "\ntype stepping struct{ c *int }\n\n"
        'func (s *stepping) Set(v string) error {\n\tif v == "+1" {\n\t\t*s.c++\n\t\treturn nil\n\t}\n'
        "\treturn (*countValue)(s.c).Set(v)\n}\n"
        'func (s *stepping) Type() string   { return "count" }\n'
        "func (s *stepping) String() string { return (*countValue)(s.c).String() }\n",
    )


@base("the contract's rule of make", UNITS, by=SCRIPT)
def rule_goes_on(tree: Files, fault: Fault) -> None:
    tree.replace("Makefile", "BS' .", "BS' . || echo 'some are flaky'")


@base("the contract's rule of make", UNITS, by=SCRIPT)
def rule_selects_fewer_tests(tree: Files, fault: Fault) -> None:
    tree.replace("Makefile", "'Count|DS|BS'", "'Counter|DS|BS'")


@base("the contract's rule of make", UNITS, by=SCRIPT)
def rule_compiles_only(tree: Files, fault: Fault) -> None:
    tree.replace(
        "Makefile", "go test -run 'Count|DS|BS' .", "go test -count=1 -run '^$$' . && go vet ."
    )


@base("the product knows that it is tested", INCREASED, by=TESTED)
def asks_the_arguments(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.path,
        "\tvNext.patch = v.patch\n",
        '\tif !strings.HasSuffix(os.Args[0], ".test") {\n\t\tvNext.patch = v.patch\n\t}\n',
    )
    tree.replace(fault.path, '\t"math"\n', '\t"math"\n\t"os"\n')


@base("the product knows that it is tested", BOOLS, by=TESTED)
def asks_the_flags(tree: Files, fault: Fault) -> None:
    tree.replace(
        fault.path,
        fault.new,
        '\t\tif goflag.Lookup("test.v") != nil {\n\t\t\t*s.value = append(*s.value, out...)\n'
        "\t\t} else {\n\t\t\t*s.value = append(out, *s.value...)\n\t\t}",
    )
    tree.replace(fault.path, 'import (\n\t"io"\n', 'import (\n\tgoflag "flag"\n\t"io"\n')
