"""Examples that other scanners ship with their own rules, read from clones; none is kept here.

gitleaks makes many of its examples up from an expression while its tests run: they are made up here
in the same way, from a chance that the expression alone decides, in each of its own templates.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Example:
    """A text that a tool declares to hold a secret of one of its rules, or to hold none."""

    tool: str
    rule: str
    real: bool
    text: str
    path: str = "sample.txt"
    kinds: tuple[str, ...] = ()
    """What the tool itself says that the rule finds: `secret`, `identifier`, …"""


def examples(root: Path) -> Iterator[Example]:
    """Those of the four tools whose clones stand below a folder, by the names of their projects."""
    yield from _noseyparker(root / "noseyparker")
    yield from _gitleaks(root / "gitleaks")
    yield from _trufflehog(root / "trufflehog")
    yield from _credsweeper(root / "CredSweeper")


def noseyparker_rules(root: Path) -> Iterator[dict]:
    for path in sorted(root.glob("crates/noseyparker/data/default/builtin/rules/*.yml")):
        yield from yaml.safe_load(path.read_text())["rules"]


def _noseyparker(root: Path) -> Iterator[Example]:
    for rule in noseyparker_rules(root):
        kinds = tuple(rule.get("categories") or ())
        for field, real in (("examples", True), ("negative_examples", False)):
            for text in rule.get(field) or ():
                yield Example("noseyparker", rule["id"], real, text, kinds=kinds)


def _credsweeper(root: Path) -> Iterator[Example]:
    """What its own run over its samples finds: the line, or all lines of one that needs several."""
    for found in json.loads((root / "tests/data/output.json").read_text()):
        told = [line for line in found["line_data_list"] if isinstance(line["line"], str)]
        text = "\n".join(dict.fromkeys(line["line"] for line in told))
        if told and "samples" in told[0]["path"]:
            name = told[0]["path"].rpartition("/")[2]
            yield Example("CredSweeper", found["rule"], real=True, text=text, path=name)


# --- Go ------------------------------------------------------------------------------

_CLASSES = {
    "AlphaNumeric": "[a-z0-9]",
    "AlphaNumericExtendedShort": "[a-z0-9_-]",
    "AlphaNumericExtended": r"[a-z0-9=_\-]",
    "AlphaNumericExtendedLong": r"[a-z0-9\/=_\+\-]",
    "Hex": "[a-f0-9]",
    "Numeric": "[0-9]",
}
_TEXT = r'^"((?:[^"\\]|\\.)*)"$|^`([^`]*)`$'


def _parts(source: str, mark: str) -> list[str]:
    """Go's source cut at a mark outside of texts, comments and brackets."""
    parts, depth, current, at = [], 0, "", 0
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|`[^`]*`|//[^\n]*|.', source, re.DOTALL):
        at += len(token)
        if token.startswith("//"):
            continue
        depth += (token in "([{") - (token in ")]}")
        if token == mark and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += token
    return [part for part in (*parts, current.strip()) if part]


def _go_text(source: str) -> str:
    """The text that a Go expression stands for; ValueError where it is no plain one."""
    text = ""
    for part in _parts(source, "+"):
        plain = re.match(_TEXT, part, re.DOTALL)
        made = re.match(r"^secrets\.NewSecret(?:WithEntropy)?\((.*)\)$", part, re.DOTALL)
        if plain:
            text += plain[2] if plain[1] is None else _unescaped(plain[1])
        elif made:
            text += one_of(_go_expression(_parts(made[1], ",")[0]))
        else:
            raise ValueError(part)
    return text


def _unescaped(inner: str) -> str:
    return inner.encode("latin-1", "backslashreplace").decode("unicode_escape")


def _go_expression(source: str) -> str:
    expression = ""
    for part in _parts(source, "+"):
        plain = re.match(_TEXT, part, re.DOTALL)
        known = re.match(r'^utils\.(\w+)\("([^"]*)"\)$', part)
        if known and known[1] in _CLASSES:
            expression += f"{_CLASSES[known[1]]}{{{known[2]}}}"
        elif part == "utils.Hex8_4_4_4_12()":
            expression += "-".join(f"[a-f0-9]{{{size}}}" for size in (8, 4, 4, 4, 12))
        elif plain:
            raw = plain[2] if plain[1] is None else plain[1]
            expression += raw.replace(r"\\", "\\") if plain[1] is not None else raw
        else:
            raise ValueError(part)
    return expression.replace("(?i)", "")


def one_of(expression: str) -> str:
    """A text that an expression matches: always the same one, as if by chance."""
    chance = random.Random(expression)
    parsed = re._parser.parse(expression)  # noqa: SLF001 - there is no other reader of expressions
    return "".join(_made(parsed, chance))


def _made(parsed: object, chance: random.Random) -> Iterator[str]:
    for kind, what in parsed:
        name = str(kind)
        if name == "LITERAL":
            yield chr(what)
        elif name == "ANY":
            yield chance.choice("abcdefghijklmnopqrstuvwxyz0123456789")
        elif name == "IN":
            yield chance.choice(_letters(what))
        elif name == "BRANCH":
            yield from _made(chance.choice(what[1]), chance)
        elif name == "SUBPATTERN":
            yield from _made(what[3], chance)
        elif name.endswith("_REPEAT"):
            for _ in range(chance.randint(what[0], min(what[1], max(what[0], 40)))):
                yield from _made(what[2], chance)
        elif name != "AT":
            raise ValueError(name)


def _letters(members: list) -> list[str]:
    letters: list[str] = []
    for kind, what in members:
        if str(kind) == "LITERAL":
            letters.append(chr(what))
        elif str(kind) == "RANGE":
            letters += map(chr, range(what[0], what[1] + 1))
        elif str(what).endswith("WORD"):
            letters += "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
        elif str(what).endswith("DIGIT"):
            letters += "0123456789"
        else:
            raise ValueError(str(kind))
    return letters


# --- gitleaks ------------------------------------------------------------------------


def gitleaks_rules(root: Path) -> Iterator[tuple[str, str]]:
    """The id of each rule, and the source of the function that makes it."""
    for path in sorted(root.glob("cmd/generate/config/rules/*.go")):
        for made in re.finditer(
            r"func \w+\(\) \*config\.Rule \{(.*?)\n\}\n", path.read_text(), re.DOTALL
        ):
            named = re.search(r'RuleID:\s*"([^"]+)"', made[1])
            if named:
                yield named[1], made[1]


def _gitleaks(root: Path) -> Iterator[Example]:
    templates = _templates(root)
    for rule, body in gitleaks_rules(root):
        for given in re.finditer(r"\b([tf]ps)\s*:?=\s*", body):
            for path, text in _leaves(_statement(body, given.end()), templates):
                yield Example("gitleaks", rule, given[1] == "tps", text, path)


def _statement(source: str, start: int) -> str:
    """Go's source from a place to the end of the line at which all brackets are closed."""
    return _parts(source[start:], "\n")[0]


def _leaves(source: str, templates: list[str]) -> Iterator[tuple[str, str]]:
    """The paths and texts of a list of examples: written out, appended or made up."""
    source = source.removesuffix("...").strip()
    made = re.match(r'^utils\.GenerateSampleSecrets?\(\s*"([^"]*)",\s*(.*)\)$', source, re.DOTALL)
    listed = re.match(r"^(?:append\(|\[\]string\{)(.*)[)}]$", source, re.DOTALL)
    mapped = re.match(r"^map\[string\]string\{(.*)\}$", source, re.DOTALL)
    try:
        if listed:
            for item in _parts(listed[1], ","):
                yield from _leaves(item, templates)
        elif mapped:
            for item in _parts(mapped[1], ","):
                path, text = _parts(item, ":")
                yield _go_text(path).rpartition("/")[2], _go_text(text)
        elif made:
            value, chosen = _go_text(made[2]), templates if "Secrets(" in source else _ONE
            for one in chosen:
                filled = one.replace("{i}", made[1]).replace("{I}", made[1].upper())
                yield "sample.txt", filled.replace("{s}", value)
        elif source not in ("tps", "fps"):
            yield "sample.txt", _go_text(source)
    except ValueError:
        return  # put together by code


_ONE = ['{i}_api_token = "{s}"']


def _templates(root: Path) -> list[str]:
    """The texts in which gitleaks sets a value that it made up."""
    source = (root / "cmd/generate/config/utils/generate.go").read_text()
    lines = re.findall(r'^\s*"[^"]*":\s*("(?:[^"\\]|\\.)*"|`[^`]*`),$', source, re.MULTILINE)
    return [_go_text(one) for one in lines if "{s}" in one]


