"""A red team of our own: an implementer, and the code under proof, look for held-out bytes."""

import os
import textwrap
from pathlib import Path

import pytest
from author_plans import FILE, a_round, plan_half
from author_plans import TESTS as WRITTEN
from held_out_plans import RIGHT, SECRET, TESTS, VISIBLE, a_held_out_task, hold_out
from workplace import a_task

from runner.errors import RunnerError
from runner.process.sandbox import choose_sandbox
from runner.project import Project

NEEDLE = "held-out sentence"
"""A part of the bytes; the plan does not have it."""

SEARCH = textwrap.dedent("""
    import glob, os, subprocess, sys
    needle = b"held-out " + b"sentence"
    found = []

    def look(channel, data):
        if needle in data:
            found.append(channel)

    def read(path):
        try:
            with open(path, "rb") as file:
                return file.read(4 << 20)
        except OSError:
            return b""

    def walk(channel, top, most=20000):
        count = 0
        for at, folders, names in os.walk(top, onerror=lambda _error: None):
            for name in names:
                path = os.path.join(at, name)
                if os.path.isfile(path):
                    look(f"{channel}:{path}", read(path))
                count += 1
                if count > most:
                    return

    def git(*words):
        done = subprocess.run(["git", *words], capture_output=True)
        return done.stdout

    walk("tree", ".")
    objects = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    for name in objects:
        look("objects", git("cat-file", "-p", name.decode()))
    for name in git("ls-files", "-s").splitlines():
        look("index", git("cat-file", "-p", name.split()[1].decode()))
    look("environment", "\\n".join(f"{k}={v}" for k, v in os.environ.items()).encode())
    for path in os.environ.values():
        if os.path.isfile(path):
            look("variables", read(path))
    for process in glob.glob("/proc/[0-9]*"):
        for name in ("environ", "cmdline"):
            look(f"proc:{name}", read(f"{process}/{name}"))
        for name in glob.glob(f"{process}/fd/*"):
            try:
                if os.path.isfile(name):
                    look("proc:fd", read(name))
            except OSError:
                pass
        walk("proc:root", f"{process}/root/tmp", 2000)
        walk("proc:cwd", f"{process}/cwd", 2000)
    for top in ("/dev/shm", "/tmp", "/var/tmp"):
        walk("temporary", top, 5000)
    for name in ("HOME", "TMPDIR", "RUNNER_DRAFT", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        if os.environ.get(name):
            walk(name, os.environ[name])
    for top in WHERE:
        walk("machine", top)
""")
"""Each channel is tried; what is found is written down by its name."""


def needs(name):
    try:
        choose_sandbox(name)
    except RunnerError as missing:
        pytest.skip(missing.message)


def searcher(workplace, report):
    """The search as a program: it may open every folder of this machine that matters."""
    home = str(workplace.home)
    where = [home, f"{home}/.local/state/runner", f"{home}/.cache/runner", str(workplace.root)]
    where += [os.environ.get("XDG_STATE_HOME", ""), os.environ.get("XDG_CACHE_HOME", "")]
    return f"WHERE = {[one for one in where if one]!r}\n{SEARCH}\n{report}\n"


def permit_search(monkeypatch, sandbox):
    """Let land what is written: only what it found is looked at."""
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", sandbox)
    for name in ("REVIEW", "MUTATION", "SAST_BLOCK_AT"):
        monkeypatch.setenv(f"RUNNER_{name}", "never" if name == "SAST_BLOCK_AT" else "off")
    monkeypatch.setenv("RUNNER_PROOF_COVERAGE", "0")


