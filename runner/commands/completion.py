"""`runner completion SHELL`: a script that completes commands, flags and ids in a person's shell.

The script knows commands and flags by itself; it asks the runner for ids alone, with `runner
completion ids`, which looks at the plan's headings and nothing else.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from runner.commands.catalogue import TABLE
from runner.errors import ExitCode, RunnerError
from runner.lazy_module import lazy_module
from runner.model import Status
from runner.plan.task_ids import heading_of
from runner.repo.head import PLANS, find_project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence
else:
    argparse = lazy_module("argparse")

_EXAMPLES = """\
examples:
  source <(runner completion bash)                  in ~/.bashrc
  source <(runner completion zsh)                   in ~/.zshrc, after compinit
  runner completion fish > ~/.config/fish/completions/runner.fish
"""
IDS = "ids"
_HEADING_OR_FENCE = re.compile(
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,}).*\n(?s:.*?)^ {0,3}(?P=fence)[`~]*[ \t]*$"
    r"|#{2,6}[ \t]+(?P<text>.*))",
    re.MULTILINE,
)
"""A fenced block whole, so that nothing in it is taken for a heading; else a heading."""
_GLANCE = 200
"""Letters below a heading in which its Status is looked for."""
_FILES = {"FILE", "PATH"}
_STATUSES = tuple(status.lower() for status in Status)
"""What stands for STATUS, which is read in any case."""


class _Shells(tuple[str, ...]):
    """The shells a person may name; what their scripts ask for is taken, and not offered."""

    __slots__ = ()

    def __contains__(self, named: object) -> bool:
        return named == IDS or super().__contains__(named)


class Flag(NamedTuple):
    """One option of a command."""

    name: str
    help: str
    takes: str = ""
    """`id`, `file`, `value`, or nothing."""
    choices: tuple[str, ...] = ()


class Known(NamedTuple):
    """One command, as a shell must know it; `staged-write stage` is one of its own."""

    name: str
    summary: str
    flags: tuple[Flag, ...]
    words: str = ""
    """What stands without a flag: `id`, `file`, `value`, or nothing."""
    choices: tuple[str, ...] = ()


def arguments(parser: argparse.ArgumentParser, name: str) -> None:
    """What `runner completion` takes."""
    del name
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "shell", choices=_Shells(_SCRIPTS), metavar="SHELL", help="bash, zsh or fish"
    )


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Print the script, or the ids of the plan that is here."""
    if given.shell == IDS:
        sys.stdout.write("".join(f"{id_}\n" for id_ in _ids(environ)))
    else:
        sys.stdout.write("\n".join(_SCRIPTS[given.shell](_commands())) + "\n")
    return ExitCode.OK


def _ids(environ: Mapping[str, str]) -> list[str]:
    """The ids of the plan's headings; none where there is no plan: a shell shows no mistakes here.

    A glance at the headings, not a reading of the plan: a person who presses a key waits for it.
    """
    try:
        root = find_project(Path.cwd())
        named = environ.get("RUNNER_TASK_GRAPH") or next(
            path for path in PLANS if (root / path).is_file()
        )
        text = (root / named).read_text("utf-8", "replace")
    except (RunnerError, OSError):
        return []
    ids: dict[str, None] = {}
    for match in _HEADING_OR_FENCE.finditer(text):
        heading = heading_of(match["text"]) if match["text"] else None
        if heading is None or not heading.separated:
            continue
        below = text[match.end() : match.end() + _GLANCE].lower()
        if heading.certain or "status" in below.partition("\n#")[0]:
            ids[heading.id] = None
    return list(ids)


def _commands() -> list[Known]:
    """Every command with what its own parser takes."""
    return [
        one for entry in TABLE for one in _list_commands(entry.name, entry.module, entry.summary)
    ]


