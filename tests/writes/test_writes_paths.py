"""No path a task proposes leads out of its scope, into git, or past the eye of a reader."""

from __future__ import annotations

import itertools
import string

import pytest

from runner.model import Severity
from runner.writes.paths import (
    check_path,
    find_wrong_outputs,
    in_scope,
    is_control,
    is_forbidden,
    scope_finding,
    scope_line,
)

PLAIN = 0o100644

GIT_IN_ANY_CASE = ["".join(letters) for letters in itertools.product(".", "gG", "iI", "tT")]
ZERO_WIDTH = [0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF, 0x00AD]
BIDI = [0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2066, 0x2067, 0x2068, 0x2069, 0x061C]
OLD_FORMATS = [0x206A, 0x206B, 0x206C, 0x206D, 0x206E, 0x206F]
IGNORED_BY_HFS = [*ZERO_WIDTH[:5], *BIDI[:9], *OLD_FORMATS, 0xFEFF]

HOSTILE = sorted(
    {
        # git's own folder, in every spelling some file system opens as `.git`
        *GIT_IN_ANY_CASE,
        *(f"{name}/config" for name in GIT_IN_ANY_CASE),
        *(f"sub/{name}/hooks/post-commit" for name in GIT_IN_ANY_CASE),
        *(f".git{tail}" for tail in (" ", ".", "...", " .", ". .", "::$INDEX_ALLOCATION", ":x")),
        *(f".git{tail}/config" for tail in (" ", ".", "...", " .", "::$INDEX_ALLOCATION", ":x")),
        *(
            f"{name}~{digit}"
            for name in ("git", "GIT", "Git", "gItMoD", "gitatt")
            for digit in "1234"
        ),
        *(f"a/git~{number}/config" for number in (1, 2, 9, 10)),
        "gi7eba~1",
        "GI250A~2",
        "git~1 ",
        "git~1.",
        "git~1::$INDEX_ALLOCATION",
        *(f".g{chr(code)}it/config" for code in IGNORED_BY_HFS),
        *(f"{chr(code)}.git" for code in IGNORED_BY_HFS),
        *(f".git{chr(code)}" for code in IGNORED_BY_HFS),
        # in full-width letters, which compatibility forms fold to ASCII
        ".\uff47\uff49\uff54/config",
        "\uff0egit/config",
        ".\uff27\uff29\uff34",
        # out of the repository
        "..",
        "../a",
        "a/../../b",
        "a/..",
        "a/../b",
        "../../etc/passwd",
        "/etc/passwd",
        "/",
        "//server/share",
        "C:\\Windows",
        "C:evil",
        "c:/windows",
        "\\\\server\\share",
        "\\a",
        "a\\..\\b",
        "a\\b",
        "..\\a",
        # not normalised
        "",
        ".",
        "./a",
        "a/.",
        "a/./b",
        "a//b",
        "a/",
        "a/b/",
        "//",
        # what a reader does not see
        *(f"a{chr(code)}b" for code in range(32)),
        *(f"a{chr(code)}b" for code in range(0x7F, 0xA0)),
        *(f"evil{chr(code)}.py" for code in (*ZERO_WIDTH, *BIDI, *OLD_FORMATS)),
        "a\u2028b",
        "a\u2029b",
        "a\udc80b",
        "a\ue000b",
        "tag\U000e0041.py",
        # spaces and dots that some system cuts
        " a",
        "a ",
        "a/ b/c",
        "a /b",
        "\u00a0a",
        "a\u3000",
        "a\u2003b",
        "a.",
        "a./b",
        "...",
        "a...",
        # streams of a file
        "a.py::$DATA",
        "a.py:hidden:$DATA",
        "a::b",
        # too long, too deep
        "a" * 256,
        "ä" * 128,
        "/".join("a" * 200 for _ in range(6)),
        "/".join("a" for _ in range(65)),
    },
)

