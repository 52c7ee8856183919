"""What `npm test` runs, taken apart: files of tests that run alone, and what else it does.

Only where nothing of it is in doubt: a file that was not seen to be one of tests would never be
chosen. So the tools' own rules count (nodejs.org, "Running tests from the command line";
mochajs.org, "The test directory"), and what is not read here runs as a whole.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.lazy_pattern import regex
from runner.plan.globs import glob_fault, matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PLAIN = regex(r"[\w ./:=@,*?{}'\"&+-]*", re.ASCII)
"""Of a script that is read here: no pipe, no variable, no second line."""
_SUFFIX = r"\.[cm]?js"
_DEFAULT = {
    "node --test": regex(
        rf"(?:\A|/)(?:[^/]*[._-]test|test-[^/]*|test){_SUFFIX}\Z|(?:\A|/)test/(?:.*/)?[^/]*{_SUFFIX}\Z"
    ),
    "mocha": regex(rf"\Atest/[^/]*{_SUFFIX}\Z"),
}
_TYPED = regex(r"(?:\A|/)(?:[^/]*[._-]test|test-[^/]*|test)\.[cm]?ts\Z|(?:\A|/)test/.*\.[cm]?ts\Z")
"""What newer versions of Node run as well."""
_AROUND = regex(r"\w+=[^&]*|cross-env|c8|nyc")
"""What may stand in front of the tool."""
_WITH_VALUE = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"}
    | {"--test-reporter", "--test-reporter-destination", "-R", "--reporter", "-t", "--timeout"}
    | {"-s", "--slow", "-u", "--ui", "-j", "--jobs", "--retries", "-C", "--conditions"}
)
_REFUSED = regex(
    r"--(?:watch|spec|file|extension|ignore|exclude|config|package|opts|grep|fgrep|invert"
    r"|test-(?:name-pattern|skip-pattern|only|shard)|eval|print)(?:=.*)?|-[wgfiep]"
)
"""Options by which other files or tests run than the rules say."""
_READ = regex(r"[\w./@+*?-]+")
_BRACES = regex(r"\{([\w.,]+)\}")
"""What is read of a pattern of a shell."""
_MOST_ALIASES = 4
"""How deep scripts call each other."""
_MOST_NAMED = 200
"""Words of a script that name files of tests."""
# As npm does for a script (docs.npmjs.com, npm run): the project's own tools come first.
_LOCAL = 'export PATH="$PWD/node_modules/.bin:$PATH"; '


@dataclass(frozen=True, slots=True)
class ScriptTests:
    """A script whose files of tests can be run alone."""

    tool: str
    """The command that takes files at its end."""
    files: tuple[str, ...]
    """Every file of tests that the script runs."""
    before: str = ""
    after: str = ""
    """What else the script does, before and after."""

    @property
    def rest(self) -> str:
        """What else it does, as it stands there; empty for nothing."""
        return " && ".join(filter(None, (self.before, self.after)))

    def join(self, names: Sequence[str]) -> str:
        """The command that runs these; `rest` may be among them."""
        files = [one for one in names if one != self.rest]
        words = f"{self.tool} {' '.join(map(shlex.quote, files))}" if files else ""
        after = self.after if self.rest in names else ""
        return _LOCAL + " && ".join(filter(None, (self.before, words, after)))


def read_script(
    name: str, paths: Sequence[str], read: Callable[[str], bytes | None]
) -> ScriptTests | None:
    """The tests of `npm test` with a tool, or of `node --test` where there is no script.

    None where they are not known to run alone. `name` is `node --test` or `mocha`.
    """
    package = _load(read("package.json"))
    if name not in _DEFAULT or package is None or _has_settings(name, package, paths):
        return None
    scripts = package.get("scripts")
    items = scripts.items() if isinstance(scripts, dict) else ()
    texts = {str(key): str(one) for key, one in items}
    text = texts.get("test", name)
    parts = _unfold(text, texts, name, set()) if _PLAIN.fullmatch(text) else None
    at = [n for n, part in enumerate(parts or ()) if _tool_at(part, name) is not None]
    if parts is None or len(at) != 1:
        return None
    found = _find_files(parts[at[0]], name, paths)
    if found is None:
        return None
    around = {one: [f"npm run --silent {one}"] if one in texts else [] for one in _HOOKS}
    before = (*around["pretest"], *parts[: at[0]])
    after = (*parts[at[0] + 1 :], *around["posttest"])
    return ScriptTests(*found, " && ".join(before), " && ".join(after))


_HOOKS = ("pretest", "posttest")


def _load(data: bytes | None) -> dict[str, object] | None:
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return None
    well = isinstance(found, dict) and isinstance(found.get("scripts") or {}, dict)
    return found if well else None


def _has_settings(name: str, package: dict[str, object], paths: Sequence[str]) -> bool:
    """Whether a tool's own settings may name other files."""
    files = [path for path in paths if "/" not in path and path.startswith(".mocharc")]
    return name == "mocha" and bool("mocha" in package or files or "test/mocha.opts" in paths)


