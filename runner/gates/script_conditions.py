"""Where JavaScript asks how it is run: by variables, arguments, globals, clocks and modules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates.script_aliases import follow_names, is_bound, line_in
from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.javascript import LITERALS
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOOLS = r"(?:@jest/[\w-]+|@vitest/[\w-]+|jest|vitest|mocha|ava|tape|tap|uvu|jasmine)"
_GLOBALS = r"(?:jest|vi|vitest|mocha|describe|expect|(?:before|after)(?:Each|All)?)"
_AMBIGUOUS = r"(?:it|test|suite)"
"""Globals of tests whose names others have, too: where the file binds none of its own."""
_MODE = r"(?:process\.env\.(?:NODE_ENV|BABEL_ENV)|import\.meta\.env\.MODE)\b"
_LOOKS = r"(?:includes|startsWith|endsWith|indexOf|lastIndexOf|match|search|some|test)"
_PROGRAM = r"(?:process\.(?:argv0?|title)|require\.main\.filename|module\.(?:parent|children))\b"
_OWN_ARGUMENT = regex(r"process\.argv(?:\.slice\(\s*[2-9]\s*\)|\[\s*[2-9]\s*\])")
"""What a user gave: `shop test` is a command of the program's own."""
_REPLACED = (
    r"(?:set(?:Timeout|Interval|Immediate)|queueMicrotask|Date(?:\.now)?|performance\.now"
    r"|Math\.random|fetch)"
)
"""What fake timers and stubs put something of theirs in the place of."""
_SCRIPT = regex(
    r"\b(?P<variable>JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|CYPRESS"
    r"|RUNNER_(?:TASK|ATTEMPT))\b"
    rf"|(?P<env>{_MODE}(?:\?\?|[^\n;=!?]){{0,200}}[!=]==?\s*(?P<q>['\"`])test(?P=q)"
    r"|\bNODE_ENV\b['\"`\]\s]*[!=]==?\s*(?P<s>['\"`])test(?P=s)"
    rf"|(?P<r>['\"`])test(?P=r)\s*[!=]==?[^;\n]{{0,300}}(?:\bNODE_ENV\b|{_MODE})"
    rf"|{_MODE}[^\n;]{{0,300}}?\.{_LOOKS}\(\s*[/'\"`]\^?(?:te|tes|test|est|st)\b"
    rf"|['\"`/]\^?test\$?(?:['\"`][^\n;\]]{{0,300}}\]\s*\.(?:includes|indexOf)|/\w*\.test)\(\s*{_MODE}"
    rf"|\{{[^{{}}\n]{{0,400}}(?<![\w$])['\"]?test['\"]?\s*:[^{{}}\n]{{0,400}}\}}\s*\)?\[\s*{_MODE})"
    r"|\b(?P<worker>__(?:vitest|jest|mocha|karma|tap|ava)\w*__|__coverage__)"
    rf"|['\"](?P<there>{_AMBIGUOUS}|{_GLOBALS})['\"]\s*"
    r"(?:\bin\s+|\)?\s*in\s+)(?:globalThis|global|window|self)\b"
    r"|\b(?:hasOwn|has|hasOwnProperty)\(\s*(?:globalThis|global)\s*,\s*['\"]"
    rf"(?P<has>{_AMBIGUOUS}|{_GLOBALS})['\"]"
    r"|(?P<double>\b_isMockFunction\b|\bisMockFunction\(|\bgetMockName\b|\.mock\.calls\b)"
    r"|\bprocess\.(?P<uptime>uptime\(\)|cpuUsage\(\)\.\w+)\s*(?:\*\s*\d+\s*)?[<>]=?\s*\d"
    r"|\bperformance\.(?P<clock>now\(\))\s*[<>]=?\s*\d"
    r"|(?:\bDate\.(?P<now>now\(\))|\bnew Date\(\)\.(?P<part>get(?:UTC)?FullYear\(\)|getTime\(\)))"
    r"\s*[<>]=?\s*\d"
    rf"|\btypeof\s+(?P<global>{_GLOBALS})\b(?!\s*[.(\[])"
    rf"|\btypeof\s+(?P<common>{_AMBIGUOUS})\b(?!\s*[.(\[])"
    rf"|\b(?:globalThis|global)\.(?P<of>{_GLOBALS}|{_AMBIGUOUS})\b(?!\s*=[^=])"
    r"|\bwindow\.(?P<on>jest|vi|vitest|describe|expect)\b(?!\s*=[^=])"
    r"|\bObject\.(?:keys|getOwnPropertyNames)\(\s*(?:globalThis|global)\b[^\n;]{0,300}"
    rf"['\"](?P<among>{_GLOBALS}|{_AMBIGUOUS})['\"]"
    r"|\bgetOwnPropertySymbols\(\s*(?:globalThis|global)\b[^\n;]{0,300}?"
    r"(?P<symbols>jest|vitest|mocha)"
    r"|\bSymbol\.for\(\s*['\"`](?P<symbol>[^'\"`\n]*(?:jest|vitest|mocha)[^'\"`\n]*)['\"`]"
    rf"|\btry\s*\{{[^{{}}'\"`]*?(?<![\w$.])(?P<tried>jest|vi|vitest|describe|expect)\b(?!\s*[:=])"
    r"|\bnpm_lifecycle_event\b[^\n;]{0,300}(?P<life>['\"`]test)"
    r"|\bnpm_(?:lifecycle_script|command)\b[^\n;]{0,300}['\"`/]"
    r"(?P<script>jest|vitest|mocha|test)\b"
    r"|\bargv\b[^\n;]{0,300}['\"`/](?P<argv>jest|vitest|mocha|ava|tap)\b"
    rf"|\b{_PROGRAM}[^\n;]{{0,300}}(?:[!=]==?|\.{_LOOKS}\()\s*"
    r"(?:['\"`](?!-)|/)[^\n'\"`;]*?(?<![A-Za-z])"
    r"(?P<program>(?:tests?|specs?)(?![A-Za-z-]|\.(?:json|ya?ml|toml))|jest|vitest|mocha)"
    r"|/[^/\n;]{0,80}?(?<![A-Za-z])(?P<tested>tests?|specs?|jest|vitest|mocha)(?![A-Za-z-])"
    rf"[^/\n;]{{0,80}}/\w*\.test\(\s*{_PROGRAM}"
    r"|\brequire\.cache\b[^\n;]{0,300}[/'\"`](?P<cache>tape|jest|mocha|vitest|ava|tap|test)\b"
    r"|\bmodule\.(?:parent|children)\b[^\n;]{0,300}(?:['\"`/])(?:[^\n'\"`;/]*[^\n'\"`;/A-Za-z])?"
    r"(?P<parent>tests?|specs?)(?![A-Za-z-])"
    r"|\b(?:existsSync|statSync|accessSync)\([^\n;]{0,300}['\"`/](?P<beside>tests?/|test['\"`]"
    r"|[\w-]+\.(?:test|spec)\.[cm]?[jt]sx?)"
    r"|\bObject\.(?:keys|entries)\(\s*process\.env\s*\)[^;\n]{0,300}['\"`/]\^?"
    r"(?P<key>JEST|VITEST|NODE_TEST|MOCHA)"
    r"|\bprocess\.execArgv\b[^\n;]{0,300}['\"`/](?P<exec>--test\b|tsx\b|ts-node\b)"
    rf"|\b(?:import|require)(?:\.resolve)?\(\s*['\"`](?P<module>{_TOOLS}(?:/[^'\"`\n]*)?"
    r"|node:test)['\"`](?!\s*\)\s*\.[A-Z])"
    r"|\bimport\s*\{[^{}]*\b(?P<helper>isTest)\b[^{}]*\}\s*from\s*['\"]std-env['\"]"
    rf"|\btoString\.call\(\s*(?P<native>{_REPLACED})\s*\)"
    rf"|\b(?P<faked>{_REPLACED}\.(?:clock|isFake\w*|mock|toString\(\))(?!\s*=[^=]))"
)
_BARE = ("common", "global", "tried")
"""Globals by their name alone, which a file may have given to something of its own."""
_SWITCH = regex(rf"\bswitch\s*\(\s*{_MODE}[^\n{{]*\{{")
_CASE = regex(r"\bcase\s+(['\"`])test\1\s*:")
_TABLE = regex(rf"\b(?P<table>[A-Za-z_$][\w$]*)\[\s*{_MODE}")
_SETTINGS = regex(r"config|settings|environment|knexfile", re.IGNORECASE)
"""A file that holds what differs from one environment to the next has one for tests, too."""
_IN_SOURCE = regex(r"\bimport\.meta\.vitest\b")
_TESTS_IN_SOURCE = regex(r"\bif\s*\(\s*import\.meta\.vitest\s*\)\s*\{")


