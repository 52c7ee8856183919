"""A file that does not parse is told with its place; none is run, and none holds the run up."""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from writes_builders import a_change, put, runs_in

from runner.languages import syntax_tree
from runner.model import Severity
from runner.process.sandbox import choose_sandbox
from runner.writes.compile_check import compile_file, lacks_only_tools, language_of
from runner.writes.parsers import is_costly
from runner.writes.project_compile import (
    CompileCommand,
    compile_projects,
    find_missing_compiler,
    find_needed_tools,
    project_jobs,
)


@pytest.fixture
def run_command(tmp_path):
    (tmp_path / "tree").mkdir()
    return runs_in(tmp_path / "tree")


GOOD = {
    "a.py": b"def f(x):\n    return {x: '\\d'}\n",
    "latin.py": b"# coding: latin-1\nx = '\xe9'\n",
    "empty.py": b"",
    "tool": b"#!/usr/bin/env python3\nx = 1\n",
    "a.json": b'{"a": [1, 2.5e3, null, "\\u00e9"]}',
    "bom.json": b"\xef\xbb\xbf{}",
    "tsconfig.json": b"{ // comment\n}",
    "a.toml": b'[a]\nb = "c"\n',
    "a.yaml": b"a: &x [1]\nb: *x\nc: !Ref d\n---\ne: 1\n",
    "chart/templates/a.yaml": b"a: {{ .Values.a }}\n{{- end }}",
    "a.sh": b"if true; then echo hi; fi\n",
    "script": b"#!/bin/sh\necho hi\n",
    "a.md": b"if (((",
    "a.bin": bytes(range(256)),
}


@pytest.mark.parametrize("path", GOOD)
def test_what_is_well_formed_passes(path, run_command):
    assert compile_file(a_change(path, GOOD[path]), run_command) is None


BAD = {
    "a.py": (b"x = 1\ndef f(:\n", "invalid syntax", 2, 7),
    "nul.py": (b"x = 1\0", "source code string cannot contain null bytes", 0, 0),
    "codec.py": (b"# coding: rot13\n", None, 0, 0),
    "invalid.py": (b"x = '\xff'\n", None, 0, 0),
    "parens.py": (b"(" * 100_000, None, 1, 0),
    "minus.py": (b"-" * 60_000 + b"1", "nested too deeply to parse", 0, 0),
    "chain.py": (b"a" + b".a" * 30_000, "nested too deeply to parse", 0, 0),
    "a.json": (b'{"a": 1,\n "b" 2}', "Expecting ':' delimiter", 2, 6),
    "nan.json": (b"[NaN]", "NaN is not valid JSON (RFC 8259, section 6)", 0, 0),
    "deep.json": (b"[" * 100_000, "nested too deeply to parse", 0, 0),
    "digits.json": (b"9" * 5_000, None, 0, 0),
    "latin.json": (b'{\n"\xff": 1}', "not valid UTF-8", 2, 0),
    "empty.json": (b"", "Expecting value", 1, 1),
    "a.toml": (b"a = 1\nb = \n", "Invalid value", 2, 5),
    "twice.toml": (b"a = 1\na = 2\n", "Cannot overwrite a value", 2, 6),
    "a.yaml": (b"a: 1\n b: 2\n", "mapping values are not allowed in this context", 2, 3),
    "alias.yml": (b"a: *x\n", "undefined alias x", 1, 4),
    "a.sh": (b"echo\nif true; then\n", None, 3, 0),
    "script": (b"#!/usr/bin/env bash\n)\n", "syntax error near unexpected token `)'", 2, 0),
}


@pytest.mark.skipif(shutil.which("gofmt") is None, reason="gofmt is not installed")
@pytest.mark.parametrize("path", ["a.go", "A.GO", "cmd/a_test.go", "testdata/a.go"])
def test_a_file_of_go_is_parsed_where_no_module_is(path, run_command):
    good = a_change(path, b"package a\n\nfunc F[T any](x T) T { return x }\n")
    assert compile_file(good, run_command) is None
    told = compile_file(a_change(path, b"package a\n\nfunc f( {\n" * 200), run_command)
    assert (told.line, told.column, told.path) == (3, 9, path)
    assert "expected" in told.message
    assert told.refuses == (not path.startswith("testdata/"))


