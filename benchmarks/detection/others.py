"""The secret scan over the examples of four other scanners: recall by rule, and false positives.

    python benchmarks/detection/others.py FOLDER             the tables
    python benchmarks/detection/others.py FOLDER --half a    one half alone
    python benchmarks/detection/others.py FOLDER --show gitleaks

FOLDER holds clones named gitleaks, trufflehog, CredSweeper and noseyparker. The halves are by a
hash of the sample's text: half a may be looked at while the scan is mended, half b may not.

What is left out is decided by what the tools say themselves and by the lists of names below, never
by the outcome. Of the examples of secrets: those of rules that name no credential. Of the declared
false positives, in addition: those that the tool exempts by listing their value, and those in which
another rule of the same tool finds a credential, since the tool as a whole reports them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import statistics
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import re2

from examples import Example, examples, gitleaks_rules, noseyparker_rules
from runner.secrets.entropy import shannon
from runner.secrets.scan import scan_content

NO_CREDENTIAL = {
    "gitleaks": {
        r"client-id$|-access-id$|alibaba-access-key-id|user-api-id": "ids",
        r"pub-key$|public-key$|lob-pub": "public keys",
    },
    "noseyparker": {},
    "trufflehog": {},
    "CredSweeper": {
        r"^UUID$|Client ID$|App ID$|Access Key ID$": "ids",
        r"S3 Bucket|Firebase Domain": "places",
        r"^Salt$|^Nonce$": "numbers that are no secret",
        r"^PEM Private Key$": "its samples are single lines out of a key",
    },
}
"""Names of rules that find something else than a credential, and what that is. noseyparker says it
itself: a rule of which it does not say `secret` is left out."""


def half(text: str) -> str:
    return "ab"[hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[0] % 2]


def why_left_out(one: Example, folder: Path) -> str:
    """Why a sample does not count; empty where it does."""
    if not one.text.strip():
        return "empty"
    if one.tool == "noseyparker" and "secret" not in one.kinds:
        return "its categories do not say secret"
    for names, why in NO_CREDENTIAL[one.tool].items():
        if re.search(names, one.rule):
            return why
    if one.real:
        return ""
    if one.tool == "gitleaks" and any(value in one.text for value in _listed(folder, one.rule)):
        return "exempted by its value"
    rules = {"gitleaks": _gitleaks_finds, "noseyparker": _noseyparker_finds}.get(one.tool)
    return "a credential by another rule of the tool" if rules and rules(folder, one) else ""


# --- what the other tools say of a text ----------------------------------------------


@cache
def _listed(folder: Path, rule: str) -> tuple[str, ...]:
    """Values that a rule exempts one by one: plain texts in its allow lists."""
    (row,) = [row for row in _gitleaks(folder)["rules"] if row["id"] == rule] or [{}]
    found = [one for lists in row.get("allowlists", ()) for one in lists.get("regexes", ())]
    return tuple(one for one in found if re.fullmatch(r"[\w-]{12,}", one))


@cache
def _gitleaks(folder: Path) -> dict:
    return tomllib.loads((folder / "gitleaks/config/gitleaks.toml").read_text())


@cache
def _expression(text: str) -> object:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(text, options)


def _gitleaks_finds(folder: Path, one: Example) -> bool:
    rules = [row for row in _gitleaks(folder)["rules"] if row["id"] != one.rule]
    return any(_reports(row, one.text) for row in rules if "regex" in row)


def _reports(rule: dict, text: str) -> bool:
    """Whether a rule of gitleaks' configuration reports a text, as its README says rules work."""
    lowered = text.lower()
    if rule.get("keywords") and not any(word.lower() in lowered for word in rule["keywords"]):
        return False
    if "path" in rule:
        return False  # the samples have no path of theirs
    for match in _expression(rule["regex"]).finditer(text):
        groups = [group for group in match.groups() if group]
        secret = match[rule["secretGroup"]] if "secretGroup" in rule else (groups or [match[0]])[0]
        if shannon(secret or "") > rule.get("entropy", 0) and not any(
            _allows(lists, secret, match[0], text) for lists in rule.get("allowlists", ())
        ):
            return True
    return False


