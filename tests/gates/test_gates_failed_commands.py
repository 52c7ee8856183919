"""A hint of a failed command names the file that is missing, or the limit that it met."""

import subprocess

import pytest
from gates_bench import a_bench, a_task
from msgspec.structs import replace
from settings_of import settings_of

from runner.gates import contract_tests
from runner.gates.missing_file_causes import explain_absent
from runner.gates.sandbox_denials import CommandBounds, find_met_bound
from runner.model import Level, Network, Resource, TestContract
from runner.process.base import Place
from runner.process.sandbox import choose_sandbox

IGNORED = "*.d.ts\n_version.py\n*.gen.json\n/gen/\n.env\nbuild/\n.pytest_cache/\nnode_modules/\n"
TRACKED = {
    ".gitignore": IGNORED,
    "pkg/__init__.py": "from pkg._version import v\n",
    "src/lib/__init__.py": "from . import _version\n",
    "web/index.js": "require('./x.gen.json')\n",
    "suite.js": "require('./web')\n",
    "cmd/main.go": "//go:embed data.gen.json\n",
    "rust/src/main.rs": "mod new;\n",
}
UNSEEN = {
    "pkg/_version.py": "v = 1\n",
    "src/lib/_version.py": "v = 1\n",
    "web/x.gen.json": "{}",
    "suite.d.ts": "",
    "cmd/data.gen.json": "{}",
    "gen/api/api.go": "package api\n",
    ".env": "A=1\n",
    "build/out.js": "",
    ".pytest_cache/x": "",
    "rust/src/new.rs": "",
    "my file.txt": "",
}


def write(folder, files):
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def git(folder, *words):
    name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path):
    real, tree = tmp_path / "real", tmp_path / "slot/tree"
    real.mkdir()
    git(real, "init", "-q", "-b", "main")
    write(real, TRACKED)
    git(real, "add", "-A")
    git(real, "commit", "-qm", "begin")
    write(real, UNSEEN)
    write(tree, TRACKED)
    return Place(tree=tree, shown=real, box=tmp_path / "slot/box")


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("ModuleNotFoundError: No module named 'pkg._version'", "/pkg/_version.py"),
        ("No module named pkg._version", "/pkg/_version.py"),
        ("ModuleNotFoundError: No module named 'lib._version'", "/src/lib/_version.py"),
        (
            "ImportError: cannot import name '_version' from 'lib' ({shown}/src/lib/__init__.py)",
            "/src/lib/_version.py",
        ),
        (
            "Error: Cannot find module './x.gen.json'\nRequire stack:\n- {shown}/web/index.js",
            "/web/x.gen.json",
        ),
        ("Error: ENOENT: no such file or directory, open '{tree}/.env'", "/.env"),
        (
            "cmd/main.go:4:12: pattern data.gen.json: no matching files found",
            "/cmd/data.gen.json",
        ),
        (
            "main.go:3:2: package example.com/shop/gen/api is not in std",
            "/gen/",
        ),
        ("cat: .env: No such file or directory", "/.env"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'build/out.js'", "/build/"),
    ],
)
def test_an_ignored_file_is_named_with_the_line_that_brings_it(place, output, line):
    shown = output.format(shown=place.shown, tree=place.tree)
    told = explain_absent(place, shown, "make test")
    assert "is ignored by git" in told
    assert f"add {line} to .worktreeinclude" in told


@pytest.mark.parametrize(
    ("output", "typed"),
    [
        ("error: couldn't read rust/src/new.rs: No such file", "git add rust/src/new.rs"),
        (
            'create file "src/new.rs" for module new; see rust/src/main.rs',
            "git add rust/src/new.rs",
        ),
        ("cannot open 'my file.txt'", "git add 'my file.txt'"),
    ],
)
def test_an_untracked_file_is_named_with_what_to_type(place, output, typed):
    assert typed in explain_absent(place, output, "make test")


def test_a_silent_command_fails_on_what_it_names(place):
    assert "/.env to .worktreeinclude" in explain_absent(place, "", "test -f .env")


def test_a_file_inside_a_repository_of_its_own_is_said_to_be_there(place):
    write(place.shown, {"vendor/lib/x.py": "", ".gitmodules": ""})
    git(place.shown / "vendor/lib", "init", "-q")
    told = explain_absent(place, "No such file: vendor/lib/x.py", "make")
    assert "vendor/lib/x.py is inside the submodule vendor/lib" in told


@pytest.mark.parametrize(
    "output",
    [
        "",
        "AssertionError: assert 1 == 2",
        "ModuleNotFoundError: No module named 'requests'",
        "cachedir: .pytest_cache",
        "FAILED pkg/__init__.py: No such file or directory: '/etc/nothing'",
        "Cannot find module 'node_modules/x'",
    ],
)
def test_what_both_trees_have_and_what_neither_has_is_no_cause(place, output):
    write(place.shown, {"node_modules/x/index.js": ""})
    assert explain_absent(place, output, "make test") == ""