def _unfold(
    text: str, scripts: dict[str, str], name: str, known: set[str], depth: int = 0
) -> list[str] | None:
    """The commands of a script; one that only calls another script stands for that one's.

    None for what is not read here, as a script with tests that is called twice.
    """
    found: list[str] = []
    for part in (one.strip() for one in text.split("&&")):
        called = re.fullmatch(r"npm (?:run|run-script) (?:--silent |-s )?([\w:.-]+)", part)
        inner = scripts.get(called[1], "") if called else ""
        # npm also runs what is called pre and post it, which would be lost here.
        hooked = called is not None and {f"pre{called[1]}", f"post{called[1]}"} & scripts.keys()
        if ("mocha" if name == "mocha" else "--test") not in inner:
            found.append(part)
            continue
        if hooked or inner in known or depth > _MOST_ALIASES or not _PLAIN.fullmatch(inner):
            return None
        known.add(inner)
        more = _unfold(inner, scripts, name, known, depth + 1)
        if more is None:
            return None
        found += more
    # One sign alone lets a command run behind the others: then nobody knows what ends when.
    return None if "&" in "".join(found) or not all(found) else found


def _tool_at(part: str, name: str) -> int | None:
    """Behind which word of a command the tool's own words begin."""
    try:
        words = shlex.split(part)
    except ValueError:
        return None
    program = name.partition(" ")[0]
    at = next((n for n, word in enumerate(words) if word == program), None)
    if at is None or not all(map(_AROUND.fullmatch, words[:at])):
        return None
    return None if program == "node" and "--test" not in words else at + 1


def _find_files(part: str, name: str, paths: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """The command without what it names, and the files of tests that it runs."""
    words = shlex.split(part)
    start = _tool_at(part, name) or 0
    kept, named = words[:start], []
    rest = iter(words[start:])
    for word in rest:
        if _REFUSED.fullmatch(word):
            return None
        if not word.startswith("-"):
            named.append(word)
            continue
        kept.append(word)
        if word in _WITH_VALUE:
            kept.append(next(rest, ""))
    if len(named) > _MOST_NAMED:
        return None
    below = "(?:.*/)?" if "--recursive" in kept else ""
    patterns = list(_patterns(named, name, below, paths))
    if None in patterns or (not named and name == "node --test" and any(map(_TYPED.search, paths))):
        return None
    every = [one for one in patterns if one is not None] or [_DEFAULT[name].search]
    # Neither Node's runner nor mocha looks into it by itself.
    own = [path for path in paths if "node_modules" not in path.split("/")]
    files = tuple(path for path in own if any(names(path) for names in every))
    return (shlex.join(kept), files) if files else None


def _patterns(
    named: Sequence[str], name: str, below: str, paths: Sequence[str]
) -> Iterator[Callable[[str], object] | None]:
    """What each word names, a folder with what lies `below` it; None for what is not read here."""
    for word in named:
        path = word.removeprefix("./").rstrip("/")
        if path in paths:
            yield path.__eq__
        elif any(one.startswith(f"{path}/") for one in paths):
            inside = rf"\A{re.escape(path)}/{below}[^/]*{_SUFFIX}\Z"
            yield re.compile(inside).search if name == "mocha" else None
        else:
            yield _glob(path)


def _glob(text: str) -> Callable[[str], object] | None:
    """What a pattern of a shell names, `**` and `{a,b}` in it; None for what is not read here."""
    globs = [f"/{text}"]
    while (braces := _BRACES.search(globs[0])) and len(globs) < _MOST_NAMED:
        words = braces[1].split(",")
        globs = [one.replace(braces[0], word, 1) for one in globs for word in words]
    if len(globs) > _MOST_NAMED or not all(map(_READ.fullmatch, globs)):
        return None
    if any(map(glob_fault, globs)):
        return None
    return lambda path: any(matches(one, path) for one in globs)
