"""One hundred writes through all five steps, against the same steps as separate processes.

    python benchmarks/pipeline/run.py            the steps, the processes, pre-commit
    python benchmarks/pipeline/run.py --hostile  seconds a megabyte of text made to be slow

Separate processes are started for 10 of the files and scaled to 100. Each step there is the tool
that people use for it: detect-secrets, cp, py_compile, bandit, and an append in Python.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sources import a_source

from runner.model import Action, Change, digest_of
from runner.writes.log import WriteLog, WriteReview
from runner.writes.pipeline import WriteContext, WriteRules, admit_writes, compile_writes
from runner.writes.sast import SastPool, record_findings
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILES, SAMPLE = 100, 10
_APPEND = "import sys, json; open(sys.argv[2], 'a').write(json.dumps(sys.argv[1:]) + '\\n')"
_HOOKS = {
    "secrets": "-m detect_secrets.pre_commit_hook --no-verify",
    "compile": "-m py_compile",
    "sast": "-m bandit -q --exit-zero",
}


def files(lines: int) -> dict[str, bytes]:
    return {f"src/m{n:03d}.py": a_source(lines, n).encode() for n in range(FILES)}


# --- ours -----------------------------------------------------------------------------


def ours(contents: dict[str, bytes], root: Path) -> tuple[float, float]:
    """Seconds until all is decided, and until static analysis behind has ended, too."""
    changes = [
        Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
        for path, content in contents.items()
    ]
    log = WriteLog(root)
    began = time.perf_counter()
    with SastPool() as sast:
        scans = []
        for number, change in enumerate(changes):
            bench = WriteContext(root, lambda _path: None, staging=Staging(root), sast=sast)
            task = f"TASK-{number:03d}"
            rules = WriteRules("run", task, 1, ("any",))
            passed = compile_writes(admit_writes([change], rules, bench), rules, bench)
            assert passed.clean, passed.findings
            log.record(passed.changes, run="run", task=task, attempt=1, review=WriteReview.OFF)
            scans.append((task, passed.sast))
        decided = time.perf_counter() - began
        for task, scan in scans:
            record_findings(root, scan.result(), task=task, attempt=1)
    return decided, time.perf_counter() - began


def in_a_process(lines: int) -> None:
    """What the child of `measured_ours` does: one cold run, its two times printed."""
    with tempfile.TemporaryDirectory() as folder:
        print(*ours(files(lines), Path(folder)))


def measured_ours(lines: int) -> tuple[float, float]:
    """A whole new process: its start and its imports count."""
    began = time.perf_counter()
    words = [sys.executable, __file__, "--child", str(lines)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - began
    decided, ended = map(float, done.stdout.split())
    return whole - (ended - decided), whole


# --- the others -----------------------------------------------------------------------


@contextlib.contextmanager
def on_disk(contents: dict[str, bytes]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, content in contents.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_bytes(content)
        yield root


def separate(contents: dict[str, bytes]) -> float:
    """Seconds for 100 files, from 10 of them."""
    python = sys.executable
    sample = dict(list(contents.items())[:SAMPLE])
    with on_disk(sample) as root:
        (root / "staged").mkdir()
        began = time.perf_counter()
        for path in sample:
            for words in (
                (python, "-m", "detect_secrets", "scan", "--no-verify", path),
                ("cp", path, "staged/"),
                (python, "-m", "py_compile", path),
                (python, "-m", "bandit", "-q", "--exit-zero", path),
                (python, "-c", _APPEND, path, "log.jsonl"),
            ):
                subprocess.run(words, cwd=root, capture_output=True, check=True)
        return (time.perf_counter() - began) * FILES / SAMPLE


def pre_commit(contents: dict[str, bytes]) -> float | None:
    """Seconds of one `pre-commit run --all-files`: batches, both cores; only three of the steps."""
    program = shutil.which("pre-commit")
    if program is None:
        return None
    with on_disk(contents) as root:
        (root / ".pre-commit-config.yaml").write_text(_configuration())
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        began = time.perf_counter()
        done = subprocess.run([program, "run", "-a"], cwd=root, capture_output=True, check=False)
        took = time.perf_counter() - began
        assert done.returncode == 0, done.stdout.decode()
        return took


def _configuration() -> str:
    hooks = [
        {
            "id": name,
            "name": name,
            "entry": f"{sys.executable} {words}",
            "language": "system",
            "types": ["python"],
        }
        for name, words in _HOOKS.items()
    ]
    return json.dumps({"repos": [{"repo": "local", "hooks": hooks}]})  # JSON is YAML


# --- tables ---------------------------------------------------------------------------


def compare(repeats: int) -> None:
    print("| lines | what | seconds for 100 files | ms a file | times ours |")
    print("|---|---|---|---|---|")
    for lines in (60, 500):
        contents = files(lines)
        own: list[tuple[float, float]] = []
        rows: dict[str, list[float]] = {}
        for _ in range(repeats):  # side by side, so that a busy machine slows all of them
            own.append(measured_ours(lines))
            rows.setdefault("five processes a file", []).append(separate(contents))
            batch = pre_commit(contents)
            if batch is not None:
                rows.setdefault("pre-commit, one batch", []).append(batch)
        rows = {
            "ours, all decided": [decided for decided, _ in own],
            "ours, SAST ended too": [ended for _, ended in own],
            **rows,
        }
        base = rows["ours, SAST ended too"]
        for what, times in rows.items():
            spread = f"{statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f})"
            ratios = [one / own_time for one, own_time in zip(times, base, strict=True)]
            ratio = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
            each = 1000 * statistics.median(times) / FILES
            print(f"| {lines} | {what} | {spread} | {each:.1f} | {ratio} |", flush=True)


def hostile() -> None:
    """Texts made to be slow, a megabyte each, through every step that reads them."""
    megabyte = 1 << 20
    key = "sk" + "-"
    texts = {
        "one prefix of a key, over and over": key.encode() * (megabyte // 3),
        "quotes and pluses": b'"a" + ' * (megabyte // 6),
        "one line of base64": b"QUJD" * (megabyte // 4),
        "assignments of passwords": b'password = "x"\n' * (megabyte // 15),
        "open brackets": b"(" * megabyte,
        "backslashes": b"\\" * megabyte,
        "dots and digits": b"1.2.3.4:" * (megabyte // 8),
        "blanks": b" " * megabyte,
        "line ends": b"\n" * megabyte,
        "marks that silence": b"# noqa type: ignore nosec\n" * (megabyte // 26),
        "passwords in addresses": b"https://user:" + b"pass@host/ https://user:" * (megabyte // 24),
        "one key after the other": b"api_"
        + b'item: "a1B2c3D4e5F6g7H8i9J0kL"\napi_' * (megabyte // 33),
        "ids of keys": (b"AK" + b"IA") * 5 * (megabyte // 21),
        "secret words": b"secret " * (megabyte // 7),
        "chance": __import__("random").Random(1).randbytes(megabyte),
    }
    steps = _steps()
    print("| text of 1 MB (seconds of processor) | " + " | ".join(steps) + " |")
    print("|---|" + "---|" * len(steps))
    for name, content in texts.items():
        cells = []
        for step in steps.values():
            began = time.process_time()  # a busy machine is no fault of the text
            step(content)
            cells.append(f"{time.process_time() - began:.2f}")
        print(f"| {name} | {' | '.join(cells)} |")


def _steps() -> dict[str, Callable[[bytes], object]]:
    from runner.report.diff_view import diff_text
    from runner.secrets.scan import scan_content
    from runner.writes.compile_check import compile_file
    from runner.writes.sast import scan_file
    from runner.writes.suppressions import marker_findings

    def change(content: bytes) -> Change:
        return Change("a.py", Action.CREATE, 0o100644, None, digest_of(content), content)

    scan_content(b"x = 1", "a.py")  # imports are not what is measured here
    scan_file(b"x = 1", "a.py")
    return {
        "secret scan": lambda content: scan_content(content, "a.py"),
        "markers": lambda content: marker_findings(change(content), None),
        "compile": lambda content: compile_file(change(content), None),
        "SAST": lambda content: scan_file(content, "a.py"),
        "diff": lambda content: diff_text(b"x\n", change(content), colour=True, width=80),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        in_a_process(given.child)
    elif given.hostile:
        hostile()
    else:
        compare(given.repeats)


if __name__ == "__main__":
    main()