PLAIN_NAMES = [
    "a",
    "src/booking/models.py",
    ".hidden",
    "..hidden",
    "a..b",
    ".gitx",
    "git",
    "git/config",
    "digit~1x",
    "-rf",
    "--help",
    "with space.md",
    "größe.py",
    "日本語/テスト.py",
    "emoji-🎉.md",
    "a~1",
    "$HOME",
    "%PATH%",
    "a;rm -rf.md",
    "`touch x`",
    "'quoted'",
    "[x]/(y)/{z}.py",
    "a" * 255,
    "/".join("a" for _ in range(64)),
    "a@b+c=d,e&f!#.txt",
]


def test_there_are_enough_hostile_names_to_mean_something():
    assert len(HOSTILE) >= 200


@pytest.mark.parametrize("path", HOSTILE, ids=ascii)
def test_a_hostile_name_is_refused_and_shown_in_plain_characters(path):
    found = check_path(path, PLAIN)
    assert found is not None
    assert found.refuses
    assert found.check == "paths"
    assert set(found.message) <= set(string.printable) - set("\n\r\t\x0b\x0c")


@pytest.mark.parametrize("path", PLAIN_NAMES, ids=ascii)
def test_an_ordinary_name_passes(path):
    assert check_path(path, PLAIN) is None


@pytest.mark.parametrize(
    "path",
    [
        "con",
        "NUL.txt",
        "a/aux.py",
        "COM1",
        "lpt9.log",
        "CONIN$",
        "ab:c",
        "what?.md",
        'a"b',
        "e\u0301",
    ],
)
def test_a_name_that_does_not_travel_is_a_warning_only(path):
    found = check_path(path, PLAIN)
    assert found is not None
    assert found.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (0o120000, "is a symbolic link"),
        (0o160000, "is a submodule"),
        (0o104755, "has a setuid, setgid or sticky bit"),
        (0o102755, "has a setuid, setgid or sticky bit"),
        (0o101644, "has a setuid, setgid or sticky bit"),
        (0o040000, "has the mode 40000; only 100644 and 100755 are allowed"),
        (0o100666, "has the mode 100666; only 100644 and 100755 are allowed"),
        (0o100777, "has the mode 100777; only 100644 and 100755 are allowed"),
        (0, "has the mode 0; only 100644 and 100755 are allowed"),
    ],
)
def test_only_two_modes_are_let_through(mode, reason):
    found = check_path("a.py", mode)
    assert found is not None
    assert found.message == f"the path 'a.py' {reason}"


def test_an_executable_file_and_a_deletion_have_good_modes():
    assert check_path("run.sh", 0o100755) is None
    assert check_path("a.py", 0, kind="delete") is None
    assert check_path(".git/config", 0, kind="delete").refuses


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        "sub/.gitattributes",
        ".gitmodules",
        ".github/workflows/ci.yml",
        ".GitHub/Workflows/ci.yml",
        ".gitlab-ci.yml",
        ".vscode/tasks.json",
        ".claude/settings.json",
        ".cursor/rules/a.md",
        "AGENTS.md",
        "docs/agents.md",
        "CLAUDE.md",
        ".envrc",
        ".npmrc",
        "web/.npmrc",
        "evil.pth",
        "src/sitecustomize.py",
        "usercustomize.py",
        "examples/TASK-GRAPH.md",
        "examples/runner.toml",
    ],
)
def test_a_control_file_must_be_named_exactly(path):
    assert is_control(path)
    assert not in_scope(path, ("any",))
    assert not in_scope(path, ("**",))
    assert not in_scope(path, (path.rpartition("/")[0] + "/",))
    assert in_scope(path, ("src/", path))


@pytest.mark.parametrize(
    "path",
    [
        "TASK-GRAPH.md",
        "task-graph.md",
        "runner.toml",
        "secrets-allowed.toml",
        "FILE_OWNERSHIP_MAP.md",
        "artifacts/build/journal.jsonl",
        "artifacts/build/WRITE_LOG.jsonl",
        "Artifacts/Build/CHECKPOINT.md",
        "artifacts/build",
        "docs/plan.md",
    ],
)
def test_the_runners_own_files_are_never_a_tasks(path):
    assert is_forbidden(path, plan="docs/plan.md")
    found = scope_finding(path, (path, "any"), "TASK-002", plan="docs/plan.md")
    assert found is not None
    assert found.refuses