def _allows(lists: dict, secret: str, match: str, text: str) -> bool:
    target = {"match": match, "line": text}.get(lists.get("regexTarget", ""), secret)
    return any(word in secret.lower() for word in lists.get("stopwords", ())) or any(
        _expression(one).search(target) for one in lists.get("regexes", ())
    )


def _noseyparker_finds(folder: Path, one: Example) -> bool:
    return any(
        expression.search(one.text)
        for rule, expression in _noseyparker(folder / "noseyparker")
        if rule != one.rule
    )


@cache
def _noseyparker(root: Path) -> tuple[tuple[str, re.Pattern[str]], ...]:
    found = []
    for rule in noseyparker_rules(root):
        flags, text = re.match(
            r"\s*((?:\(\?[a-z]+\)\s*)*)(.*)", rule["pattern"], re.DOTALL
        ).groups()
        options = re.VERBOSE * ("x" in flags) | re.IGNORECASE * ("i" in flags)
        try:
            if "secret" in (rule.get("categories") or ()):
                found.append((rule["id"], re.compile(text.replace(r"\z", r"\Z"), options)))
        except re.error:
            continue  # Rust's alone
    return tuple(found)


# --- tables --------------------------------------------------------------------------


def refused(one: Example) -> bool:
    found = scan_content(one.text.encode("utf-8", "surrogatepass"), one.path)
    return any(told.refuses and "file's name" not in told.message for told in found)


def _recall(rows: list[Example]) -> str:
    rules: dict[str, list[bool]] = defaultdict(list)
    for one in rows:
        rules[one.rule].append(refused(one))
    return f"{100 * statistics.mean(map(statistics.mean, rules.values())):.1f} %"


def _share(rows: list[Example]) -> str:
    told = sum(map(refused, rows))
    return f"{told} of {len(rows)} ({100 * told / max(1, len(rows)):.1f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("a", "b"), help="one half alone")
    parser.add_argument("--show", help="this tool's samples that are not as they should be")
    given = parser.parse_args()
    out: Counter[tuple[str, bool, str]] = Counter()
    kept: dict[tuple[str, bool], list[Example]] = defaultdict(list)
    for one in dict.fromkeys(examples(given.folder)):
        why = why_left_out(one, given.folder)
        if given.half in (None, half(one.text)):
            out[one.tool, one.real, why] += 1
            if not why:
                kept[one.tool, one.real].append(one)
    if given.show:
        _show(kept, given.show)
    else:
        _tables(kept, out)
        _silent(given.folder)


def _show(kept: dict[tuple[str, bool], list[Example]], tool: str) -> None:
    for real in (True, False):
        for one in kept.get((tool, real), ()):
            if refused(one) != real:
                print(f"{'missed' if real else 'false'} {one.rule}: {one.text.strip()[:300]!r}")


def _tables(
    kept: dict[tuple[str, bool], list[Example]], out: Counter[tuple[str, bool, str]]
) -> None:
    for real, measure in ((True, _recall), (False, _share)):
        print("\n| tool | rules | samples | refused | half a | half b | left out |")
        print("|---|---|---|---|---|---|---|")
        for tool in sorted({tool for tool, kind in kept if kind is real}):
            rows = kept[tool, real]
            parts = [[one for one in rows if half(one.text) == name] for name in "ab"]
            cells = [measure(part) if part else "-" for part in (rows, *parts)]
            left = [
                f"{n} {why}"
                for (t, k, why), n in sorted(out.items())
                if why and (t, k) == (tool, real)
            ]
            rules = len({one.rule for one in rows})
            print(f"| {tool} | {rules} | {len(rows)} | {' | '.join(cells)} | {', '.join(left)} |")


def _silent(folder: Path) -> None:
    """The rules of which no example could be read."""
    read = {one.rule for one in examples(folder) if one.tool == "gitleaks"}
    missing = sorted({rule for rule, _ in gitleaks_rules(folder / "gitleaks")} - read)
    print(
        f"\nrules of gitleaks without an example that could be read: {', '.join(missing) or 'none'}"
    )


if __name__ == "__main__":
    main()
