"""Completion scripts for bash, zsh and fish: commands, flags and ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Flag(NamedTuple):
    """One option of a command."""

    name: str
    help: str
    takes: str = ""
    """Kind of its value: `id`, `file`, `value`, or empty."""
    choices: tuple[str, ...] = ()


class KnownCommand(NamedTuple):
    """One command, as a shell must know it; `pipeline sast-log` is one of its own."""

    name: str
    summary: str
    flags: tuple[Flag, ...]
    words: str = ""
    """Kind of its positional arguments: `id`, `file`, `value`, or empty."""
    choices: tuple[str, ...] = ()


def _above(commands: Sequence[KnownCommand]) -> list[KnownCommand]:
    return [one for one in commands if " " not in one.name]


def _below(commands: Sequence[KnownCommand]) -> list[KnownCommand]:
    return [one for one in commands if " " in one.name]


def _bash(commands: Sequence[KnownCommand]) -> Iterator[str]:
    """Yield a completion function for `complete -F` (bash, Programmable Completion)."""
    yield "# runner help completion bash: source this"
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
    yield '  while ((++index < COMP_CWORD)); do case "$command ${COMP_WORDS[index]}" in'
    yield f'    {"|".join(map(_pattern, _below(commands)))}) command+=" ${{COMP_WORDS[index]}}" ;;'
    yield "    *) break ;;"
    yield "  esac; done"
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
    yield '_runner_ids() { "${COMP_WORDS[0]}" help completion ids 2>/dev/null; }'
    # With `filenames` bash appends a slash to a folder and escapes blanks (bash(1), complete).
    yield "complete -o filenames -F _runner runner"


def _bash_values(commands: Sequence[KnownCommand]) -> Iterator[str]:
    """Yield the completions for flags that take a value."""
    for one in commands:
        for flag in one.flags:
            if not flag.takes:
                continue
            choices = " ".join(flag.choices)
            reply = {"id": '-W "$(_runner_ids)"', "file": "-f"}.get(flag.takes, f"-W '{choices}'")
            place = f"{_pattern(one)}:{flag.name}"
            yield f'    {place}) COMPREPLY=($(compgen {reply} -- "$cur")); return ;;'


def _pattern(one: KnownCommand) -> str:
    """Return a command's name as a pattern for `case`."""
    return f"'{one.name}'" if " " in one.name else one.name


def _zsh(commands: Sequence[KnownCommand]) -> Iterator[str]:
    """Yield a completion function for `compdef` with `_arguments` (zshcompsys(1))."""
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
    yield '  while ((CURRENT > 2)); do case "$command $words[2]" in'
    below = "|".join(map(_pattern, _below(commands)))
    yield f'    {below}) command+=" $words[2]"; shift words; ((CURRENT--)) ;;'
    yield "    *) break ;;"
    yield "  esac; done"
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
    yield '  ids=(${(f)"$(runner help completion ids 2>/dev/null)"})'
    yield "  compadd -a ids"
    yield "}"
    yield 'if [[ $funcstack[1] == _runner ]]; then _runner "$@"; else compdef _runner runner; fi'


def _zsh_flag(flag: Flag) -> str:
    # In a spec of `_arguments` brackets enclose the description and a colon starts the next part
    # (zshcompsys(1)).
    help_ = flag.help.replace("[", "(").replace("]", ")").replace(":", "")
    value = ""
    if flag.takes:
        value = f":{flag.takes}:{_zsh_action(flag.takes, flag.choices)}"
    # The star allows repeating it (zshcompsys(1), `_arguments`).
    return _quote(f"*{flag.name}[{help_}]{value}")


def _zsh_words(one: KnownCommand) -> str:
    if not one.words:
        return "&& return"
    return _quote(f"*:{one.words}:{_zsh_action(one.words, one.choices)}")


def _zsh_action(takes: str, choices: Sequence[str]) -> str:
    if choices:
        return f"({' '.join(choices)})"
    return {"id": "_runner_ids", "file": "_files"}.get(takes, " ")


def _fish(commands: Sequence[KnownCommand]) -> Iterator[str]:
    """Yield `complete` lines (fish's manual, Writing your own completions)."""
    names = " ".join(one.name for one in _above(commands))
    first = f"not __fish_seen_subcommand_from {names}"
    yield "complete -c runner -f"
    yield "function __runner_ids; runner help completion ids 2>/dev/null; end"
    for one in _above(commands):
        yield f"complete -c runner -n '{first}' -a {one.name} -d {_quote(one.summary)}"
    yield f"complete -c runner -n '{first}' -a '(__runner_ids)'"
    for one in commands:
        seen = [f"__fish_seen_subcommand_from {word}" for word in one.name.split()]
        here = "; and ".join(seen)
        apart = [
            two.name.removeprefix(f"{one.name} ").split()[0]
            for two in _below(commands)
            if two.name.startswith(f"{one.name} ")
        ]
        # Distinguish `pipeline staged-write show` from `show`.
        apart += [
            two.name.split()[0] for two in _below(commands) if one.name in two.name.split()[1:]
        ]
        if apart:
            here += f"; and not __fish_seen_subcommand_from {' '.join(dict.fromkeys(apart))}"
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
    """Quote a text in single quotes for all three shells."""
    return "'" + text.replace("\\", "").replace("'", "") + "'"


SCRIPTS: dict[str, Callable[[Sequence[KnownCommand]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
"""Lines of a script, by shell name."""