@pytest.mark.parametrize(
    ("path", "outputs", "inside"),
    [
        ("a.py", ("a.py",), True),
        ("a.py", ("./a.py",), True),
        ("src/a.py", ("a.py",), False),
        ("src/a.py", ("src/",), True),
        ("src/deep/a.py", ("src/",), True),
        ("srcs/a.py", ("src/",), False),
        ("src/a.py", ("src",), False),
        ("src/a.py", ("src/*.py",), True),
        ("src/deep/a.py", ("src/*.py",), False),
        ("src/deep/a.py", ("src/**",), True),
        ("src/deep/a.py", ("*.py",), True),
        ("src/deep/a.py", ("/*.py",), False),
        ("src/a.py", ("src/**", "!src/a.py"), False),
        ("src/a1.py", ("src/a[0-9].py",), True),
        ("a.py", ("any",), True),
        ("a.py", (), False),
        ("A.py", ("a.py",), False),
    ],
)
def test_the_scope_is_what_output_files_say(path, outputs, inside):
    assert in_scope(path, outputs) is inside


def test_a_refusal_names_the_one_line_that_would_allow_it():
    found = scope_finding("b.py", ("a.py",), "TASK-002")
    assert found is not None
    assert found.message == "'b.py' is not in the Output files of TASK-002"
    assert found.hint == "- Output files: `a.py`, `b.py`"
    control = scope_finding(".npmrc", ("any",), "TASK-002")
    assert control is not None
    assert "must name exactly" in control.message
    assert control.hint == "- Output files: `.npmrc`"
    assert scope_line(("a`b",), ()) == "- Output files: `` a`b ``"
    assert scope_line(("b.py",), ("any",)) == "- Output files: any"


def test_the_line_it_names_does_allow_it():
    for path, outputs in ((".npmrc", ("any",)), ("b.py", ("a.py",)), ("c/d.py", ())):
        listed = tuple(scope_line((path,), outputs).removeprefix("- Output files: ").split(", "))
        assert in_scope(path, tuple(span.strip("`") for span in listed))


@pytest.mark.parametrize(
    ("output", "refused", "wrong"),
    [
        ("src/app.py", "app.py", True),
        ("date-utils.py", "date_utils.py", True),
        ("App.js", "src/app.ts", True),
        ("utlis.py", "utils.py", True),
        ("a.py", "b.py", False),
        ("test_a.py", "test_b.py", False),
        ("src/", "src.py", False),
        ("*.py", "py.txt", False),
    ],
)
def test_an_output_without_a_file_is_wrong_where_a_refused_file_has_its_name(
    output, refused, wrong
):
    assert find_wrong_outputs((output,), (refused,), lambda _: False) == (
        {output} if wrong else set()
    )
    assert not find_wrong_outputs((output,), (refused,), lambda _: True)


SETTINGS = b'[project]\nname = "a"\n[tool.runner]\njobs = 2\n'


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        (SETTINGS, SETTINGS.replace(b'"a"', b'"b"'), False),
        (SETTINGS, SETTINGS.replace(b"2", b"3"), True),
        (SETTINGS, b'[project]\nname = "a"\n', True),
        (SETTINGS, None, True),
        (b"", b"[tool]\nrunner.jobs = 9\n", True),
        (None, b'[tool."runner"]\njobs = 9\n', True),
        (None, b"[tool.ruff]\n", False),
        (SETTINGS, b"not toml [", True),
        (None, b"a" + b".a" * 50_000 + b" = 1\n", True),
    ],
)
def test_pyproject_is_free_but_for_the_runners_own_table(before, after, refused):
    found = scope_finding("pyproject.toml", ("any",), "TASK-002", before=before, after=after)
    assert (found is not None) is refused
