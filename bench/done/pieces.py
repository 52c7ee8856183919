"""Small functions that cases are made of: each right, wrong, and with examples.

The wrong text differs from the right one in at least one of `shown` (what tests of a case look
at) and one of `kept` (what only the oracle looks at).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from typing import Any

Example = tuple[tuple[object, ...], object]


@dataclass(frozen=True)
class Piece:
    """A function: its sentence, a right and a wrong text, and examples of what it gives."""

    name: str
    sentence: str
    right: str
    wrong: str
    shown: tuple[Example, ...]
    kept: tuple[Example, ...]

    def text(self, *, right: bool = True) -> str:
        """The module that holds it."""
        return f'"""{self.sentence}"""\n\n\n{self.right if right else self.wrong}'

    def gives(self, arguments: tuple[object, ...], *, right: bool = True) -> object:
        """What the right or the wrong text answers."""
        names: dict[str, Any] = {}
        exec(self.text(right=right), names)
        return names[self.name](*arguments)

    def noticed(self) -> list[int]:
        """Which of `shown` the wrong text gets wrong."""
        return [
            at
            for at, (arguments, wanted) in enumerate(self.shown)
            if self.gives(arguments, right=False) != wanted
        ]


def _piece(
    name: str, sentence: str, body: str, fault: tuple[str, str], *examples: Example
) -> Piece:
    right = body.strip("\n") + "\n"
    if right.count(fault[0]) != 1:
        raise ValueError(f"{name} holds {fault[0]!r} {right.count(fault[0])} times")
    return Piece(
        name, sentence, right, right.replace(*fault), tuple(examples[::2]), tuple(examples[1::2])
    )


PIECES = (
    _piece(
        "clamp",
        "A number held between two bounds.",
        """
def clamp(value, low, high):
    if value < low:
        return low
    if value > high:
        return high
    return value
""",
        ("return high", "return value"),
        *[((5, 1, 9), 5), ((6, 2, 9), 6), ((12, 1, 9), 9), ((40, 0, 3), 3), ((-3, 1, 9), 1)],
        ((-7, 0, 2), 0),
    ),
    _piece(
        "initials",
        "The first letters of the words of a name.",
        """
def initials(name):
    words = [word for word in name.split(" ") if word]
    return "".join(word[0].upper() for word in words)
""",
        (" if word]", " if word][:2]"),
        *[(("ada lovelace",), "AL"), (("kurt  weill",), "KW")],
        *[(("a b c",), "ABC"), (("john von neumann",), "JVN"), (("x",), "X"), (("",), "")],
    ),
    _piece(
        "median",
        "The middle of some numbers; of an even count, the mean of two.",
        """
def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
""",
        ("(ordered[middle - 1] + ordered[middle]) / 2", "ordered[middle]"),
        *[(([3, 1, 2],), 2), (([9, 5, 7],), 7), (([1, 2, 3, 4],), 2.5), (([8, 1],), 4.5)],
        *[(([7],), 7), (([6],), 6)],
    ),
    _piece(
        "chunks",
        "A list cut into lists of one size; the last may be shorter.",
        """
def chunks(items, size):
    return [items[at : at + size] for at in range(0, len(items), size)]
""",
        ("range(0, len(items), size)", "range(0, len(items) - size + 1, size)"),
        *[(([1, 2], 1), [[1], [2]]), (([4, 5], 2), [[4, 5]])],
        *[(([1, 2, 3], 2), [[1, 2], [3]]), (([1, 2, 3, 4, 5], 3), [[1, 2, 3], [4, 5]])],
        *[(([], 3), []), (([], 5), [])],
    ),
    _piece(
        "roman",
        "A number from 1 to 3999 in Roman numerals.",
        """