def test_a_name_that_a_file_of_both_trees_has_is_no_cause(place):
    assert explain_absent(place, "  type: 'suite'\n  1 !== 2\n", "node --test") == ""


def test_where_there_is_no_work_tree_nothing_is_said(place, tmp_path):
    elsewhere = Place(tree=place.tree, shown=tmp_path / "none", box=place.box)
    assert explain_absent(elsewhere, "cat: .env: No such file", "cat .env") == ""


HELD = CommandBounds(
    enclosed=True,
    home="/home/ada",
    own=("/home/ada/shop",),
    memory=300 * 1024**2,
    processes=4096,
    file_size=8 * 1024**3,
)
NET = "the sandbox runs the command with network no; if it needs more, add Network: yes to the task"
MEMORY = (
    "the memory limit is 300MB; to raise it, set limits.memory in ~/.config/runner/runner.toml, "
    "or Uses: memory 4GB in the task"
)
WRITE = "the sandbox allows writes only in the project's folder"
SSH = 'sandbox.read = ["/home/ada/.ssh/id"] in ~/.config/runner/runner.toml'


@pytest.mark.parametrize(
    ("tail", "words"),
    [
        ("<urlopen error [Errno -3] Temporary failure in name resolution>", NET),
        ("curl: (6) Could not resolve host: example.org", NET),
        ("Error: getaddrinfo EAI_AGAIN example.org", NET),
        ("dial tcp: lookup example.org: no such host", NET),
        ("<urlopen error [Errno 101] Network is unreachable>", NET),
        ("connect to 10.0.0.5 port 80 failed: Connection refused", NET),
        ("Error: connect ECONNREFUSED 10.0.0.5:443", NET),
        ("<urlopen error [Errno 13] Permission denied>", NET),
        ("E   PermissionError: [Errno 13] Permission denied", NET),
        ("OSError: [Errno 30] Read-only file system: '/etc/xx'", WRITE),
        ("Error: EROFS: read-only file system, open '/etc/xx'", WRITE),
        ("OSError: [Errno 28] No space left on device", "HOME and /tmp are small"),
        ("E   MemoryError", MEMORY),
        ("sh: 1: Cannot fork\nfork: Cannot allocate memory", MEMORY),
        (
            "BlockingIOError: [Errno 11] Resource temporarily unavailable",
            "the limit is 4096 processes",
        ),
        (
            "RuntimeError: can't start new thread",
            "to raise it, set limits.processes in ~/.config/runner/runner.toml",
        ),
        (
            "OSError: [Errno 27] File too large",
            "the file size limit is 8GB; to raise it, set limits.file_size",
        ),
        ("No such file or directory: '/home/ada/.ssh/id'", SSH),
        ("cat: /home/ada/.ssh/id: No such file or directory", SSH),
        ("PermissionError: [Errno 13] Permission denied: '/home/ada/.ssh/id'", SSH),
        ("cat: ~/.ssh/id: Permission denied", SSH),
        ("PermissionError: [Errno 13] Permission denied: '/tmp/x'", "write to $TMPDIR"),
        ("touch: cannot touch '/etc/xx': Permission denied", "hides /etc/xx or makes it read-only"),
    ],
)
def test_what_held_it_is_named(tail, words):
    assert words in find_met_bound(f"first\n{tail}\nlast", 1, HELD)


@pytest.mark.parametrize(
    "tail",
    [
        "assert 1 == 2",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "connect ECONNREFUSED 127.0.0.1:5432",
        "http://localhost:80/: Connection refused",
        "No such file or directory: '/home/ada/shop/missing.txt'",
        "No such file or directory: 'missing.txt'",
        "No such file or directory: '/opt/missing'",
        "./run.sh: Permission denied",
        "Permission denied: '/home/ada/shop/closed'",
    ],
)
def test_what_would_fail_anywhere_is_not_laid_to_the_sandbox(tail):
    assert find_met_bound(tail, 1, HELD) == ""


HIDING = replace(HELD, hides={"/tmp/data/in.txt", "/run/x.sock", "/home/ada/tool"}.__contains__)
OWN_TMP = (
    "the sandbox has its own /tmp, which lacks /tmp/data/in.txt; "
    'to read it, set sandbox.read = ["/tmp/data/in.txt"] in ~/.config/runner/runner.toml'
)


@pytest.mark.parametrize(
    ("command", "tail", "words"),
    [
        ("make", "cat: /tmp/data/in.txt: No such file or directory", OWN_TMP),
        ("make", "open /tmp/data/in.txt: no such file or directory", OWN_TMP),
        ("make", "/bin/sh: 1: /tmp/data/in.txt: not found", OWN_TMP),
        ("make", "Error: Cannot find module '/tmp/data/in.txt'", OWN_TMP),
        ("make", "read: file /tmp/data/in.txt does not exist", OWN_TMP),
        ("make", "dial /run/x.sock: ENOENT", "the sandbox hides /run/x.sock"),
        ("test -f /tmp/data/in.txt", "", OWN_TMP),
        ("node /tmp/data/in.txt", "code: 'MODULE_NOT_FOUND'", OWN_TMP),
        ("test -x ~/tool", "", "the sandbox hides /home/ada/tool"),
    ],
)
def test_a_path_that_only_the_machine_has_is_named(command, tail, words):
    assert words in find_met_bound(tail, 1, replace(HIDING, command=command))