HOSTILE = """
import glob, os, sys


def price(count):
    copy_all()
    return count + 2 + LATER


def copy_all():
    text = "".join(open(name).read() for name in glob.glob("**/*.py", recursive=True))
    sys.stderr.write(text)
    for folder in PLACES:
        try:
            with open(os.path.join(folder, "leak.txt"), "w") as file:
                file.write(text)
        except OSError:
            pass
    os.system("(git add -A; git stash -q; git stash apply -q) >/dev/null 2>&1")
    try:
        from multiprocessing import shared_memory

        block = shared_memory.SharedMemory("held_out_leak", create=True, size=len(text) + 1)
        block.buf[: len(text)] = text.encode()
    except (OSError, ImportError):
        pass
"""
"""The code under proof copies all Python files that it can read to wherever it may write."""


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_neither_an_attempt_nor_the_code_under_proof_brings_bytes_out(
    workplace, monkeypatch, sandbox
):
    needs(sandbox)
    permit_search(monkeypatch, sandbox)
    home = str(workplace.home)
    places = ["/dev/shm", "/tmp", "/var/tmp", home, ".", "node_modules", ".venv", f"{home}/.cache"]
    places += [str(workplace.root), str(workplace.root / ".git")]
    hostile = f"PLACES = {places!r}\nLATER = 0\n{HOSTILE}"
    files = {"shop.py": hostile, VISIBLE: RIGHT[VISIBLE]}
    search = searcher(workplace, 'open("found.txt", "w").write("\\n".join(sorted(set(found))))')
    write = (
        "import pathlib, sys\n"
        f"files = {files!r}\n"
        "later = f'LATER = 0 * {os.environ[\"RUNNER_ATTEMPT\"]}'\n"
        "for path, text in files.items():\n"
        "    pathlib.Path(path).parent.mkdir(exist_ok=True)\n"
        "    pathlib.Path(path).write_text(text.replace('LATER = 0', later))\n"
    )
    workplace.write({"search.py": search, "build.py": f"{search}\n{write}", "conftest.py": ""})
    section = a_held_out_task(
        {TESTS: held_out_text()}, command="python3 build.py; test -e found.txt"
    )
    section = section.replace("- Output files: ", "- Output files: `found.txt`, ")
    other = a_task(
        "TASK-002",
        outputs=["parallel.txt"],
        command="for i in 1 2 3 4 5 6; do python3 search.py; cat found.txt >> parallel.txt; "
        "sleep 0.3; done; rm found.txt",
        tests=["test -e parallel.txt"],
    )
    workplace.plan(section, other)
    hold_out(workplace, {TESTS: held_out_text()})
    ended = workplace.run("-j", "2")
    assert ended.code == 3, ended.said
    assert workplace.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    assert "3 of 3 held-out tests fail" in workplace.status_line("TASK-001")
    assert NEEDLE not in ended.said
    assert workplace.has("parallel.txt"), ended.said
    assert workplace.read("parallel.txt").strip() == "", workplace.read("parallel.txt")
    if workplace.has("found.txt"):
        assert workplace.read("found.txt").strip() == "", workplace.read("found.txt")
    for path in workplace.root.glob("artifacts/build/**/*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    for place in (*places, *map(str, Path("/dev/shm").glob("held_out_leak*"))):
        for path in (Path(place), Path(place, "leak.txt")):
            assert not (path.is_file() and NEEDLE.encode() in path.read_bytes()), path


def held_out_text():
    from held_out_plans import HELD_OUT

    return HELD_OUT


@pytest.mark.parametrize(
    ("executor", "sandbox", "channels"),
    [("threads", "none", {"machine"}), ("dask", "bubblewrap", set())],
)
def test_a_worker_of_a_cluster_finds_nothing_and_without_a_sandbox_the_store_alone_is_open(
    workplace, monkeypatch, executor, sandbox, channels
):
    needs(sandbox)
    permit_search(monkeypatch, sandbox)
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", executor)
    start, _, rest = SEARCH.partition("for process in glob")
    near = f"{start}for top in WHERE:{rest.rpartition('for top in WHERE:')[2]}"
    state = f"{workplace.home}/.local/state/runner", os.environ.get("XDG_STATE_HOME", "")
    report = 'open("found.txt", "w").writelines({one.partition(":")[0] + "\\n" for one in found})'
    write = "".join(
        f"import pathlib; pathlib.Path({path!r}).write_text({text!r})\n"
        for path, text in RIGHT.items()
    )
    search = f"WHERE = {[one for one in state if one]!r}\n{near}\n{report}\n{write}"
    workplace.write({"build.py": search, "conftest.py": "", "tests/.keep": ""})
    section = a_held_out_task({TESTS: held_out_text()}, command="python3 build.py")
    workplace.plan(section.replace("- Output files: ", "- Output files: `found.txt`, "))
    hold_out(workplace, {TESTS: held_out_text()})
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert set(workplace.read("found.txt").split()) == channels
    message = workplace.git("log", "--format=%B", "-n", "2")
    assert ("Grade: proven, independent" in message) == (sandbox != "none")
    assert ("not enclosed" in message) == (sandbox == "none")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
def test_no_attempt_finds_what_an_author_wrote_or_left_behind(workplace, monkeypatch, sandbox):
    needs(sandbox)
    permit_search(monkeypatch, sandbox)
    rounds = [a_round([f"# {NEEDLE}", *WRITTEN])]
    plan_half(workplace, workplace.home / "agent", rounds, sandbox=sandbox)
    # The script of the author itself is shown to commands, so that it can start.
    report = """open("found.txt", "w").writelines(o for o in found if "/agent/" not in o)"""
    workplace.write({"search.py": searcher(workplace, report)})
    workplace.edit_plan("`app.py`", "`app.py`, `found.txt`")
    workplace.edit_plan("ls -R > seen.txt && rm seen.txt", "python3 search.py && test -e found.txt")
    workplace.commit()
    killed = Project.open(workplace.root, os.environ).held_out.workspaces / "1.0-1"
    killed.mkdir(parents=True)
    (killed / "draft.py").write_text(NEEDLE)
    ended = workplace.run("--jobs", "1")
    assert ended.code == 0, ended.said
    assert workplace.read("found.txt") == ""
    assert NEEDLE in workplace.read(FILE)
    for path in workplace.root.glob("artifacts/build/**/*"):
        assert not (path.is_file() and NEEDLE.encode() in path.read_bytes()), path
