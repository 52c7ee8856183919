"""Has pytest and unittest write down each assertion that failed, where and under whom.

It is copied beside `report_hook`, which loads it, and never imported here. pytest asks a function
of its own for the words of an assertion that failed, unittest a method: both cost nothing while
assertions hold. Which of them never came to the report is known outside (`lost_assertions`).
"""
# ruff: noqa: PTH123 - importing pathlib costs 8 ms a process

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, ModuleType
    from typing import Any

_DEEPEST = 60
_MOST_EVENTS = 200_000
_MOST = 2000
_OWN_FRAMES = ("unittest", "_pytest", "pluggy")


class Recorder:
    """One file of lines of JSON, beside the report of a test program."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.test = ""
        self._count = 0

    def write(self, **said: Any) -> None:
        """Append a line; a process that was forked appends to the same file."""
        self._count += 1
        if self._count > _MOST:
            return
        said["test"] = os.environ.get("PYTEST_CURRENT_TEST") or self.test
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    def note_failure(self, frame: FrameType | None) -> None:
        """An assertion failed in this frame, or in one that its tool stands between."""
        while frame is not None and _is_of_tool(frame):
            frame = frame.f_back
        if frame is None:
            return
        stack: list[list[Any]] = []
        each: FrameType | None = frame
        while each is not None and len(stack) < _DEEPEST:
            if not _is_of_tool(each):
                stack.append([each.f_code.co_filename, each.f_lineno])
            each = each.f_back
        self.write(failed=stack)
        self._see_again(frame, stack[0])

    def _see_again(self, frame: FrameType, place: list[Any]) -> None:
        """Whether the same function is called again in the same way, and holds then.

        Who waits for something asks until it is so. Looked at only after a failure.
        """
        # A thread has one profile function (sys.setprofile), and one of the program's own goes
        # first.
        if sys.getprofile() is not None:
            return
        sys.setprofile(_Again(self, frame, place).hear)


class _Again:
    """A profile function, until the function that failed comes to its end without failing."""

    def __init__(self, recorder: Recorder, frame: FrameType, place: list[Any]) -> None:
        self._recorder, self._place = recorder, place
        self._code: CodeType = frame.f_code
        self._given = _given(frame)
        self._asked: FrameType | None = None
        self._failures = recorder._count  # noqa: SLF001 - of this module
        self._left = _MOST_EVENTS

    def hear(self, frame: FrameType, event: str, _argument: object) -> None:
        """`call` and `return` of functions of this thread."""
        self._left -= 1
        if self._left <= 0:
            sys.setprofile(None)
        elif frame.f_code is not self._code:
            return
        elif event == "call" and _same(_given(frame), self._given):
            self._asked, self._failures = frame, self._recorder._count  # noqa: SLF001 - likewise
        elif event == "return" and frame is self._asked:
            self._asked = None
            if self._failures == self._recorder._count:  # noqa: SLF001 - likewise
                sys.setprofile(None)
                with suppress(Exception):
                    self._recorder.write(held=self._place)


def _given(frame: FrameType) -> list[Any]:
    code = frame.f_code
    return [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]


def _same(one: list[Any], other: list[Any]) -> bool:
    # By identity: an `__eq__` of the project could run anything, and be true of everything.
    return len(one) == len(other) and all(a is b for a, b in zip(one, other))  # noqa: B905 - 3.8


def _is_of_tool(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__") or ""
    return str(name).partition(".")[0] in _OWN_FRAMES or frame.f_code.co_filename == __file__


def of_unittest(case: ModuleType, recorder: Recorder) -> None:
    """Hear of each assertion method that fails."""
    type_ = case.TestCase
    for name in ("_formatMessage", "fail"):
        setattr(type_, name, _telling(getattr(type_, name), recorder))
    context = case._AssertRaisesContext  # noqa: SLF001 - there is no other
    context.__exit__ = _forgiving(context.__exit__, recorder)


def of_pytest(recorder: Recorder) -> None:
    """Hear of each rewritten assertion that fails, and of those that `pytest.raises` waited for."""
    from _pytest.assertion import rewrite

    rewrite._format_explanation = _telling(rewrite._format_explanation, recorder)  # type: ignore[attr-defined]  # noqa: SLF001 - what rewritten asserts call
    # The first from pytest 8.4 on, the second before.
    for module, name in (("_pytest.raises", "RaisesExc"), ("_pytest.python_api", "RaisesContext")):
        with suppress(Exception):
            found = getattr(__import__(module, fromlist=[name]), name)
            found.__exit__ = _forgiving(found.__exit__, recorder)
            break


def _telling(known: Any, recorder: Recorder) -> Any:
    def told(*given: Any, **named: Any) -> Any:
        # What goes wrong in here is ours: no test may end otherwise for it.
        with suppress(Exception):
            recorder.note_failure(sys._getframe(1))  # noqa: SLF001 - documented, and there is no other way
        return known(*given, **named)

    return told


def _forgiving(known: Any, recorder: Recorder) -> Any:
    """An `__exit__` that says which failures were waited for by their very type."""

    def left(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        done = known(self, kind, error, trace)
        with suppress(Exception):
            wanted = getattr(self, "expected_exception", None) or getattr(self, "expected", None)
            wanted = getattr(self, "expected_exceptions", None) or wanted
            every = wanted if isinstance(wanted, tuple) else (wanted,)
            if done and any(issubclass(one, AssertionError) for one in every):
                recorder.write(meant=True)
        return done

    return left
