"""Run a plan's examples on the project's Python, and write each result.

Usage: `examples_hook.py EXAMPLES ANSWERS`, in the folder of the project. It runs in any Python
that the project uses, so it imports the standard library alone.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import sys
from pathlib import Path
from typing import Any


class _Runner(doctest.DocTestRunner):
    """Keeps a row for each example: its line, `passed`, `failed` or `not checked`, and why."""

    def __init__(self) -> None:
        super().__init__(optionflags=doctest.ELLIPSIS)
        self.rows: list[tuple[int, str, str, str]] = []

    def report_start(self, *given: Any) -> None:
        """Print nothing."""

    def report_success(self, _out: Any, _test: Any, example: doctest.Example, _got: str) -> None:
        """Record a passed example; a statement without expected output is not recorded."""
        if example.want or example.exc_msg is not None:
            self._keep(example, "passed", "")

    def report_failure(self, _out: Any, _test: Any, example: doctest.Example, got: str) -> None:
        """Record an unexpected output as failed, or as not checked if none was expected."""
        self._keep(example, "failed" if example.want else "not checked", got)

    def report_unexpected_exception(
        self, _out: Any, _test: Any, example: doctest.Example, exc_info: Any
    ) -> None:
        """Record an example that raised an unexpected exception as failed."""
        self._keep(example, "failed", f"{exc_info[0].__name__}: {exc_info[1]}")

    def _keep(self, example: doctest.Example, word: str, got: str) -> None:
        self.rows.append((example.lineno + 1, word, example.source.strip(), got.strip()))


def main(source: str, answers: str) -> None:
    """Run the examples of a file as one session and write a JSON list of rows."""
    sys.path[:0] = [".", *(one for one in ("src", "lib") if Path(one).is_dir())]
    text = Path(source).read_text(encoding="utf-8")
    runner = _Runner()
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, "examples", "", 0)
    with contextlib.redirect_stdout(io.StringIO()):
        runner.run(test, out=lambda _text: None)
    Path(answers).write_text(json.dumps(runner.rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
