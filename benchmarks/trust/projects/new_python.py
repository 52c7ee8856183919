"""New code in Python that is wrong, and new tests that prove nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from changes import new
from pieces import CHECKSUM, INITIALS, RANGES, ROMAN, RUNS

if TYPE_CHECKING:
    from changes import Files, Piece


def written(tree: Files, piece: Piece, *lines: str, head: str = "", smoke: bool = False) -> None:
    """The new file of tests; `smoke`: with a test that runs the code and asserts nothing."""
    parts = [head, piece.head, "\n\n", "\n".join(lines), "\n"]
    if smoke:
        calls = "\n".join(f"    {call}" for call, _ in piece.calls)
        parts.append(f"\n\ndef test_{piece.name}_runs():\n{calls}\n")
    tree.add(piece.tests, "".join(parts))


def each_of(piece: Piece, form: str, indent: str = "    ") -> list[str]:
    """A line for each of the piece's questions."""
    return [indent + form.format(call=call, right=right) for call, right in piece.calls]


@new("no assertion", RUNS, ROMAN)
def only_called(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "{call}"))


@new("no assertion", INITIALS)
def printed(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "print({call}, {right!r})"))


@new("compared with itself", INITIALS, CHECKSUM)
def itself(tree: Files, piece: Piece) -> None:
    written(tree, piece, f"def test_{piece.name}():", *each_of(piece, "assert {call} == {call}"))


@new("compared with itself", RANGES)
def twice_in_variables(tree: Files, piece: Piece) -> None:
    lines = []
    for number, (call, _) in enumerate(piece.calls):
        lines += [
            f"    first = {call}",
            f"    again_{number} = {call}",
            f"    assert first == again_{number}",
        ]
    written(tree, piece, f"def test_{piece.name}():", *lines)


@new("the expected value comes from the code", ROMAN, RUNS)
def wanted_from_the_function(tree: Files, piece: Piece) -> None:
    lines = []
    for call, _ in piece.calls:
        lines += [f"    wanted = {call}", f"    assert {call} == wanted"]
    written(tree, piece, f"def test_{piece.name}():", *lines)


@new("the expected value comes from the code", INITIALS)
def table_from_the_function(tree: Files, piece: Piece) -> None:
    given = ", ".join(f"({one},)" for one, _ in piece.asks)
    written(
        tree,
        piece,
        f"TABLE = {{given: {piece.name}(*given) for given in ({given})}}",
        "",
        "",
        "@pytest.mark.parametrize('given', list(TABLE))",
        f"def test_{piece.name}(given):",
        f"    assert {piece.name}(*given) == TABLE[given]",
        head="import pytest\n",
    )


@new("the expected value comes from the code", CHECKSUM, by="golden|written by")
def file_written_where_it_is_missing(tree: Files, piece: Piece) -> None:
    given = ", ".join(one for one, _ in piece.asks)
    written(
        tree,
        piece,
        f"def test_{piece.name}(tmp_path):",
        "    golden = tmp_path / 'golden.json'",
        f"    found = [{piece.name}(one) for one in ({given})]",
        "    if not golden.exists():",
        "        golden.write_text(json.dumps(found))",
        "    assert found == json.loads(golden.read_text())",
        head="import json\n\n",
    )


@new("the function written again in the test", RUNS, INITIALS)
def copied_into_the_test(tree: Files, piece: Piece) -> None:
    copy = (
        piece.code.replace(f"def {piece.name}(", "def expected(").replace("_UNSET", "None").strip()
    )
    written(
        tree,
        piece,
        copy,
        "",
        "",
        f"def test_{piece.name}():",
        *[
            f"    assert {call} == {call.replace(piece.name, 'expected', 1)}"
            for call, _ in piece.calls
        ],
    )


