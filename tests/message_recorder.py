"""Name, after a test run, each message of the product that `make messages` does not list.

Each worker of pytest-xdist records the texts of errors and findings; at the end they are compared
with the texts in the code. A run without workers is not checked: reading all code takes seconds.
"""

import re
import sys

import messages
import pytest

from runner.errors import RunnerError
from runner.model import Finding

HOLE = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}")
WORD = re.compile(r"[A-Za-z]{2,}")
CODE = str(messages.ROOT / "runner") + "/"
NOT_CHECKED = (
    "app/build/command_batch.py",
    "app/build/saved_file.py",
    "app/gate/gate_report.py",
    "app/prove/publish.py",
    "app/write/hold_out.py",
    "commands/parser.py",
    "config/merge_layers.py",
    "extensions/bridge/forge.py",
    "model/codec.py",
    "project.py",
    "text/wording.py",
    "writes/compile_check.py",
    "writes/project_compile.py",
    "writes/sast_report.py",
)
"""Files that repeat what another tool prints, or join a message from single words."""
RECORDED = pytest.StashKey[set[tuple[str, str]]]()


def find_unknown(recorded):
    """Return the recorded (place, text) pairs whose text no literal of the product can make."""
    patterns = []
    for one in messages.messages():
        pieces = HOLE.split(one.text)
        words = len(WORD.findall(" ".join(pieces)))
        if words > 1 or WORD.match(pieces[0].lstrip("-")):
            start = "" if words > 1 else r"\A"
            pattern = re.compile(start + ".*?".join(map(re.escape, pieces)), re.DOTALL)
            patterns.append((max(pieces, key=len).strip(), pattern))
    return [
        (place, text)
        for place, text in sorted(recorded)
        if not any(piece in text and pattern.search(text) for piece, pattern in patterns)
    ]


def _record(made, recorded):
    first = made.__init__

    def __init__(self, *given, **named):  # noqa: N807 - it takes the place of that of a class
        first(self, *given, **named)
        frame = sys._getframe(1)
        file = frame.f_code.co_filename.removeprefix(CODE)
        if file != frame.f_code.co_filename and file not in NOT_CHECKED:
            place = f"runner/{file}:{frame.f_lineno}"
            texts = (" ".join(str(text).split()) for text in (self.message, self.hint))
            recorded.update((place, text) for text in texts if " " in text)

    made.__init__ = __init__


def pytest_configure(config):
    recorded = config.stash[RECORDED] = set()
    if hasattr(config, "workeroutput"):
        _record(RunnerError, recorded)
        _record(Finding, recorded)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["messages"] = sorted(session.config.stash[RECORDED])
        return
    recorded = session.config.stash[RECORDED]
    session.config.stash[RECORDED] = set(recorded and find_unknown(recorded))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    found = getattr(node, "workeroutput", {}).get("messages", ())
    node.config.stash[RECORDED] |= {tuple(one) for one in found}


def pytest_terminal_summary(terminalreporter, config):
    for place, text in sorted(config.stash[RECORDED]):
        terminalreporter.line(f"{place}: not listed by `make messages`: {text}", red=True)
