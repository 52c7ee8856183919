"""Lines that start no program that instruments could look into."""

import pytest
from gates_bench import a_story

from runner.gates.base_tests.test_support import support_of
from runner.plan.shell.shell_commands import starts_no_program


@pytest.mark.parametrize(
    "line",
    [
        "true",
        "test -f a && echo there",
        "x=1; [ $x = 1 ]",
        "cat a | grep b",
        "if :; then ls; fi",
        "(ls) >&2",
    ],
)
def test_the_shells_own_words_start_no_program(line):
    assert starts_no_program(line)


@pytest.mark.parametrize(
    "line",
    [
        "sh check.sh",
        "./true",
        "python3 -c pass",
        "echo $(python3 a.py)",
        "cat < <(node a.js)",
        "cat <<END\n`node a.js`\nEND",
        "PATH=bin grep a b",
        "true() { python3 a.py; }; true",
        "eval $X",
        "$X",
        "xargs true",
        "(echo a) > b",
        "for a in b; do echo $a; done >b",
        "if",
        "",
    ],
)
def test_what_may_start_something_else_is_watched(line):
    assert not starts_no_program(line)


# --- a file that the base's configuration loads before the tests belongs to them ------


NAMED = 'export default { test: { setupFiles: ["./scripts/setup.ts"] } };\n'
SETUP = 'import { expect } from "vitest";\n\nexpect.extend({});\n'


def is_test(folder, path, text, **configurations):
    before = {path: text} | {name.replace("_", "."): one for name, one in configurations.items()}
    context, _ = a_story(folder, before, before | {path: text + "\n"})
    return context.is_test(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vitest_config_ts", 'export default { test: { setupFiles: ["./scripts/setup.ts"] } };\n'),
        ("vitest_config_ts", "export default { test: { setupFiles: './scripts/setup' } };\n"),
        (
            "vitest_config_ts",
            "export default { test: {\n  globalSetup: [\n    'scripts/setup.ts',\n] } };\n",
        ),
        (
            "jest_config_js",
            "module.exports = { setupFilesAfterEnv: ['<rootDir>/scripts/setup.ts'] };\n",
        ),
        ("package_json", '{"jest": {"setupFiles": ["./other.js", "./scripts/setup.ts"]}}\n'),
        ("vite_config_ts", 'export default { test: { runner: "./scripts/setup.ts" } };\n'),
    ],
)
def test_what_a_configuration_has_loaded_belongs_to_tests(tmp_path, name, text):
    assert is_test(tmp_path, "scripts/setup.ts", SETUP, **{name: text})
    assert not is_test(tmp_path, "scripts/other.ts", SETUP, **{name: text})


def test_what_says_nothing_to_a_test_tool_is_the_products(tmp_path):
    text = 'export default { test: { setupFiles: ["./src/polyfill.ts"] } };\n'
    assert not is_test(tmp_path, "src/polyfill.ts", "export {};\n", vitest_config_ts=text)


def test_a_change_cannot_make_its_own_file_one(tmp_path):
    before = {"src/a.ts": SETUP, "vitest.config.ts": "export default { test: {} };\n"}
    named = {"vitest.config.ts": 'export default { test: { setupFiles: ["./src/a.ts"] } };\n'}
    context, _ = a_story(tmp_path, before, before | named)
    assert not context.is_test("src/a.ts")


def test_the_bases_tests_run_with_the_setup_that_they_had(tmp_path):
    before = {"scripts/setup.ts": SETUP, "src/a.ts": "export {};\n", "vitest.config.ts": NAMED}
    after = before | {"scripts/setup.ts": SETUP + "expect.addEqualityTesters([() => true]);\n"}
    context, _ = a_story(tmp_path, before, after)
    assert [one.path for one in support_of(context).landed] == ["scripts/setup.ts"]


def test_a_package_of_a_monorepo_has_its_own(tmp_path):
    before = {
        "packages/shop/prepare.ts": SETUP,
        "packages/shop/vitest.config.ts": NAMED.replace("scripts/setup", "prepare"),
    }
    context, _ = a_story(tmp_path, before, before)
    assert context.is_test("packages/shop/prepare.ts")