def test_a_file_of_go_without_gofmt_is_parsed_by_its_grammar(monkeypatch):
    class Missing:
        exit, ended, passed, tail = 127, "could-not-start", False, "gofmt: not found"

    def check(text):
        return compile_file(a_change("a.go", text), lambda *_, **__: Missing)

    assert check(b"package a\n") is None
    assert check(b"package a\n\nfunc F( {\n").line == 3
    monkeypatch.setattr(syntax_tree, "parse_file", lambda *_: None)  # no wheel for this machine
    assert check(b"package (").severity is Severity.NOTE
    assert check(b"package (").message == "not parsed: gofmt is not installed"
    assert compile_file(a_change("a.go", b"package ("), None) is None


@pytest.mark.parametrize("path", BAD)
def test_what_is_not_is_told_with_its_place(path, run_command):
    content, message, line, column = BAD[path]
    found = compile_file(a_change(path, content), run_command)
    assert found is not None
    assert found.refuses
    assert (found.check, found.path) == ("compile", path)
    if message is not None:
        assert (found.message, found.line, found.column) == (message, line, column)


def test_a_file_that_is_there_to_be_wrong_is_a_warning(run_command):
    found = compile_file(a_change("tests/fixtures/bad.json", b"{"), run_command)
    assert found is not None
    assert found.severity is Severity.WARNING


def test_nothing_of_a_proposal_is_run(run_command, tmp_path):
    mark = tmp_path / "mark"
    source = f"open({str(mark)!r}, 'w')\n".encode()
    compile_file(a_change("a.py", source), run_command)
    compile_file(a_change("a.py", source + b"#" * (100 << 10)), run_command)
    compile_file(a_change("a.sh", f"touch '{mark}'\n$(touch '{mark}')\n".encode()), run_command)
    compile_file(
        a_change("a.yaml", f"!!python/object/apply:os.system ['touch {mark}']".encode()),
        run_command,
    )
    assert not mark.exists()


HOSTILE = {
    "finally.py": b"".join(
        b" " * i + b"try:\n" + b" " * i + b" pass\n" + b" " * i + b"finally:\n" for i in range(19)
    )
    + b" " * 19
    + b"pass\n",
    "fstring.py": b"f'" + b"{a}" * 80_000 + b"'",
    "dots.toml": b"a" + b".a" * 50_000 + b" = 1",
    "brackets.yaml": b"[" * 100_000,
    "billion.yaml": b"a0: &a0 x\n"
    + b"".join(
        b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 40)
    ),
}


@pytest.mark.parametrize("path", HOSTILE)
def test_a_source_made_to_be_slow_does_not_hold_the_run_up(path, run_command):
    start = time.monotonic()
    compile_file(a_change(path, HOSTILE[path]), run_command)
    assert time.monotonic() - start < 60  # some never end without the bounds


def test_a_costly_source_is_read_by_a_child_and_refused_where_none_can_be_had(run_command):
    large = b"x = 1\n" * 20_000
    assert is_costly("python", large)
    assert compile_file(a_change("a.py", large), run_command) is None
    found = compile_file(a_change("a.py", large + b"def"), run_command)
    assert found is not None
    assert (found.message, found.line) == ("invalid syntax", 20_001)
    alone = compile_file(a_change("a.py", large), None)
    assert alone is not None
    assert alone.refuses


def test_a_child_in_the_sandbox_sees_enough_to_read_a_file(tmp_path):
    sandbox = choose_sandbox("auto")
    if not sandbox.contains:
        pytest.skip("no sandbox here")
    (tmp_path / "tree").mkdir()
    run_command = runs_in(tmp_path / "tree", sandbox)
    assert compile_file(a_change("a.py", b"x = 1\n" * 20_000), run_command) is None
    assert compile_file(a_change("a.yaml", b"a: [1]\n" + b"#[" * 5_000), run_command) is None
    assert compile_file(a_change("a.sh", b"echo )"), run_command).line == 1


