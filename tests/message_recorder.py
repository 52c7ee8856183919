"""Find messages that the product makes in a test run and that `make messages` does not list.

The texts of errors, findings and problems of the plan are recorded, and compared with the texts in
the code at the end. A run without workers of pytest-xdist is compared only with RECORD_MESSAGES:
reading all code takes ten seconds. With RECORD_MESSAGES=fail an unknown text fails the run.
"""

import ast
import os
import re
import sys
from importlib.machinery import PathFinder, SourceFileLoader

import messages
import pytest

from runner.errors import RunnerError

NOUNS = {"runner.model.work": "Finding", "runner.plan.diagnostic": "Problem"}
"""Struct classes to record, by module: what is called on their creation is part of the class."""
CODE = str(messages.ROOT / "runner") + "/"
FOREIGN = {
    "app/gate/gate_report.py:_find_places": "the tests of the repository",
    "cli.py:_finish_cut_off_landing": "the operating system",
    "commands/parser.py:error": "argparse",
    "run/attempt.py:_give_up": "the implementer, which says why it cannot do the task",
    "writes/compile_check.py:_finding": "parsers of Python, JSON, TOML, YAML and JavaScript",
    "writes/project_compile.py:_at": "compilers",
    "writes/sast_report.py:_refusal": "scanners",
}
"""Functions that repeat the words of another program, and of which."""
SHORT = 3
"""Letters of a word that says nothing alone, such as `the`."""
RECORDED = pytest.StashKey[dict[tuple[str, str], str]]()


def find_unknown(recorded):
    """Return the recorded (place, text) pairs whose text no literal of the product can make."""
    patterns = [one for one in map(_make_pattern, messages.messages()) if one is not None]
    return [
        (place, text)
        for place, text in sorted(recorded)
        if not any(piece in text and pattern.search(text) for piece, pattern in patterns)
    ]


def _make_pattern(message):
    """Return the longest literal piece of a message and its pattern; None for too few words."""
    pieces = messages.HOLE.split(message.text)
    words = [messages.WORD.findall(piece) for piece in pieces]
    is_alone = sum(map(len, words)) == 1
    if is_alone and not messages.WORD.match(pieces[0].lstrip("-")):
        return None
    is_scattered = max(map(len, words)) == 1
    if is_scattered and all(len(word) <= SHORT for found in words for word in found):
        return None  # such as `the {name} of {other}`
    start = r"\A" if is_alone else ""
    pattern = re.compile(start + ".*?".join(map(re.escape, pieces)), re.DOTALL)
    return max(pieces, key=len).strip(), pattern


def _normalize(text):
    """Return a text on one line, in characters that a worker can send."""
    return " ".join(str(text).split()).encode("utf-8", "backslashreplace").decode()


def _record_one(noun, recorded):
    """Record the texts of a noun that the caller's caller made."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename.removeprefix(CODE)
    is_ours = file != frame.f_code.co_filename
    if is_ours and f"{file}:{frame.f_code.co_name}" not in FOREIGN:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        for text in map(_normalize, (noun.message, noun.hint)):
            if " " in text:
                recorded.setdefault((f"runner/{file}:{frame.f_lineno}", text), test)


def _record_errors(recorded):
    first = RunnerError.__init__

    def __init__(self, *given, **named):  # noqa: N807 - it takes the place of that of the class
        first(self, *given, **named)
        _record_one(self, recorded)

    RunnerError.__init__ = __init__


class RecordingLoader(SourceFileLoader):
    """Loads a module whose noun records its texts when it is made."""

    def __init__(self, name, path, recorded):
        super().__init__(name, path)
        self.recorded = recorded

    def get_code(self, fullname):
        tree = ast.parse(self.get_data(self.path))
        hook = ast.parse("def __post_init__(self): __record__(self, __recorded__)").body
        for one in tree.body:
            if isinstance(one, ast.ClassDef) and one.name == NOUNS[fullname]:
                one.body += hook
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.__record__, module.__recorded__ = _record_one, self.recorded
        super().exec_module(module)


class RecordingFinder:
    """Finds the modules of `NOUNS`."""

    def __init__(self, recorded):
        assert not NOUNS.keys() & sys.modules.keys(), "they are imported before they are recorded"
        self.recorded = recorded

    def find_spec(self, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name in NOUNS else None
        if spec is not None:
            spec.loader = RecordingLoader(name, spec.origin, self.recorded)
        return spec


def pytest_configure(config):
    recorded = config.stash[RECORDED] = {}
    if hasattr(config, "workeroutput") or os.environ.get("RECORD_MESSAGES"):
        _record_errors(recorded)
        sys.meta_path.insert(0, RecordingFinder(recorded))


def pytest_sessionfinish(session):
    recorded = session.config.stash[RECORDED]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["messages"] = [[*key, test] for key, test in recorded.items()]
    elif recorded:
        unknown = find_unknown(recorded)
        session.config.stash[RECORDED] = {key: recorded[key] for key in unknown}
        if unknown and not session.exitstatus and os.environ.get("RECORD_MESSAGES") == "fail":
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for place, text, test in getattr(node, "workeroutput", {}).get("messages", ()):
        node.config.stash[RECORDED].setdefault((place, text), test)


def pytest_terminal_summary(terminalreporter, config):
    for (place, text), test in sorted(config.stash[RECORDED].items()):
        terminalreporter.line(f"{place}: not listed by `make messages`: {text} ({test})", red=True)
