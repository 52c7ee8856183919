"""Fail a test run in which the product makes a message that `make messages` does not list.

The texts of errors, findings and problems of the plan are recorded, and compared with the texts in
the code at the end. With RECORD_MESSAGES=name an unknown text is only named, and with
RECORD_MESSAGES=off nothing is recorded.
"""

import ast
import hashlib
import os
import re
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

import messages
import pytest

from runner.errors import RunnerError

NOUNS = {"runner.model.work": "Finding", "runner.plan.source": "Problem"}
"""Struct classes to record, by module: what is called on their creation is part of the class."""
CODE = str(messages.ROOT / "runner") + "/"
FOREIGN = {
    ("app/gate/gate_report.py:_find_places", "message"): "the tests of the repository",
    ("app/write/hold_out.py:_check", "message"): "parsers, through a finding of compile_check.py",
    ("cli.py:_finish_cut_off_landing", "message"): "the operating system",
    ("commands/parser.py:error", "message"): "argparse",
    **{
        (place, field): "a journal, cache or worker; recorded where it was made"
        for place in (
            "extensions/cluster/recheck.py:redact_findings",
            "model/codec.py:decode",
            "model/codec.py:read",
            "plan/cache_file.py:encode_section",
            "plan/cache_file.py:section_from",
        )
        for field in ("message", "hint")
    },
    ("implementers/agents/transcript.py:_evaluate_failure", "message"): "agent programs",
    ("run/attempt.py:_give_up", "message"): "the implementer, which says why it gives up",
    ("writes/compile_check.py:_finding", "message"): "parsers of Python, JSON, TOML, YAML, …",
    ("writes/project_compile.py:_at", "message"): "compilers",
    ("writes/sast_report.py:_refusal", "message"): "scanners",
}
"""Functions and fields that repeat the words of another program, and of which."""
FIELDS = ("message", "hint")
SHORT = 3
"""Letters of a word that says nothing alone, such as `the`."""
WHAT_TO_DO = """\
A person sees these texts, and `make messages` does not list them. If a text is ours, write it as a
literal, an f-string or a sum of them that reaches the error or finding. If another program made it,
name our function and that program in FOREIGN (tests/message_recorder.py)."""
MADE = {}
"""By place and text of a recorded message, the test in which it was made."""
RECORDED = pytest.StashKey[dict[tuple[str, str], str]]()
LAST = "messages/last"
"""Where pytest's cache has, by file, a digest and the texts of the last reading of all code."""


def find_unknown(recorded, cache=None):
    """Return the recorded (place, text) pairs whose text no literal of the product can make."""
    unknown = sorted(recorded)
    for texts in _list_texts(cache):
        patterns = [one for one in map(_make_pattern, texts) if one is not None]
        unknown = [one for one in unknown if not _is_made(one[1], patterns)]
        if not unknown:
            break
    return unknown


def _list_texts(cache):
    """Yield the texts of all code as last read, with those of changed files; then those of today.

    Reading all code takes six seconds, more than many a test run.
    """
    code = [Path(messages.__file__), *(messages.ROOT / "runner").rglob("*.py")]
    digests = {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in code}
    last = {} if cache is None else cache.get(LAST, {})
    same = {path for path, (digest, _) in last.items() if digests.get(path) == digest}
    if messages.__file__ in same:
        changed = messages.messages(Path(path) for path in sorted(digests.keys() - same))
        yield {text for path in same for text in last[path][1]} | {one.text for one in changed}
    every = messages.messages()
    if cache is not None:
        texts = {path: set() for path in digests}
        for one in every:
            texts.setdefault(str(messages.ROOT / one.path), set()).add(one.text)
        cache.set(LAST, {path: (digests[path], sorted(texts[path])) for path in digests})
    yield {one.text for one in every}


def _is_made(text, patterns):
    return any(piece in text and pattern.search(text) for piece, pattern in patterns)


def _make_pattern(text):
    """Return the longest literal piece of a message and its pattern; None for too few words."""
    pieces = messages.HOLE.split(text)
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


def _record_one(noun):
    """Record the texts of a noun that the caller's caller made."""
    frame = sys._getframe(2)
    if not frame.f_code.co_filename.startswith(CODE):
        return
    file = frame.f_code.co_filename.removeprefix(CODE)
    place = f"runner/{file}:{frame.f_lineno}"
    function = frame.f_code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]
    for field in FIELDS:
        text = _normalize(getattr(noun, field))
        is_foreign = (f"{file}:{function}", field) in FOREIGN
        if " " in text and not is_foreign and (place, text) not in MADE:
            MADE[place, text] = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]


def _record_errors():
    first = RunnerError.__init__

    def __init__(self, *given, **named):  # noqa: N807 - it takes the place of that of the class
        first(self, *given, **named)
        _record_one(self)

    RunnerError.__init__ = __init__


class RecordingLoader(SourceFileLoader):
    """Loads a module whose noun records its texts when it is made."""

    def get_code(self, fullname):
        tree = ast.parse(self.get_data(self.path))
        hook = ast.parse("def __post_init__(self): __record__(self)").body
        for one in tree.body:
            if isinstance(one, ast.ClassDef) and one.name == NOUNS[fullname]:
                one.body += hook
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        module.__record__ = _record_one
        super().exec_module(module)


class RecordingFinder:
    """Finds the modules of `NOUNS`."""

    def find_spec(self, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target) if name in NOUNS else None
        if spec is not None:
            spec.loader = RecordingLoader(name, spec.origin)
        return spec


if os.environ.get("RECORD_MESSAGES") != "off":
    # Before a conftest file of a folder imports the nouns.
    assert not NOUNS.keys() & sys.modules.keys(), "they are imported before they are recorded"
    _record_errors()
    sys.meta_path.insert(0, RecordingFinder())


def pytest_configure(config):
    config.stash[RECORDED] = MADE


def pytest_sessionfinish(session):
    recorded = session.config.stash[RECORDED]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["messages"] = [[*key, test] for key, test in recorded.items()]
    elif recorded:
        unknown = find_unknown(recorded, getattr(session.config, "cache", None))
        session.config.stash[RECORDED] = {key: recorded[key] for key in unknown}
        if unknown and not session.exitstatus and os.environ.get("RECORD_MESSAGES") != "name":
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    for place, text, test in getattr(node, "workeroutput", {}).get("messages", ()):
        node.config.stash[RECORDED].setdefault((place, text), test)


def pytest_terminal_summary(terminalreporter, config):
    unknown = config.stash[RECORDED]
    for (place, text), test in sorted(unknown.items()):
        terminalreporter.line(
            f"{place}: not listed by `make messages`: {text[:200]} ({test})", red=True
        )
    if unknown:
        terminalreporter.line(WHAT_TO_DO, red=True)
