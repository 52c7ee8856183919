"""Python files of a wanted length, each unlike the others, as a task would write them."""

from __future__ import annotations

import random

_WORDS = [
    "order",
    "price",
    "total",
    "booking",
    "room",
    "guest",
    "invoice",
    "payment",
    "tax",
    "rate",
    "day",
    "night",
    "user",
    "account",
    "message",
    "queue",
    "event",
    "report",
    "line",
    "column",
    "header",
    "body",
    "token_count",
    "limit",
    "offset",
    "page",
    "result",
]
_BODIES = (
    '''def {name}({a}: int, {b}: int = {n}) -> int:
    """The {c} of a {b}, never less than {n}."""
    if {a} < {b}:
        raise ValueError(f"{c} of {{{a}}} is too small")
    return max({n}, {a} - {b})
''',
    '''class {title}:
    """Keeps the {a} of each {b}."""

    def __init__(self, {a}: dict[str, int]) -> None:
        self.{a} = dict({a})
        self.{b} = {n}

    def {name}(self, {c}: str) -> int | None:
        """The {a} under this {c}, or None."""
        return self.{a}.get({c}, self.{b})
''',
    '''def {name}({a}: list[str]) -> dict[str, int]:
    """How often each {b} stands in the {a}."""
    counts: dict[str, int] = {{}}
    for {b} in {a}:
        # {c} counts once for each {b}
        counts[{b}] = counts.get({b}, 0) + {n}
    return {{key: value for key, value in sorted(counts.items()) if value > {n}}}
''',
    '''def {name}({a}: str) -> bytes:
    """The {a} as its {b}, read with its {c}."""
    with open({a}, "rb") as file:
        content = file.read()
    assert content, "the {c} is empty"
    return content[: {n}]
''',
)


def a_source(lines: int, seed: int) -> str:
    """So many lines of Python."""
    chance = random.Random(seed)
    parts = [
        '"""A module of the benchmark."""\n\nfrom __future__ import annotations\n\nimport os\n'
    ]
    count, number = 5, 0
    while count < lines:
        a, b, c = chance.sample(_WORDS, 3)
        number += 1
        name = f"{chance.choice(_WORDS)}_{seed}_{number}"
        body = chance.choice(_BODIES).format(
            a=a, b=b, c=c, n=chance.randrange(1, 99), name=name, title=name.title().replace("_", "")
        )
        parts.append("\n" + body)
        count += body.count("\n") + 1
    return "\n".join("\n".join(parts).split("\n")[:lines]).rsplit("\n\n", 1)[0] + "\n"
