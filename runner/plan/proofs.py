"""Parse the fields that define a task's proof: test contracts, contracts, gates, examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from runner.lazy_pattern import regex
from runner.model import Contract, GateSpec, Level, Network, TestContract
from runner.plan.markdown_text import EMPTY_WORDS, is_inside, literal, plain, spans
from runner.plan.source import Run
from runner.plan.values import BadValueError, Complaint, complain, seconds_in
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.model import Task
    from runner.plan.fields import PlanField

TEST = regex(
    r"(?:\*\*|__|`)?(?P<id>(?>TC[-_ ]?[\w.-]*\w))(?:\*\*|__|`)?\s*+:?\s*+"
    r"(?:[(\[](?P<level>[\w\s,-]++)[)\]](?:\*\*|__)?)?\s*+"
    r"(?::|—|\u2013|-(?=\s))\s*+(?:\*\*|__)?\s*+",
    re.IGNORECASE,
)
_NAMED = regex(
    r"(?:\*\*|__|`)?(?P<name>\w[\w./-]*?(?: ++[\w./-]+?)*?(?: ++(?=\*\*|__|`))??)"
    r"(?:\*\*|__|`)?\s*+"
    r"(?:\((?P<in>[^()]*+)\)\s*+)?(?:\*\*)?:(?:\*\*|__)?\s*+"
)
_WITHOUT = regex(
    r"none\s*+(?:[—\u2013:;,]|-+(?=\s)|(?=\())\s*+(?P<why>.*\w.*)\Z", re.IGNORECASE | re.DOTALL
)
_NEXT = regex(r"(?:(?<!\s)\s+)?(?:<br\s*/?>|;)\s*|,\s*(?=(?:\*\*|__|`)?TC-)", re.IGNORECASE)
_QUOTED = regex(r"""=("(?:[^"\\]|\\.)*"|'[^']*')""")
"""Quoted value of an entry's option, if it has several words: `start="a; b"`."""
_OWN_SCRIPT = regex(r"\./[\w.+-]+(?:/[\w.+-]+)*")
_PROGRAMS = """
pytest python python3 py.test tox nox uv poetry hatch pdm pipenv pre-commit ruff mypy coverage
npm npx yarn pnpm node deno bun jest vitest mocha ava tsc eslint playwright cypress go cargo
make ctest bazel mvn mvnw gradle gradlew sbt dotnet bundle rspec rake ruby php phpunit composer
bash sh bats rebar3 cabal zig
"""
_TEST_PROGRAMS = frozenset(_PROGRAMS.split())
"""Words that start a command line, and hardly ever a sentence."""
_TOOLS = frozenset(("grep", "test", "diff", "cmp", "jq", "curl", "sqlite3"))
"""Words that start a command line only if an option follows."""
_OPTION = regex(r"--?\w[\w-]*(?:=\S*)?")
_SENTENCES = """
a an the is are be been it its that this these which who when where should must shall will can
and or but not of to with for from by on into about sure through all every each everything our
we you they works work passes pass see below above manually covers
"""
_OF_SENTENCES = frozenset(_SENTENCES.split())
"""Words that occur in sentences but not in command lines."""
_LEVELS = {"end-to-end": "e2e", "end to end": "e2e", "int": "integration"}
Made = TypeVar("Made", TestContract, Contract, GateSpec)
_CONTRACTS = ("openapi", "schema", "command")
_BLOCK = regex(
    r"^(?P<mark> {0,3}(?P<fence>`{3,}|~{3,}))[ \t]*python[ \t]+examples[ \t]*\n(?P<text>.*?)"
    r"^ {0,3}(?P=fence)",
    re.DOTALL | re.MULTILINE,
)


def entries(field: PlanField) -> Iterator[Run]:
    """Yield every entry of a field; `;` and `<br>` separate several on one line.

    Of a fence each line that is no comment is one.
    """
    for value in field.values:
        if "\n" in value.text:
            yield from _lines_of(value.runs[0])
            continue
        whole = Run(value.text, value.runs[0].line, value.runs[0].column)
        for run in _split_at_separators(whole):
            if plain(run.text).casefold() not in EMPTY_WORDS:
                yield run


def _lines_of(run: Run) -> Iterator[Run]:
    for at, line in enumerate(run.text.split("\n")):
        if line.strip() and not line.lstrip().startswith("#"):
            code = line.strip()
            yield Run(code if "`" in code else f"`{code}`", run.line + at, 0)