class Asked(NamedTuple):
    """One place that asks."""

    name: str
    line: int


def in_script(bare: str, path: str) -> Iterator[Asked]:
    """Every place of JavaScript or TypeScript, comments taken out, that asks how it is run."""
    text = follow_names(bare)
    for at, name in (*_named(text), *_by_mode(text, path), *_tests_in_source(text)):
        yield Asked(name, line_in(text, at))


def _named(text: str) -> Iterator[tuple[int, str]]:
    for match in _SCRIPT.finditer(text):
        groups = match.groupdict()
        said = next((one for one in groups.values() if one), match[0])
        bare = next((one for one in _BARE if groups[one]), "")
        if bare and is_bound(text, said, match.start(bare)):
            continue
        if groups["program"] and said.isalpha() and _OWN_ARGUMENT.match(match[0]):
            continue
        yield match.start(), "NODE_ENV" if groups["env"] else said


def _by_mode(text: str, path: str) -> Iterator[tuple[int, str]]:
    """Branches of a switch, and rows of a table, for the mode of tests."""
    for match in _SWITCH.finditer(text):
        body = text[match.end() : find_closing(mask_literals(text, LITERALS), match.end() - 1)]
        if _CASE.search(body):
            yield match.start(), "NODE_ENV"
    for match in () if _SETTINGS.search(path) else _TABLE.finditer(text):
        name = re.escape(match["table"])
        table = re.compile(rf"\b{name}\b[^=\n]*=\s*(?:Object\.freeze\()?\{{").search(text)
        if table is None:
            continue
        rows = text[table.end() : find_closing(mask_literals(text, LITERALS), table.end() - 1)]
        if re.search(r"(?<![\w$.])['\"]?test['\"]?\s*:", rows):
            yield match.start(), "NODE_ENV"


def _tests_in_source(text: str) -> Iterator[tuple[int, str]]:
    """`import.meta.vitest` but where it is what tests beside their code stand behind."""
    mask = mask_literals(text, LITERALS)
    inside = [
        (one.start(), find_closing(mask, one.end() - 1)) for one in _TESTS_IN_SOURCE.finditer(mask)
    ]
    tested = [
        one for one in inside if re.search(r"\b(?:it|test|describe|suite)\b", mask[slice(*one)])
    ]
    for match in _IN_SOURCE.finditer(mask):
        if not any(begin <= match.start() < end for begin, end in tested):
            yield match.start(), "import.meta.vitest"
