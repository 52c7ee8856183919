"""Where there is neither /proc nor any of Linux's own calls, a build goes as it does elsewhere.

An emulation, and no macOS: what its kernel and its file system do otherwise is not met here.
"""

import json
import subprocess
import sys

import emulation
import pytest

pytestmark = pytest.mark.skipif(
    not emulation.way(), reason="unshare(1) may not hide /proc here, so nothing can be emulated"
)

PATIENCE = 90.0
PLAN = """# Shop

## TASK-001: Greeting
- Output files: `greeting.py`
- Test contracts: `python3 -c "import greeting; assert greeting.hello() == 'hello'"`

```python file=greeting.py
def hello():
    return "hello"
```

## TASK-002: Farewell
- Depends on: TASK-001
- Output files: `farewell.py`
- Test contracts: `python3 -c "import farewell; assert farewell.bye() == 'bye'"`

```python file=farewell.py
def bye():
    return "bye"
```
"""


DRIVER = r"""
import json, os, signal, subprocess, sys, time
marker, patience = sys.argv[1], 90
runner = [sys.executable, "-P", "-m", "runner"]
kept = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
words = [*runner, "run", "--sandbox", "none", "--trust"]
run = subprocess.Popen(words, start_new_session=True, **kept)
until = time.monotonic() + patience
while run.poll() is None and not (os.path.exists(marker) and open(marker).read().strip()):
    assert time.monotonic() < until
    time.sleep(0.05)
assert run.poll() is None, run.communicate()[0]
status = subprocess.run([*runner, "status"], **kept).stdout
time.sleep(1)  # until what was started has been seen below the command
os.killpg(run.pid, signal.SIGINT)
said = run.communicate(timeout=patience)[0]
left = []
there = os.environ["EMULATION_PROCESSES"]
for entry in os.listdir(there):
    if entry.isdigit():
        try:
            words = open(f"{there}/{entry}/cmdline").read().split("\0")
        except OSError:
            continue
        if words[:2] == ["sleep", "601.25"]:
            left.append(words)
print(json.dumps({"said": said, "code": run.returncode, "status": status, "left": left}))
"""
"""Runs among the processes that it looks at; /proc as it was is at EMULATION_PROCESSES."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "home").mkdir()
    root = tmp_path / "shop"
    root.mkdir()
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.org"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "README.md").write_text("# Shop\n")
    commit(root)
    return root


def commit(root):
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "mine"], cwd=root, check=True)


def variables(top):
    environ = emulation.environment(top / "processes", HOME=str(top / "home"))
    return {name: value for name, value in environ.items() if not name.startswith("XDG_")}


def runner(root, *words, code=0):
    done = subprocess.run(
        emulation.python("-P", "-m", "runner", *words),
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=variables(root.parent),
        timeout=PATIENCE * 4,
        check=False,
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said, said
    assert done.returncode == code, said
    return done.stdout if words[-1] == "--json" else said


def test_the_emulation_hides_what_only_linux_has(tmp_path):
    code = (
        "import os, sys, ctypes, time; print(sys.platform, os.path.exists('/proc/self'), "
        "hasattr(os, 'waitid'), hasattr(time, 'CLOCK_BOOTTIME'), "
        "hasattr(ctypes.CDLL(None), 'prctl'))"
    )
    done = subprocess.run(
        emulation.python("-c", code),
        env=emulation.environment(tmp_path / "processes"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["darwin", "False", "False", "False", "False"]


def test_version_init_validate_and_a_build(folder):
    assert "runner" in runner(folder, "version")
    runner(folder, "init")
    (folder / "TASK-GRAPH.md").write_text(PLAN)
    commit(folder)
    assert "2 tasks" in runner(folder, "validate")
    said = runner(folder, "run", "--sandbox", "none", "--trust")
    assert "TASK-002" in said
    tasks = json.loads(runner(folder, "list", "--json"))["tasks"]
    assert [task["status"] for task in tasks] == ["DONE", "DONE"]
    assert "all tasks are DONE" in runner(folder, "status")
    assert runner(folder, "run", "--sandbox", "none", "--trust")


def test_a_stop_ends_what_the_command_started_and_the_next_run_goes_on(folder):
    marker = folder.parent / "began"
    sleeper = f"sh -c 'setsid sleep 601.25 & echo $! > {marker}; wait; sleep 601.25'"
    slow = PLAN.replace("python3 -c \"import farewell; assert farewell.bye() == 'bye'\"", sleeper)
    (folder / "TASK-GRAPH.md").write_text(slow)
    commit(folder)
    driver = subprocess.run(
        emulation.argv(sys.executable, "-E", "-c", DRIVER, str(marker)),
        cwd=folder,
        env=variables(folder.parent),
        capture_output=True,
        text=True,
        timeout=PATIENCE * 4,
        check=False,
    )
    assert driver.returncode == 0, driver.stdout + driver.stderr
    told = json.loads(driver.stdout)
    assert "Traceback" not in told["said"], told
    assert told["code"] == 130, told
    assert "a run is active" in told["status"], told
    assert not told["left"], told
    (folder / "TASK-GRAPH.md").write_text(PLAN)
    commit(folder)
    runner(folder, "run", "--sandbox", "none", "--trust")
    tasks = json.loads(runner(folder, "list", "--json"))["tasks"]
    assert [task["status"] for task in tasks] == ["DONE", "DONE"]