def _split_at_separators(run: Run) -> Iterator[Run]:
    """Yield the parts of a text, split at separators outside code spans and quotes."""
    if not _NEXT.search(run.text):
        yield run.part(0, len(run.text))
        return
    code = [(span.start, span.end) for span in spans(run.text) if span.code]
    quoted = [match.span(1) for match in _QUOTED.finditer(run.text)]
    begin = 0
    for match in _NEXT.finditer(run.text):
        kept = is_inside(code, match.start()) or is_inside(quoted, match.start())
        if not kept and (code or match[0].strip().startswith((",", "<"))):
            yield run.part(begin, match.start())
            begin = match.end()
    yield run.part(begin, len(run.text))


_GATE = regex(rf"{_NAMED.pattern}(?<=\s)")
_ENTRY = regex(r"(?:openapi|schema|command):\s*+", re.IGNORECASE)


def _without_ticks(run: Run, pattern: re.Pattern[str]) -> Run:
    """Move the ticks of a code span `` `TC-001: pytest -q` `` to its command alone.

    Else the name took the opening ticks with it, and the closing ones were the command's.
    """
    parts = spans(run.text) if run.text.startswith("`") else []
    match = pattern.match(parts[0].text) if len(parts) == 1 and parts[0].code else None
    command = parts[0].text[match.end() :].strip() if match else ""
    if match is None or not command:
        return run
    ticks = "`" * (1 + max(map(len, _TICKS.findall(command)), default=0))
    pad = " " * (command[0] == "`" or command[-1] == "`")
    # Column for messages: after the removed backticks.
    column = run.column + run.text.find(match[0])
    return Run(f"{match[0]}{ticks}{pad}{command}{pad}{ticks}", run.line, column)


_TICKS = regex(r"`+")


def _complaint(run: Run, message: str, hint: str) -> Complaint:
    return Complaint(message, hint, run.line, run.column, max(1, len(run.text)))


def _collect(made: Iterable[Made | Complaint]) -> tuple[Made, ...]:
    """Return all valid entries. Raises BadValueError with all complaints."""
    found: list[Made] = []
    bad: list[Complaint] = []
    for one in made:
        if isinstance(one, Complaint):
            bad.append(one)
        else:
            found.append(one)
    if bad:
        raise BadValueError(*bad)
    return tuple(found)


def test_contracts(field: PlanField, first_line: int) -> tuple[TestContract, ...]:
    """Read test contracts, `TC-002 (unit): command`; the default level is unit."""
    numbered = enumerate(entries(field), start=1)
    return _collect(_test_contract(run, number, first_line) for number, run in numbered)


def _test_contract(run: Run, number: int, first_line: int) -> TestContract | Complaint:
    line = run.line + first_line
    run = _without_ticks(run, TEST)
    match = TEST.match(run.text)
    if match is None:
        only_code = len(parts := spans(run.text)) == 1 and parts[0].code
        if only_code:
            return TestContract(f"TC-{number:03}", Level.UNIT, parts[0].text, line)
        if is_bare_command(run.text):
            return TestContract(f"TC-{number:03}", Level.UNIT, run.text, line)
        return _complaint(
            run, f'bad test contract "{run.text}"', "write it as TC-001 (unit): `command`"
        )
    words = [word.strip() for word in (match["level"] or "").casefold().split(",")]
    words = ["held out" if word.split() in _HELD_OUT else word for word in words]
    fails, held_out = "fails" in words, "held out" in words
    if fails and held_out:
        hint = "remove `fails` or `held out`: a held-out test must be able to pass"
        return _complaint(run, f"{match['id']} is marked as `fails` and as `held out`", hint)
    level = ", ".join(word for word in words if word not in _MARKS) or "unit"
    level = _LEVELS.get(level.removesuffix(" test"), level.removesuffix(" test"))
    known = [entry.value for entry in Level]
    if level not in known:
        hint = did_you_mean(level, known) or "write one of " + ", ".join(known)
        return _complaint(run, f'unknown level "{level}" of {match["id"]}', hint)
    command = literal(run.text[match.end() :])
    if not command:
        return _complaint(
            run, f"{match['id']} has no command", "write it as TC-001 (unit): `command`"
        )
    return TestContract(
        match["id"].upper().replace(" ", "-").replace("_", "-"),
        Level(level),
        command,
        line,
        fails,
        held_out,
    )


_HELD_OUT = (["held", "out"], ["held-out"])
_MARKS = ("", "fails", "held out")
"""Words in the parentheses other than a level."""
_IN_FOLDER = regex(r"cd [\w./-]+ && ")