def _list_commands(name: str, module: str, summary: str) -> Iterator[Known]:
    """A command, then those below it."""
    parser = argparse.ArgumentParser(prog=f"runner {name}")
    import_module(f"runner.commands.{module}").arguments(parser, name)
    yield _describe_command(name, summary, parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of its options
        below = action.choices.items() if isinstance(action.choices, dict) else ()
        yield from (_describe_command(f"{name} {word}", "", one) for word, one in below)


def _describe_command(name: str, summary: str, parser: argparse.ArgumentParser) -> Known:
    """What a parser takes itself."""
    flags: dict[str, Flag] = {}
    words, choices = "", tuple[str, ...]()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of its options
        takes = "" if action.nargs == 0 else _takes(action)
        chosen = tuple(map(str, action.choices or ()))
        chosen = chosen or (_STATUSES if action.metavar == "STATUS" else ())
        if not action.option_strings:
            words, choices = words or takes, choices or chosen
        said = (action.help or "").replace("%%", "%")
        flags.update((one, Flag(one, said, takes, chosen)) for one in action.option_strings)
    return Known(name, summary, tuple(flags.values()), words, choices)


def _takes(action: argparse.Action) -> str:
    metavar = str(action.metavar or "").rstrip("…")
    return "id" if metavar == "ID" else "file" if metavar in _FILES else "value"


def _above(commands: Sequence[Known]) -> list[Known]:
    return [one for one in commands if " " not in one.name]


def _below(commands: Sequence[Known]) -> list[Known]:
    return [one for one in commands if " " in one.name]


# --- bash -----------------------------------------------------------------------------


def _bash(commands: Sequence[Known]) -> Iterator[str]:
    """A function for `complete -F` (bash manual, Programmable Completion)."""
    yield "# runner completion bash: source this"
    yield "_runner() {"
    yield "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"
    yield "  local command=run word flags= words=none choices= index"
    yield "  for ((index = 1; index < COMP_CWORD; index++)); do"
    yield "    word=${COMP_WORDS[index]}"
    yield "    case $word in"
    yield f"      {'|'.join(one.name for one in _above(commands))}) command=$word; break ;;"
    yield "      -*) ;;"
    yield "      *) break ;;"
    yield "    esac"
    yield "  done"
    yield '  ((++index < COMP_CWORD)) && case "$command ${COMP_WORDS[index]}" in'
    yield f'    {"|".join(map(_pattern, _below(commands)))}) command+=" ${{COMP_WORDS[index]}}" ;;'
    yield "  esac"
    yield "  case $command:$prev in"
    yield from _bash_values(commands)
    yield "  esac"
    yield "  case $command in"
    for one in commands:
        flags = " ".join(flag.name for flag in one.flags)
        words = f" words={one.words}" if one.words else ""
        choices = f" choices='{' '.join(one.choices)}'" if one.choices else ""
        yield f"    {_pattern(one)}) flags='{flags}'{words}{choices} ;;"
    yield "  esac"
    names = " ".join(one.name for one in _above(commands))
    yield '  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur"))'
    yield "  elif ((COMP_CWORD == 1)); then"
    yield f"    COMPREPLY=($(compgen -W '{names}' -- \"$cur\"))"
    yield '    [[ $cur ]] && COMPREPLY+=($(compgen -W "$(_runner_ids)" -- "$cur"))'
    yield '  elif [[ $choices ]]; then COMPREPLY=($(compgen -W "$choices" -- "$cur"))'
    yield '  elif [[ $words == id ]]; then COMPREPLY=($(compgen -W "$(_runner_ids)" -- "$cur"))'
    yield '  elif [[ $words == file ]]; then COMPREPLY=($(compgen -f -- "$cur"))'
    yield "  fi"
    yield "}"
    yield f'_runner_ids() {{ "${{COMP_WORDS[0]}}" completion {IDS} 2>/dev/null; }}'
    yield "complete -o filenames -F _runner runner"


def _bash_values(commands: Sequence[Known]) -> Iterator[str]:
    """What follows a flag that takes a value."""
    for one in commands:
        for flag in one.flags:
            if not flag.takes:
                continue
            choices = " ".join(flag.choices)
            reply = {"id": '-W "$(_runner_ids)"', "file": "-f"}.get(flag.takes, f"-W '{choices}'")
            place = f"{_pattern(one)}:{flag.name}"
            yield f'    {place}) COMPREPLY=($(compgen {reply} -- "$cur")); return ;;'


def _pattern(one: Known) -> str:
    """A command's name as a pattern of `case`."""
    return f"'{one.name}'" if " " in one.name else one.name


# --- zsh ------------------------------------------------------------------------------


def _zsh(commands: Sequence[Known]) -> Iterator[str]:
    """A function for `compdef`, with `_arguments` (zshcompsys(1))."""
    yield "#compdef runner"
    yield "_runner() {"
    yield "  local -a commands"
    yield "  commands=("
    yield from (f"    {_quote(one.name + ':' + one.summary)}" for one in _above(commands))
    yield "  )"
    yield "  if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then"
    yield "    _describe command commands"
    yield "    _runner_ids"
    yield "    return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  if ((${commands[(I)$command:*]})); then shift words; ((CURRENT--))"
    yield "  else command=run; fi"
    yield '  ((CURRENT > 2)) && case "$command $words[2]" in'
    below = "|".join(map(_pattern, _below(commands)))
    yield f'    {below}) command+=" $words[2]"; shift words; ((CURRENT--)) ;;'
    yield "  esac"
    yield "  case $command in"
    for one in commands:
        yield f"    {_pattern(one)})"
        yield "      _arguments -s \\"
        yield from (f"        {_zsh_flag(flag)} \\" for flag in one.flags)
        yield f"        {_zsh_words(one)} ;;"
    yield "  esac"
    yield "}"
    yield "_runner_ids() {"
    yield "  local -a ids"
    yield f'  ids=(${{(f)"$(runner completion {IDS} 2>/dev/null)"}})'
    yield "  compadd -a ids"
    yield "}"
    yield 'if [[ $funcstack[1] == _runner ]]; then _runner "$@"; else compdef _runner runner; fi'


def _zsh_flag(flag: Flag) -> str:
    said = flag.help.replace("[", "(").replace("]", ")").replace(":", "")
    value = ""
    if flag.takes:
        value = f":{flag.takes}:{_zsh_action(flag.takes, flag.choices)}"
    return _quote(f"*{flag.name}[{said}]{value}")


def _zsh_words(one: Known) -> str:
    if not one.words:
        return "&& return"
    return _quote(f"*:{one.words}:{_zsh_action(one.words, one.choices)}")


def _zsh_action(takes: str, choices: Sequence[str]) -> str:
    if choices:
        return f"({' '.join(choices)})"
    return {"id": "_runner_ids", "file": "_files"}.get(takes, " ")


# --- fish -----------------------------------------------------------------------------


def _fish(commands: Sequence[Known]) -> Iterator[str]:
    """`complete` lines (fish's manual, Writing your own completions)."""
    names = " ".join(one.name for one in _above(commands))
    first = f"not __fish_seen_subcommand_from {names}"
    yield "complete -c runner -f"
    yield f"function __runner_ids; runner completion {IDS} 2>/dev/null; end"
    for one in _above(commands):
        yield f"complete -c runner -n '{first}' -a {one.name} -d {_quote(one.summary)}"
    yield f"complete -c runner -n '{first}' -a '(__runner_ids)'"
    for one in commands:
        seen = [f"__fish_seen_subcommand_from {word}" for word in one.name.split()]
        here = "; and ".join(seen)
        if below := [
            two.name.split()[1] for two in commands if two.name.startswith(one.name + " ")
        ]:
            here += f"; and not __fish_seen_subcommand_from {' '.join(below)}"
        shown = f"{here}; or {first}" if one.name == "run" else here
        yield from (_fish_flag(shown, flag) for flag in one.flags)
        action = _fish_action(one.words, one.choices)
        if action:
            yield f"complete -c runner -n '{here}' {action}"


def _fish_flag(condition: str, flag: Flag) -> str:
    name = f"-l {flag.name[2:]}" if flag.name.startswith("--") else f"-s {flag.name[1:]}"
    value = f" -r {_fish_action(flag.takes, flag.choices)}".rstrip() if flag.takes else ""
    value = value.replace(" -r -a", " -x -a")  # x: these alone, no files beside them
    return f"complete -c runner -n '{condition}' {name}{value} -d {_quote(flag.help)}"


def _fish_action(takes: str, choices: Sequence[str]) -> str:
    if choices:
        return f"-a '{' '.join(choices)}'"
    return {"id": "-a '(__runner_ids)'", "file": "-F"}.get(takes, "")


def _quote(text: str) -> str:
    """In single quotes, as all three shells read them."""
    return "'" + text.replace("\\", "").replace("'", "") + "'"


_SCRIPTS: dict[str, Callable[[Sequence[Known]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