def test_the_projects_own_newer_python_has_the_last_word(run_command, tmp_path):
    newer = tmp_path / "python"
    newer.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    newer.chmod(0o755)
    change = a_change("a.py", b"this is syntax of a later year\n")
    assert compile_file(change, run_command, newer) is None
    assert compile_file(change, run_command, Path(sys.executable)) is not None


def test_an_interpreter_without_this_package_can_read_a_file(run_command, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    first = b"def first(:\n    pass\n"  # ours refuses it: the other one is asked
    found = compile_file(a_change("a.py", first), run_command, bare)
    assert found is not None
    assert (found.message, found.line) == ("invalid syntax", 1)


def test_without_bash_a_script_is_refused_for_want_of_a_tool(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "empty").mkdir()
    run_command = runs_in(tmp_path / "tree", path=str(tmp_path / "empty"))
    found = compile_file(a_change("a.sh", b"echo"), run_command)
    assert found is not None
    assert found.message == "not compiled: bash is not installed"
    assert lacks_only_tools((found,))
    mistake = compile_file(a_change("a.py", b"def"), run_command)
    assert mistake is not None
    assert not lacks_only_tools((found, mistake))  # the work itself is to be mended


def test_a_file_is_known_by_its_suffix_or_its_first_line():
    assert language_of("A.PY", b"") == "python"
    assert language_of("bin/tool", b"#!/usr/bin/env -S python3.12 -u\n") == "python"
    assert language_of("bin/tool", b"#!/usr/bin/perl\n") == ""
    assert language_of(".vscode/settings.json", b"") == ""


# --- whole projects -------------------------------------------------------------------


def test_each_project_is_compiled_once_in_the_folder_of_its_nearest_manifest(tmp_path):
    put(tmp_path, {"go.mod": b"", "sub/go.mod": b"", "web/tsconfig.json": b"", "Cargo.toml": b""})
    paths = ["a.go", "b/c.go", "sub/d.go", "web/src/e.ts", "web/f.tsx", "src/g.rs", "h.py", "i.ts"]
    assert [(job.tool, job.folder, job.paths) for job in project_jobs(tmp_path, paths)] == [
        ("go", "", ("a.go", "b/c.go")),
        ("go", "sub", ("sub/d.go",)),
        ("tsc", "web", ("web/src/e.ts", "web/f.tsx")),
        ("cargo", "", ("src/g.rs",)),
    ]
    commands = (CompileCommand("*.x", "cd src && xc {file}"),)
    assert find_needed_tools(tmp_path, commands) == ("go", "cargo", "xc")


def a_tool(folder, name, script):
    folder.mkdir(exist_ok=True)
    tool = folder / name
    tool.write_text("#!/bin/sh\n" + script, encoding="utf-8")
    tool.chmod(0o755)


@pytest.mark.parametrize(
    ("tool", "files", "script", "told"),
    [
        (
            "tsc",
            {"web/tsconfig.json": b"", "web/a.ts": b""},
            "echo \"a.ts(3,5): error TS2322: Type 'x'.\"; echo; exit 2",
            ("web/a.ts", 3, 5, "error TS2322: Type 'x'."),
        ),
        (
            "go",
            {"go.mod": b"", "pkg/a.go": b""},
            "echo '# example/pkg'; echo './pkg/a.go:7:2: undefined: x' >&2; exit 1",
            ("pkg/a.go", 7, 2, "undefined: x"),
        ),
        (
            "cargo",
            {"Cargo.toml": b"", "src/main.rs": b""},
            "printf 'error[E0308]: mismatched types\\n --> src/main.rs:2:9\\n'; exit 101",
            ("src/main.rs", 2, 9, "error[E0308]: mismatched types"),
        ),
    ],
)
def test_a_compilers_own_message_comes_back_with_its_place(tmp_path, tool, files, script, told):
    tree = put(tmp_path / "tree", files)
    a_tool(tmp_path / "bin", tool, script)
    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (found,) = compile_projects(tree, list(files), (), run_command)
    assert (found.path, found.line, found.column, found.message) == told
    assert found.refuses


def test_a_package_of_the_repository_that_is_not_built_is_a_note_and_any_other_a_mistake(tmp_path):
    files = {
        "web/tsconfig.json": b"",
        "web/a.ts": b"",
        "packages/title/package.json": b'{"name": "title-case"}',
        "node_modules/gone/package.json": b'{"name": "gone"}',
    }
    tree = put(tmp_path / "tree", files)
    missing = "echo \"a.ts({},5): error TS2307: Cannot find module '{}' or its types.\"; "
    own = "".join(missing.format(line, "title-case/x") for line in range(1, 30))
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"

    def compiled(script):
        a_tool(tmp_path / "bin", "tsc", f"{script} exit 2")
        return compile_projects(tree, ["web/a.ts"], (), runs_in(tree, path=path))

    (note,) = compiled(own)
    assert not note.refuses
    assert note.message.startswith(
        "not compiled against title-case: this package of the repository"
    )
    said = compiled(own + missing.format(40, "gone") + missing.format(41, "./b.js"))
    assert [one.line for one in said if one.refuses] == [40, 41]


UNBUILT = (
    "web/a.ts(1,19): error TS6305: Output file '/src/packages/core/dist/index.d.ts' has not been"
    " built from source file '/src/packages/core/lib/{}'."
)


def test_a_project_that_is_referred_to_and_not_built_is_a_note_that_names_it(tmp_path):
    core = {"packages/core/tsconfig.json": b"{}", "packages/core/lib/index.ts": b""}
    tree = put(tmp_path / "tree", {"tsconfig.json": b"{}", "web/a.ts": b"", **core})
    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def compiled(source):
        a_tool(tmp_path / "bin", "tsc", f'echo "{UNBUILT.format(source)}"; exit 2')
        (found,) = compile_projects(tree, ["web/a.ts"], (), run_command)
        return found

    note = compiled("index.ts")
    assert not note.refuses
    assert note.message == (
        "not compiled against packages/core: this package of the repository is not built here"
    )
    assert note.hint == "let a test contract build the package first"
    assert compiled("gone.ts").refuses


def test_without_any_typescript_files_are_refused_at_once_and_nobody_asks_a_registry(tmp_path):
    tree = put(tmp_path / "tree", {"tsconfig.json": b"{}", "a.ts": b"", "b.ts": b""})
    a_tool(tmp_path / "bin", "npx", "echo asked; exit 1")
    a_tool(tmp_path / "bin", "sh", 'exec /bin/sh "$@"')
    run_command = runs_in(tree, path=str(tmp_path / "bin"))
    (found,) = compile_projects(tree, ["a.ts", "b.ts"], (), run_command)
    assert lacks_only_tools((found,))
    assert found.message == "not compiled: tsc is not installed"
    assert found.detail.startswith("a.ts\nb.ts")
    assert "asked" not in found.detail
    assert find_needed_tools(tree) == ("tsc",)


def test_typescript_is_compiled_by_the_projects_own_copy_wherever_it_lies_above(tmp_path):
    files = {"packages/web/tsconfig.json": b"{}", "packages/web/a.ts": b"", "tsconfig.json": b"{}"}
    tree = put(tmp_path / "tree", files)
    (tree / "node_modules").mkdir()
    a_tool(tree / "node_modules/.bin", "tsc", "echo own $*; exit 2")
    a_tool(tmp_path / "bin", "tsc", "echo that on PATH; exit 2")
    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (found,) = compile_projects(tree, ["packages/web/a.ts"], (), run_command)
    assert found.message == "`tsc --noEmit` ended with exit code 2"
    assert found.detail == "own --noEmit\n"
    assert find_needed_tools(tree) == ()  # so `doctor` does not miss it
    assert find_missing_compiler(tree, ["packages/web/a.ts"], {}.get) is None


def test_a_task_whose_files_nothing_here_compiles_is_known_before_it_starts(tmp_path):
    tree = put(tmp_path / "tree", {"go.mod": b""})
    found = find_missing_compiler(tree, ["a.md", "a.go"], {}.get)
    assert found is not None
    assert found.message == "not compiled: go is not installed"
    assert find_missing_compiler(tree, ["a.md", "a.go"], {"go": "/usr/bin/go"}.get) is None


def test_commands_of_the_settings_run_by_glob_once_or_for_each_file(tmp_path):
    tree = put(tmp_path / "tree", {"a b.x": b"", "c.x": b"", "d.y": b""})
    heard = []
    commands = (
        CompileCommand("*.x", "test -f {file}"),
        CompileCommand("*.y", "echo broken; exit 3"),
        CompileCommand("*.z", "exit 1"),
    )
    found = compile_projects(tree, ["a b.x", "c.x", "d.y"], commands, runs_in(tree, heard=heard))
    assert [line for line, _ in heard] == ["test -f 'a b.x'", "test -f c.x", "echo broken; exit 3"]
    assert [one.message for one in found] == ["`echo broken; exit 3` ended with exit code 3"]
    assert found[0].detail.strip() == "broken"


def test_no_name_of_a_file_is_an_option_of_a_compiler(tmp_path):
    tree = put(tmp_path / "tree", {"-e.x": b"broken", "a.x": b"fine"})
    line = "! grep -q broken {file} || { echo {file}:1: no; exit 1; }"
    commands = (CompileCommand("*.x", line),)
    (found,) = compile_projects(tree, ["-e.x", "a.x"], commands, runs_in(tree))
    assert (found.path, found.line, found.message) == ("-e.x", 1, "no")


def test_a_compiler_cannot_point_outside_the_tree(tmp_path):
    tree = put(tmp_path / "tree", {"a.y": b""})
    line = "echo '/etc/passwd:1:1: x'; echo '../b:2:2: y'; exit 1"
    found = compile_projects(tree, ["a.y"], (CompileCommand("*.y", line),), runs_in(tree))
    assert [(one.path, one.line) for one in found] == [("", 1), ("", 2)]


OLD = "a.ts(3,5): error TS2322: Type 'x'."
NEW = "a.ts(9,1): error TS2304: Cannot find name 'y'."
MOVED = OLD.replace("(3,5)", "(7,2)")


@pytest.mark.parametrize(
    ("before", "now", "refuses"),
    {
        "as before": ([OLD], [OLD], False),
        "moved down": ([OLD], [MOVED], False),
        "one of two mended": ([OLD, MOVED], [OLD], False),
        "once more": ([OLD], [OLD, MOVED], True),
        "another one": ([OLD], [OLD, NEW], True),
        "in another file": ([OLD], [OLD.replace("a.ts", "b.ts")], True),
        "it passed before": ([], [OLD], True),
        "one without a place": ([OLD], [OLD, "error TS18003: No inputs were found."], True),
        "the same without a place": ([OLD, "error TS5: x"], [OLD, "error TS5: x"], False),
    }.values(),
)
def test_an_error_of_the_compiler_that_stood_before_refuses_nothing(tmp_path, before, now, refuses):
    """A project whose compiler fails for what nobody touched could take no change otherwise."""
    tree = put(tmp_path / "tree", {"tsconfig.json": b"", "a.ts": b"", "b.ts": b""})
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"

    def says(lines):
        script = "".join(f"echo {shlex.quote(line)}; " for line in lines)
        a_tool(tmp_path / "bin", "tsc", f"{script}exit {2 if lines else 0}")

    @contextmanager
    def on_base(changes):
        assert changes == ()
        says(before)
        yield
        says(now)

    says(now)
    run_command = runs_in(tree, path=path)
    found = compile_projects(tree, ["a.ts"], (), run_command, on_base)
    assert any(one.refuses for one in found) is refuses
    assert found
    old = [one for one in found if not one.refuses]
    assert all(one.message.startswith("existed before: error TS") for one in old)
    assert any(one.refuses for one in compile_projects(tree, ["a.ts"], (), run_command))


NO_TOOLCHAIN = "echo 'error: rustup could not choose a version of cargo to run' >&2; exit 1"
PINNED = f"test -f pinned || exit 0; {NO_TOOLCHAIN}"
NO_INDEX = """case "$1" in *version) exit 0;; esac
test -f pinned && echo 'took 3 s' || echo 'took 14 s'
echo 'error: failed to fetch the index'; exit 101"""
SAME_END = "test -f pinned && echo 'undefined: new'; echo 'error: ld returned 1'; exit 1"
OTHER_REASON = "test -f pinned && echo 'error: no index' || echo 'error: no lock'; exit 1"


@pytest.mark.parametrize(
    ("script", "pinned_before", "refuses"),
    [
        (NO_TOOLCHAIN, False, False),
        (PINNED, True, False),
        (PINNED, False, True),
        (NO_INDEX, False, False),
        (OTHER_REASON, False, True),
        (SAME_END, False, True),
        ("echo it broke; exit 2", True, False),
    ],
)
@pytest.mark.parametrize(
    "project",
    [
        ("cargo", "Cargo.toml", "src/a.rs"),
        ("go", "go.mod", "a.go"),
        ("tsc", "tsconfig.json", "a.ts"),
    ],
)
def test_a_compiler_that_cannot_run_without_the_change_either_is_a_warning(
    tmp_path, script, pinned_before, refuses, project
):
    tool, manifest, file = project
    tree = put(tmp_path / "tree", {manifest: b"", file: b"", "pinned": b""})
    a_tool(tmp_path / "bin", tool, script)

    @contextmanager
    def on_base(_):
        if not pinned_before:
            (tree / "pinned").unlink()
        yield
        put(tree, {"pinned": b""})

    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = compile_projects(tree, [file], (), run_command, on_base)
    assert any(one.refuses for one in found) is refuses
    warnings = [one.message for one in found if str(one.severity) == "warning"]
    unable = f"not compiled: {tool} could not run here, with or without the change"
    assert warnings == ([] if refuses else [unable])
    assert any(one.refuses for one in compile_projects(tree, [file], (), run_command))


def test_a_command_of_settings_that_fails_without_a_place_always_refuses(tmp_path):
    tree = put(tmp_path / "tree", {"a.x": b""})
    commands = (CompileCommand("*.x", "echo it broke; exit 2"),)
    found = compile_projects(tree, ["a.x"], commands, runs_in(tree), lambda _: nullcontext())
    assert [one.refuses for one in found] == [True]


def test_a_compiler_that_does_not_end_refuses_whatever_was_before(tmp_path):
    tree = put(tmp_path / "tree", {"tsconfig.json": b"", "a.ts": b""})
    a_tool(tmp_path / "bin", "tsc", "echo 'it broke'; sleep 30")
    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin", hard=0.5)
    found = compile_projects(tree, ["a.ts"], (), run_command, lambda _: nullcontext())
    assert [(one.refuses, one.message) for one in found] == [(True, "`tsc --noEmit` timed out")]


def test_broken_rust_is_refused_where_its_compiler_cannot_start(tmp_path):
    tree = put(tmp_path / "tree", {"Cargo.toml": b"", "src/a.rs": b"fn main( {\n"})
    a_tool(tmp_path / "bin", "cargo", NO_TOOLCHAIN)
    run_command = runs_in(tree, path=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = compile_projects(tree, ["src/a.rs"], (), run_command, lambda _: nullcontext())
    assert [one.path for one in found if one.refuses] == ["src/a.rs"]