def is_bare_command(text: str) -> bool:
    """Return whether a test without backticks is a command line and not a sentence.

    It may begin in a folder: `cd packages/api && npm test`.
    """
    words = _IN_FOLDER.sub("", text).split()
    first = words[0] if words else ""
    is_tool = first in _TOOLS and len(words) > 2 and bool(_OPTION.fullmatch(words[1]))  # noqa: PLR2004
    if not (first in _TEST_PROGRAMS or is_tool or _OWN_SCRIPT.fullmatch(first)) or "`" in text:
        return False
    if words[-1].rstrip(".!?:").isalpha() and words[-1].endswith((".", "!", "?", ":")):
        return False
    is_list = any(word.endswith(",") for word in words)
    return not is_list and _OF_SENTENCES.isdisjoint(map(str.casefold, words))


def contracts(field: PlanField, first_line: int) -> tuple[Contract, ...]:
    """Read `openapi:`, `schema:` and `command:` entries; empty for a reasoned `none`."""
    if no_contracts(field):
        return ()
    return _collect(_contract(run, first_line) for run in entries(field))


def no_contracts(field: PlanField) -> str:
    """Return the reason in `Contracts: none — reason`; empty if there are entries."""
    found = list(entries(field))
    return _without(found[0].text) if len(found) == 1 else ""


def no_proof(field: PlanField) -> str:
    """Return the reason in `Proof: none — reason`; raises BadValueError without one."""
    text = field.values[0].text if field.values else ""
    reason = _without(text) if len(field.values) == 1 else ""
    if reason:
        return reason
    if plain(text).casefold() in EMPTY_WORDS:
        hint = "add why nothing can prove it: Proof: none — reason"
        raise complain(field, "Proof: none has no reason", hint)
    hint = "write `Proof: none — reason`, or put proofs in Test contracts, Contracts or Gates"
    raise complain(field, f'bad Proof "{plain(text)}"', hint)


def _without(text: str) -> str:
    """Return the reason of a value such as `none — reason`; else empty."""
    match = _WITHOUT.match(plain(text))
    return " ".join(match["why"].split()) if match else ""


def _contract(run: Run, first_line: int) -> Contract | Complaint:
    run = _without_ticks(run, _ENTRY)
    match = _NAMED.match(run.text)
    kind = match["name"].casefold() if match else ""
    if match is None or kind not in _CONTRACTS:
        hint = did_you_mean(kind, _CONTRACTS) or "begin it with openapi:, schema: or command:"
        return _complaint(run, f'unknown contract "{run.text}"', hint)
    rest = run.text[match.end() :]
    value = literal(rest) if kind == "command" else _plain_around_quotes(rest)
    return Contract(kind, value, run.line + first_line)


def _plain_around_quotes(text: str) -> str:
    """Return the text without Markdown, except quoted parts, which may be commands."""
    shown, done = "", 0
    for match in _QUOTED.finditer(text):
        if "`" not in match[1]:
            before = text[done : match.start(1)]
            shown += " " * before[:1].isspace() + plain(before) + match[1]
            done = match.end()
    return shown + " " * bool(shown and text[done : done + 1].isspace()) + plain(text[done:])


def gates(field: PlanField, first_line: int) -> tuple[GateSpec, ...]:
    """Read gates: `name: command` and `name (network, 60 s): command`."""
    return _collect(_gate(run, first_line) for run in entries(field))


_REACHES = {
    "network": Network.YES,
    "registries": Network.REGISTRIES,
    "loopback": Network.LOOPBACK,
}


def _gate(run: Run, first_line: int) -> GateSpec | Complaint:
    run = _without_ticks(run, _GATE)
    match = _NAMED.match(run.text)
    command = literal(run.text[match.end() :]) if match else ""
    if match is None or not command:
        return _complaint(run, f'bad gate "{run.text}"', "write it as name: `command`")
    network, seconds = Network.NO, 0.0
    for option in filter(None, map(str.strip, (match["in"] or "").casefold().split(","))):
        if option in _REACHES:
            network = _REACHES[option]
        elif limit := seconds_in(option):
            seconds = limit
        else:
            hint = "write network, registries, loopback or a time such as 60 s"
            return _complaint(run, f'unknown option "{option}" of gate {match["name"]}', hint)
    return GateSpec(match["name"], command, network, seconds, run.line + first_line)


def find_examples(task: Task) -> str:
    """Return the text of a task's blocks of examples, one after the other; empty without one."""
    if "examples" not in task.prose:
        return ""
    return "\n".join(found["text"] for found in _BLOCK.finditer(task.prose))