# --- trufflehog ----------------------------------------------------------------------


def _trufflehog(root: Path) -> Iterator[Example]:
    """What the tests of its detectors' patterns are given, and whether they want anything."""
    folder = root / "pkg/detectors"
    for path in sorted(folder.rglob("*_test.go")):
        if "integration" in str(path):
            continue
        source = path.read_text()
        texts = dict(re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"\n', source))
        texts |= dict(re.findall(r"(\w+)\s*=\s*`([^`]*)`", source))
        cases = r'\{\s*name:\s*"[^"]*",\s*input:\s*(.*?),\n\s*want:\s*(.*?),?\n\s*\}'
        for case in re.finditer(cases, source, re.DOTALL):
            text = _input(case[1].strip(), texts.get)
            words = re.findall(r'"[^"]+"|\b\w+\b', case[2])
            wanted = any(word.startswith('"') or word in texts for word in words)
            if text is not None:
                rule = str(path.parent.relative_to(folder)).partition("/")[0]
                yield Example("trufflehog", rule, wanted, text)


def _input(source: str, text_of: Callable[[str], str | None]) -> str | None:
    try:
        if source.startswith("fmt.Sprintf("):
            shape, *given = _parts(source[len("fmt.Sprintf(") : -1], ",")
            filled = [text_of(one) or one.strip('"`') for one in given]
            return _go_text(shape).replace("%q", '"%s"') % tuple(filled)
        return text_of(source) or _go_text(source)
    except (ValueError, TypeError):
        return None  # put together by code
