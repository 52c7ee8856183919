"""JavaScript and TypeScript that do not parse are refused; what nobody here can parse is told."""

import subprocess
from types import SimpleNamespace

import pytest

from runner.model import Action, Change, Severity, digest_of
from runner.writes.compile_check import compile_file


def compiled(folder, path, text, **beside):
    (folder / ".git").mkdir(exist_ok=True)
    for name, content in beside.items():
        (folder / name.replace("_json", ".json")).write_text(content)
    content = text.encode()

    def run_command(line, *, stdin=b"", **_):
        done = subprocess.run(line, cwd=folder, input=stdin, capture_output=True, check=False)
        said = (done.stdout + done.stderr).decode()
        return SimpleNamespace(passed=done.returncode == 0, tail=said, exit=done.returncode)

    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    return compile_file(change, run_command)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "function f( {\n"),
        ("a.js", "import a from 'b';\nexport default function (\n"),
        ("b.mjs", "import x from 'y'\nlet a = ;\n"),
        ("b.mjs", "return 1;\n"),
        ("c.cjs", "const a = {{;\n"),
        ("c.cjs", "import a from 'b';\n"),
    ],
)
def test_what_is_neither_module_nor_script_is_refused(tmp_path, path, text):
    found = compiled(tmp_path, path, text)
    assert found is not None
    assert (found.check, found.refuses, found.path) == ("compile", True, path)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "import a from 'b'; await a();"),
        ("a.js", "#!/usr/bin/env node\nreturn 1;"),
        ("a.js", "with (a) {}"),
        ("c.cjs", "module.exports = async () => import('x');"),
        ("film.ts", "<?xml version='1.0'?><!DOCTYPE TS><TS></TS>"),
    ],
)
def test_what_is_one_of_them_passes(tmp_path, path, text):
    assert compiled(tmp_path, path, text) is None


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.js", "// @flow\nconst a: ?number %= 1;", "Flow"),
        ("a.js", "await using a = b();\nlet c = ;", "newer"),
    ],
)
def test_what_nobody_here_can_parse_is_told(tmp_path, path, text, said):
    found = compiled(tmp_path, path, text)
    assert found is not None
    assert (found.severity, found.refuses) == (Severity.NOTE, False)
    assert found.message.startswith("not parsed: ")
    assert said in found.message


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        ("a.ts", "let a: number = 1;", "let a: = 1;"),
        ("a.tsx", "export const A = () => <b>{1}</b>;", "export const A = () => <b>{1</b>;"),
        ("a.jsx", "const a = <div>x</div>;", "const a = <div>x</div"),
        ("a.js", "export const a = () => <div>x</div>;", "export const a = ( => <div>x</div>;"),
    ],
)
def test_what_node_cannot_parse_is_parsed_by_its_grammar(tmp_path, path, right, wrong):
    assert compiled(tmp_path, path, right) is None
    found = compiled(tmp_path, path, wrong)
    assert (found.severity, found.line) == (Severity.ERROR, 1)


def test_a_package_with_a_bundler_translates_what_node_does_not_know(tmp_path):
    needs = '{"devDependencies": {"webpack": "5"}}'
    found = compiled(tmp_path, "a.js", "let a = do { 1 };", package_json=needs)
    assert found is not None
    assert not found.refuses


def test_typescript_that_a_package_needs_and_nobody_has_is_missing(tmp_path):
    needs = '{"devDependencies": {"typescript": "5"}}'
    found = compiled(tmp_path, "a.ts", "let a = 1;", package_json=needs)
    assert found is not None
    assert (found.check, found.refuses) == ("compiler", True)
    declared = compiled(tmp_path, "a.d.ts", "declare let a: number;", package_json=needs)
    assert declared is None, "nothing is made of declarations"


PARSER = """\
exports.ScriptKind = {}; exports.ScriptTarget = {};
exports.flattenDiagnosticMessageText = (text) => text;
exports.createSourceFile = (name, text) => ({
  parseDiagnostics: text.includes('=;') ? [{ start: 4, messageText: 'Expression expected.' }] : [],
  getLineAndCharacterOfPosition: (at) => ({ line: 0, character: at }),
});
"""


def test_the_projects_own_typescript_parses_all_of_it(tmp_path):
    package = tmp_path / "node_modules/typescript"
    package.mkdir(parents=True)
    (package / "index.js").write_text(PARSER)
    for path in ("a.ts", "b.tsx", "c.js", "d.jsx", "e.d.ts", "f.d.mts"):
        found = compiled(tmp_path, path, "let a=;")
        assert (found.message, found.line, found.column) == ("Expression expected.", 1, 5)
        assert compiled(tmp_path, path, "const a = <div/>;") is None


NEWER_PARSER = """\
const fs = require('node:fs'), own = process.argv.at(-1), text = fs.readFileSync(own, 'utf8');
console.log('error TS2318: Cannot find global type "Array".');
if (text.includes('=;')) console.log(`${own}(1,6): error TS1109: Expression expected.`);
if (text.includes('010')) console.log(`${own}(1,9): error TS1121: Octals are not allowed.`);
process.exit(2);
"""


def newer(folder):
    """TypeScript as it is since version 7: no parser to load, but a program to start."""
    package = folder / "node_modules/typescript"
    (package / "lib").mkdir(parents=True)
    (package / "bin").mkdir()
    (package / "package.json").write_text('{"exports": {".": "./lib/version.cjs"}}')
    (package / "lib/version.cjs").write_text('exports.version = "7.0.2";\n')
    (package / "bin/tsc").write_text(NEWER_PARSER)
    return package


def test_a_typescript_that_is_a_program_parses_all_of_it(tmp_path):
    newer(tmp_path)
    for path in ("a.ts", "b.tsx", "c.js", "d.jsx", "e.d.ts", "f.d.mts"):
        found = compiled(tmp_path, path, "let a=;")
        assert (found.message, found.line, found.column) == ("Expression expected.", 1, 6)
        assert compiled(tmp_path, path, "const a = <div/>;") is None


def test_what_node_takes_is_no_mistake_whatever_typescript_says(tmp_path):
    newer(tmp_path)
    assert compiled(tmp_path, "a.js", "var a = 010;\n") is None
    assert compiled(tmp_path, "a.ts", "var a = 010;\n").message == "Octals are not allowed."


def test_a_typescript_that_cannot_be_started_leaves_scripts_to_node(tmp_path):
    (newer(tmp_path) / "bin/tsc").unlink()
    assert compiled(tmp_path, "a.js", "let a=;").severity is Severity.ERROR
    assert compiled(tmp_path, "a.ts", "let a: string = 1;") is None


@pytest.mark.parametrize("text", ["export const a = 1;\n", "import a from 'b';\nawait a;\n"])
def test_what_a_commonjs_file_may_not_hold_is_refused_beside_typescript_too(tmp_path, text):
    newer(tmp_path)
    assert compiled(tmp_path, "a.cjs", text).refuses
    assert compiled(tmp_path, "a.mjs", text) is None
    assert compiled(tmp_path, "a.cts", text) is None
    assert compiled(tmp_path, "b.cjs", "const b = <div/>;\n") is None


@pytest.mark.parametrize("text", ["class A { @dec m() {} }\n", "{ using a = b(); }\n"])
def test_syntax_that_is_newer_than_node_may_stand_within_a_line(tmp_path, text):
    assert compiled(tmp_path, "a.js", text) is None