def roman(number):
    steps = (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")
    steps += (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")
    text = ""
    for value, letters in steps:
        while number >= value:
            text += letters
            number -= value
    return text
""",
        (' (9, "IX"),', ""),
        *[((3,), "III"), ((8,), "VIII"), ((9,), "IX"), ((19,), "XIX"), ((40,), "XL")],
        ((90,), "XC"),
    ),
    _piece(
        "checksum",
        "Whether a row of digits passes Luhn's formula.",
        """
def checksum(digits):
    total = 0
    for at, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if at % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
""",
        ("value - 9 if value > 9 else value", "value"),
        *[(("18",), True), (("26",), True), (("59",), True), (("91",), True)],
        *[(("11",), False), (("12",), False)],
    ),
    _piece(
        "slug",
        "A title as it may stand in an address.",
        """
def slug(title):
    kept = [letter if letter.isalnum() else " " for letter in title.lower()]
    return "-".join("".join(kept).split())
""",
        ('"-".join("".join(kept).split())', '"".join(kept).replace(" ", "-")'),
        *[(("one two",), "one-two"), (("Three",), "three"), (("a, b",), "a-b")],
        *[(("What? No!",), "what-no"), (("x",), "x"), (("Y2",), "y2")],
    ),
    _piece(
        "flatten",
        "Lists in lists as one list.",
        """
def flatten(items):
    flat = []
    for item in items:
        flat += flatten(item) if isinstance(item, list) else [item]
    return flat
""",
        ("flatten(item) if", "item if"),
        *[(([1, [2]],), [1, 2]), (([[3], 4],), [3, 4]), (([1, [2, [3]]],), [1, 2, 3])],
        *[(([[[7]]],), [7]), (([],), []), (([5],), [5])],
    ),
    _piece(
        "runs",
        "A text as letters and how often each stands in a row.",
        """
def runs(text):
    found = []
    for letter in text:
        if found and found[-1][0] == letter:
            found[-1] = (letter, found[-1][1] + 1)
        else:
            found.append((letter, 1))
    return found
""",
        ("found[-1][1] + 1", "2"),
        *[(("ab",), [("a", 1), ("b", 1)]), (("aa",), [("a", 2)]), (("aaa",), [("a", 3)])],
        *[(("bbbb",), [("b", 4)]), (("",), []), (("c",), [("c", 1)])],
    ),
    _piece(
        "minutes",
        "A time like 1h30m in minutes.",
        """
def minutes(text):
    hours, mark, rest = text.rpartition("h")
    total = int(hours) * 60 if mark else 0
    return total + (int(rest[:-1]) if rest else 0)
""",
        ("(int(rest[:-1]) if rest else 0)", "(int(rest[:-1]) if rest and not mark else 0)"),
        *[(("2h",), 120), (("1h",), 60), (("1h30m",), 90), (("3h05m",), 185)],
        *[(("45m",), 45), (("9m",), 9)],
    ),
    _piece(
        "merge",
        "Spans of numbers, those that touch made one.",
        """
def merge(spans):
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
""",
        ("max(end, merged[-1][1])", "end"),
        *[(([(1, 2)],), [(1, 2)]), (([(3, 4), (1, 2)],), [(1, 2), (3, 4)])],
        *[(([(1, 9), (2, 3)],), [(1, 9)]), (([(0, 5), (1, 4)],), [(0, 5)])],
        *[(([],), []), (([(1, 3), (2, 5)],), [(1, 5)])],
    ),
    _piece(
        "rotate",
        "A list moved to the left by some places, round.",
        """
def rotate(items, by):
    if not items:
        return []
    by %= len(items)
    return items[by:] + items[:by]
""",
        ("    by %= len(items)\n", ""),
        *[(([1, 2, 3], 1), [2, 3, 1]), (([1, 2], 0), [1, 2]), (([1, 2], 3), [2, 1])],
        *[(([1, 2, 3], 4), [2, 3, 1]), (([], 2), []), (([9], 1), [9])],
    ),
)
"""All of them; a case takes two to four."""

PACKAGES = ("shop", "ledger", "almanac", "kiosk", "harbour", "orchard", "atlas", "loom")


@dataclass(frozen=True)
class Project:
    """A small package in which pieces stand with their tests, and the piece a case is about."""

    package: str
    there: tuple[Piece, ...]
    piece: Piece

    def files(self, *, with_piece: bool = False) -> dict[str, str]:
        """The texts of the repository; `with_piece`: also the piece and its tests."""
        texts = {
            "README.md": f"# {self.package}\n\nSmall functions.\n",
            f"{self.package}/__init__.py": "",
            "tests/__init__.py": "",
        }
        for piece in (*self.there, *([self.piece] if with_piece else [])):
            texts[self.code(piece)] = piece.text()
            texts[self.tests(piece)] = self.test_text(piece)
        return texts

    def code(self, piece: Piece) -> str:
        """The path of its module."""
        return f"{self.package}/{piece.name}.py"

    def tests(self, piece: Piece) -> str:
        """The path of its tests."""
        return f"tests/test_{piece.name}.py"

    def command(self, piece: Piece) -> str:
        """The test that a task names."""
        return f"python3 -m unittest -q tests.test_{piece.name}"

    def test_text(self, piece: Piece, lines: list[str] | None = None) -> str:
        """A file of tests: one method an example, or these lines as methods' bodies."""
        bodies = lines or [
            f"self.assertEqual({piece.name}({', '.join(map(repr, arguments))}), {wanted!r})"
            for arguments, wanted in piece.shown
        ]
        methods = [
            f"    def test_case_{at}(self):\n        {body}\n" for at, body in enumerate(bodies)
        ]
        name = piece.name
        head = f"import unittest\n\nfrom {self.package}.{name} import {name}\n\n\n"
        return head + f"class {name.title()}Test(unittest.TestCase):\n" + "\n".join(methods)

    def truth(self, *pieces: Piece) -> str:
        """Python that fails where one of these does not do what its sentence says."""
        lines = []
        for piece in pieces:
            lines.append(f"from {self.package}.{piece.name} import {piece.name}")
            lines += [
                f"assert {piece.name}(*{arguments!r}) == {wanted!r}"
                for arguments, wanted in (*piece.kept, *piece.shown, *piece.kept)
            ]
        return "\n".join(lines)


def project(chance: random.Random) -> Project:
    """A package with two or three pieces, and one more that is to be written."""
    pieces = chance.sample(PIECES, chance.choice((3, 4)))
    return Project(chance.choice(PACKAGES), tuple(pieces[1:]), pieces[0])