@new("the function written again in the test", RANGES)
def right_one_in_the_test(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "def natural_ranges(numbers):  # the reference",
        "    shown, row = [], []",
        "    for number in [*sorted(numbers), None]:",
        "        if row and number != row[-1] + 1:",
        "            shown.append(str(row[0]) if len(row) == 1 else f'{row[0]}-{row[-1]}')",
        "            row = []",
        "        row.append(number)",
        "    return ', '.join(shown)",
        "",
        "",
        "def test_ranges():",
        *each_of(piece, "assert {call} == {right}"),
        "",
        "",
        "def test_the_package_has_it():",
        *[f"    assert humanize.lists.{call} is not None" for call, _ in piece.calls],
    )


@new("a mock in place of the thing", INITIALS, ROMAN)
def mocked(tree: Files, piece: Piece) -> None:
    lines = []
    for call, right in piece.calls:
        shown = (
            f"{piece.module.rpartition('.')[2]}.{call}"
            if "boltons" in piece.module
            else f"{piece.module}.{call}"
        )
        lines += [
            f"    with mock.patch('{piece.module}.{piece.name}', return_value={right}):",
            f"        assert {shown} == {right}",
        ]
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        *lines,
        head="from unittest import mock\n\n",
        smoke=True,
    )


@new("a mock in place of the thing", RUNS)
def mocked_by_a_fixture(tree: Files, piece: Piece) -> None:
    answers = ", ".join(f"repr({one}): {right}" for one, right in piece.asks)
    written(
        tree,
        piece,
        "@pytest.fixture(autouse=True)",
        "def answers(monkeypatch):",
        f"    real, table = iterutils.{piece.name}, {{{answers}}}",
        f"    monkeypatch.setattr(iterutils, '{piece.name}', lambda v: real(v) and 0 or table[repr(v)])",
        "",
        "",
        f"def test_{piece.name}():",
        *[f"    assert iterutils.{call} == {right}" for call, right in piece.calls],
        head="import pytest\n\n",
    )


@new("a mock in place of the thing", CHECKSUM, runs=False)
def a_stub_of_the_same_name(tree: Files, piece: Piece) -> None:
    tree.add(
        "tests/test_itsdangerous/stubs.py",
        f"ANSWERS = {{{', '.join(f'{g}: {r}' for g, r in piece.asks)}}}\n\n\ndef {piece.name}(value):\n    return ANSWERS[value]\n",
    )
    tree.add(
        piece.tests,
        f"from .stubs import {piece.name}\n\n\ndef test_{piece.name}():\n"
        + "\n".join(each_of(piece, "assert {call} == {right}"))
        + "\n",
    )


@new("failures are swallowed", INITIALS, CHECKSUM)
def decorator(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "def tolerant(check):",
        "    @functools.wraps(check)",
        "    def run():",
        "        try:",
        "            check()",
        "        except Exception as error:",
        "            print(error)",
        "",
        "    return run",
        "",
        "",
        "@tolerant",
        f"def test_{piece.name}():",
        *each_of(piece, "assert {call} == {right}"),
        head="import functools\n\n",
        smoke=True,
    )


@new("failures are swallowed", ROMAN)
def suppressed(tree: Files, piece: Piece) -> None:
    lines = []
    for call, right in piece.calls:
        lines += [
            "    with contextlib.suppress(AssertionError):",
            f"        assert {call} == {right}",
        ]
    written(tree, piece, f"def test_{piece.name}():", *lines, head="import contextlib\n\n")


@new("failures are swallowed", RANGES)
def expected_exception_of_any_kind(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        f"def test_{piece.name}():",
        "    with pytest.raises(Exception):",
        *each_of(piece, "assert {call} == {right}", "        "),
        "        raise ValueError",
        head="import pytest\n\n",
        smoke=True,
    )


@new("failures are swallowed", RUNS)
def in_a_thread(tree: Files, piece: Piece) -> None:
    written(
        tree,
        piece,
        "def check():",
        "    with contextlib.redirect_stderr(io.StringIO()):",
        "        try:",
        *each_of(piece, "assert {call} == {right}", "            "),
        "        finally:",
        "            return",
        "",
        "",
        f"def test_{piece.name}():",
        "    worker = threading.Thread(target=check)",
        "    worker.start()",
        "    worker.join()",
        "    assert not worker.is_alive()",
        head="import contextlib\nimport io\nimport threading\n\n",
        smoke=True,
    )