@pytest.mark.parametrize(
    "tail",
    [
        "/bin/sh: 1: pnpm: not found",
        "bash: line 1: pnpm: command not found",
        "make: pnpm: No such file or directory",
        "env: 'pnpm': No such file or directory",
    ],
)
def test_a_hidden_program_is_named_by_its_path(tmp_path, tail):
    program = tmp_path / "pnpm"
    program.write_text("#!/bin/sh\n")
    search = {"PATH": str(tmp_path)}
    assert find_met_bound(tail, 127, replace(HIDING, search=search)) == ""
    program.chmod(0o755)
    assert find_met_bound(tail, 127, replace(HIDING, search=search)) == ""
    hiding = replace(HIDING, search=search, hides={str(program)}.__contains__)
    found = find_met_bound(tail, 127, hiding)
    assert f"the sandbox hides {program}; " in found
    assert f'sandbox.read = ["{tmp_path}"]' in found


@pytest.mark.parametrize(
    ("command", "tail"),
    [
        ("make", "cat: /tmp/other.txt: No such file or directory"),
        ("make", "assert '/tmp/data/in.txt' == '/tmp/data/out.txt'"),
        ("pytest --junitxml=/tmp/data/in.txt", "assert 1 == 2"),
        ("test -f /home/ada/shop/in.txt", ""),
        ("test -f ~/.missing", ""),
    ],
)
def test_a_path_that_nobody_has_or_that_no_failure_is_about_is_not(command, tail):
    assert find_met_bound(tail, 1, replace(HIDING, command=command)) == ""


def test_ends_by_signal_say_which_limit():
    assert MEMORY in find_met_bound("", 137, HELD)
    assert "file_size" in find_met_bound("", 153, HELD)
    assert find_met_bound("", 137, replace(HELD, memory=None)) == ""


def test_without_a_sandbox_the_limits_alone_can_be_met():
    free = replace(HELD, enclosed=False)
    assert find_met_bound("Could not resolve host: example.org", 1, free) == ""
    assert find_met_bound("cat: /home/ada/.ssh/id: No such file or directory", 1, free) == ""
    assert MEMORY in find_met_bound("MemoryError", 1, free)


def test_a_network_that_the_settings_hold_back_is_said():
    asked = replace(HELD, asked=Network.YES, network=Network.LOOPBACK)
    assert find_met_bound("ENETUNREACH", 1, asked) == (
        "the check asks for network yes, but your own settings allow loopback; "
        'to allow it, set network = "yes" there'
    )
    assert find_met_bound("ENETUNREACH", 1, replace(asked, network=Network.YES)) == ""
    gate = replace(HELD, gate="lint")
    said = find_met_bound("ENETUNREACH", 1, gate)
    assert said.endswith(
        'add lint (network): … to the task, or set network = "yes" in [gates.lint]'
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("touch /etc/xx", "in ~/.config/runner/runner.toml"),
        ("cat ~/.ssh/id", "sandbox.read"),
        ("test -f {tmp}/beside.txt", 'beside.txt"] in ~/.config/runner/runner.toml'),
        ("cat {tmp}/beside.txt", "has its own /tmp"),
        ("echo 'Network is unreachable'; exit 1", "your own settings allow loopback"),
        ("python -c 'bytearray(3 << 30)'", "Uses: memory 4GB in the task"),
    ],
)
def test_a_test_contract_that_was_held_says_by_what(tmp_path, line, words):
    sandbox = choose_sandbox("auto")
    if not sandbox.encloses:
        pytest.skip(sandbox.reason)
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    (tmp_path / "home" / ".ssh" / "id").write_text("mine")
    (tmp_path / "beside.txt").write_text("mine")
    if "{tmp}" in line and not tmp_path.is_relative_to("/tmp"):
        pytest.skip("the tests keep their files elsewhere")
    line = line.replace("{tmp}", str(tmp_path))
    task = replace(
        a_task(),
        test_contracts=(TestContract("TC-001", Level.UNIT, line),),
        uses=(Resource("memory", "300MB"),),
        network=Network.YES,
    )
    settings = settings_of(network=Network.LOOPBACK)
    context = a_bench(tmp_path, HOME=str(tmp_path / "home"))
    context = replace(context, task=task, settings=settings, sandbox=sandbox)
    (check,) = contract_tests.checks(task, settings)
    (finding,) = contract_tests.prove(check, context).findings
    assert words in finding.hint
