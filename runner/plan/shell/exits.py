"""How a shell line may end where one of its commands fails: a run in thought, without effects.

Every other command may succeed or fail; `true`, `exit 1`, `test $? -eq 0`, `set -e`, `wait $!` and
their like are what they are. Shell Command Language of POSIX.1-2017, and pipefail.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from runner.plan.shell.flags import (
    assign,
    count,
    judge_arithmetic,
    judge_exit,
    judge_test,
    may_fit,
    texts_of,
)
from runner.plan.shell.programs import exit_of_failed_tests, line_inside
from runner.plan.shell.shell_nodes import (
    Case,
    Function,
    Group,
    If,
    Loop,
    Script,
    Simple,
    everything_in,
    simples,
)
from runner.plan.shell.states import (
    Said,
    State,
    exit_on_failure,
    final,
    negate,
    set_options,
    set_trap,
    those,
)
from runner.plan.shell.syntax import ShellSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.plan.shell.shell_nodes import AndOr, Node, Pipeline

_MOST = 100
"""States that are followed at once; what has more is not judged."""
_MOST_STEPS = 20_000
"""Of all that is judged of one line: whatever it holds, it is read in no time."""
_ROUNDS = 3
"""Of a loop, and of calls within calls."""
_NOTHING = frozenset({"true", ":", "echo", "printf", "unset", "shift"})
_ASSIGNS = frozenset({"export", "local", "declare", "typeset", "readonly"})
_ASKS = frozenset({"test", "[", "[["})
_VARIABLE = re.compile(r"\$\{?(\?|!|[A-Za-z_]\w*)")


class Steps:
    """The steps that are left for one line, with the shells that it starts."""

    def __init__(self) -> None:
        self._left = _MOST_STEPS

    def take(self, many: int) -> None:
        """Raises ShellSyntaxError where there are no more."""
        self._left -= many
        if self._left < 0:
            raise ShellSyntaxError("too many steps")


def may_end_well(script: Script, failing: Simple, options: str, steps: Steps) -> bool:
    """Whether a script may end with 0 although this command of it ran and failed, or never ran.

    Raises ShellSyntaxError where that cannot be told: nobody is blamed for a line that is not
    understood.
    """
    strict = bool(re.search(r"(?:^|\s)-[a-z]*e", options))
    start = State(errexit=strict, pipefail="pipefail" in options)
    steps.take(sum(1 for _ in simples(script)))
    thought = _Thought(failing, steps)
    thought.every = {
        one.name: one.body for one in everything_in(script) if isinstance(one, Function)
    }
    ends = thought.script(script, {start}, guarded=False)
    never = not any(end.ran for end in ends) and not _may_call(script)
    return any((end.ran or never) and final(end) is not Said.FAILED for end in ends)


def _may_call(script: Script) -> bool:
    """Whether functions may be called in ways that are not followed: by `time`, a trap, `"$@"`."""
    named = {one.name for one in everything_in(script) if isinstance(one, Function)}
    called = [one.values for one in simples(script) if one.words] if named else []
    words = {word for _, *rest in called for one in rest for word in re.findall(r"[\w.-]+", one)}
    return bool(named & words) or any(first.startswith("$") for first, *_ in called)


class _Thought:
    """One run in thought. Sets of states go in and come out; what jumped is passed on."""

    def __init__(self, failing: Simple, steps: Steps) -> None:
        self.failing = failing
        self.functions: dict[str, Node] = {}
        self.every: dict[str, Node] = {}
        """Those that are defined anywhere: a trap calls them at the end."""
        self.own_variables: list[str] = []
        """Of the `for` loops around: a command that names one is another one each time."""
        self.calls = 0
        self.traps = 0
        """Whose action this is."""
        self.steps = steps

    # --- lists ------------------------------------------------------------------------

    def script(self, script: Script, states: set[State], *, guarded: bool) -> set[State]:
        found = states
        for item in script.items:
            found = self.each(found, partial(self.item, item, guarded=guarded))
        return found

    def each(self, states: set[State], go_on: Callable[[set[State]], set[State]]) -> set[State]:
        """Go on with those that have not jumped."""
        going = {one for one in states if not one.jump}
        found = (states - going) | (go_on(going) if going else set())
        if len(found) > _MOST:
            raise ShellSyntaxError("too many ways to end")
        return found

    def item(self, item: AndOr, states: set[State], *, guarded: bool) -> set[State]:
        if item.ended != "&":
            return self.and_or(item, states, guarded=guarded)
        # What is put into the background has said 0 whatever becomes of it (POSIX, 2.9.3
        # Asynchronous Lists).
        inside = self.and_or(item, states, guarded=guarded)
        lost = {one for one in inside if one.ran and not any(s.ran for s in states)}
        return {
            state._replace(said=Said.OK, ran=state.ran or bool(lost), behind=bool(lost))
            for state in states
        }

    def and_or(self, item: AndOr, states: set[State], *, guarded: bool) -> set[State]:
        found = states
        last = len(item.parts) - 1
        for at, (operator, pipeline) in enumerate(item.parts):
            # `set -e` passes over all but the last of such a list, over conditions and what `!`
            # stands before (POSIX, set).
            here = guarded or at != last
            if not operator:
                found = self.each(found, partial(self.pipeline, pipeline, guarded=here))
                continue
            wanted = Said.OK if operator == "&&" else Said.FAILED
            taken = {one for one in found if not one.jump and one.said in (wanted, Said.EITHER)}
            # a state that may be either goes both ways
            kept = {one for one in found if one.jump or one.said is not wanted}
            other = Said.FAILED if wanted is Said.OK else Said.OK
            kept = {
                one._replace(said=other) if one.said is Said.EITHER and not one.jump else one
                for one in kept
            }
            taken = {one._replace(said=wanted) if one.said is Said.EITHER else one for one in taken}
            found = kept | (self.pipeline(pipeline, taken, guarded=here) if taken else set())
        return found

    def pipeline(self, pipeline: Pipeline, states: set[State], *, guarded: bool) -> set[State]:
        guarded = guarded or pipeline.negated
        if len(pipeline.parts) == 1:
            found = self.node(pipeline.parts[0], states, guarded=guarded)
            if isinstance(pipeline.parts[0], Simple):
                found = {one._replace(piped=frozenset()) for one in found}
        else:
            found = {end for state in states for end in self.join(pipeline, state, guarded=guarded)}
        return {negate(one) for one in found} if pipeline.negated else found

    def join(self, pipeline: Pipeline, state: State, *, guarded: bool) -> Iterable[State]:
        """Each part is a shell of its own; the last one's exit is that of all."""
        every = [self.own_shell(part, state, guarded=guarded) for part in pipeline.parts]
        failed = frozenset(
            str(at)
            for at, ends in enumerate(every)
            if any(end.ran for end in ends)
            and all(end.said is Said.FAILED for end in ends if end.ran)
        )
        before = any(end.ran for ends in every[:-1] for end in ends)
        lost = state.pipefail and bool(failed - {str(len(every) - 1)})
        code = next((end.code for ends in every for end in ends if end.code), state.code)
        for end in every[-1]:
            ended = state._replace(
                said=Said.FAILED if lost else end.said,
                ran=state.ran or before or end.ran,
                piped=failed if before or end.ran else frozenset(),
                code=code,
            )
            exits = ended.said is Said.FAILED and ended.errexit and not guarded
            yield ended._replace(jump="exit") if exits else ended

    def own_shell(self, node: Node, state: State, *, guarded: bool) -> set[State]:
        """What happens in a shell of its own: only its exit is known outside."""
        inside = self.node(node, {state}, guarded=guarded)
        return {
            state._replace(said=final(end), ran=end.ran, behind=end.behind, code=end.code)
            for end in inside
        }

    # --- commands ---------------------------------------------------------------------

    def node(self, node: Node, states: set[State], *, guarded: bool) -> set[State]:
        self.steps.take(len(states))
        match node:
            case Simple():
                return {
                    end for state in states for end in self.simple(node, state, guarded=guarded)
                }
            case Group(subshell=True):
                found = {
                    one
                    for state in states
                    for one in self.own_shell(
                        Group(node.body, subshell=False), state, guarded=guarded
                    )
                }
                return {exit_on_failure(one, guarded=guarded) for one in found}
            case Group():
                return self.script(node.body, states, guarded=guarded)
            case If():
                return self.condition(node, states, guarded=guarded)
            case Loop():
                return self.loop(node, states, guarded=guarded)
            case Case():
                states = self.after(node.substituted, states)
                every = (self.case(node, one, guarded=guarded) for one in states)
                return {end for ends in every for end in ends}
            case Function():
                self.functions[node.name] = node.body
                return {one._replace(said=Said.OK) for one in states}

    def condition(self, node: If, states: set[State], *, guarded: bool) -> set[State]:
        found: set[State] = set()
        asking = states
        for asked, body in node.branches:
            ends = self.script(asked, asking, guarded=True)
            found |= {one for one in ends if one.jump}
            then = those(ends, Said.OK)
            found |= self.each(then, partial(self.script, body, guarded=guarded))
            asking = those(ends, Said.FAILED)
        if node.otherwise:
            rest = node.otherwise
            return found | self.each(asking, partial(self.script, rest, guarded=guarded))
        return found | {one._replace(said=Said.OK) for one in asking}

    def case(self, node: Case, state: State, *, guarded: bool) -> set[State]:
        found: set[State] = set()
        texts = texts_of(node.subject.value, state) if node.subject else None
        for patterns, body in zip(node.patterns, node.bodies, strict=True):
            fits = {may_fit(one, texts) for one in patterns}
            if fits != {False}:
                empty = {state._replace(said=Said.OK)}
                found |= self.script(body, {state}, guarded=guarded) if body.items else empty
            if True in fits:
                return found
        # Where no pattern fits, a `case` ends with 0 (POSIX, 2.9.4 Case Conditional Construct).
        return found | {state._replace(said=Said.OK)}

    def loop(self, node: Loop, states: set[State], *, guarded: bool) -> set[State]:
        if node.variable:
            self.own_variables.append(node.variable)
        states = self.after(node.substituted, states)
        found = {one._replace(said=Said.OK) for one in states} if node.variable else set()
        going = states
        for _ in range(_ROUNDS):
            if node.condition is not None:
                asked = self.script(node.condition, going, guarded=True)
                found |= {one for one in asked if one.jump}
                ended = Said.FAILED if node.word == "while" else Said.OK
                found |= {one._replace(said=Said.OK) for one in those(asked, ended)}
                going = those(asked, Said.OK if node.word == "while" else Said.FAILED)
            going = self.each(going, partial(self.script, node.body, guarded=guarded))
            found |= {one for one in going if one.jump in ("exit", "return")}
            found |= {one._replace(jump="") for one in going if one.jump == "break"}
            going = {one._replace(jump="") for one in going if one.jump in ("", "continue")}
            if node.variable:
                found |= going
        if node.variable:
            self.own_variables.pop()
        return found

    def simple(self, node: Simple, state: State, *, guarded: bool) -> Iterable[State]:
        state, substituted = self.substitute(node.substituted, state)
        name = node.words[0].value if node.words else ""
        if node is self.failing and name not in self.functions:
            yield exit_on_failure(self.fails(node, state), guarded=guarded)
            return
        if not node.words:
            yield exit_on_failure(_assign(node, state, substituted), guarded=guarded)
            return
        words = tuple(word.value for word in node.words[1:])
        if name in self.functions and self.calls < _ROUNDS:
            self.calls += 1
            inside = self.node(self.functions[name], {state}, guarded=guarded)
            self.calls -= 1
            yield from (e._replace(jump="") if e.jump == "return" else e for e in inside)
            return
        if name == "trap":
            yield self.trap(node, state)
            return
        if name in _ASSIGNS:
            yield assign(node.words[1:], state)._replace(said=Said.OK)
            return
        if self.traps and not words and name == "exit":  # with what there was before it (POSIX)
            yield state._replace(jump="exit", said=Said.FAILED)
            return
        yield from (
            exit_on_failure(end, guarded=guarded) for end in _evaluate_unknown(name, words, state)
        )

    def trap(self, node: Simple, state: State) -> State:
        """What `trap` makes of it: its action is run in thought where everything has failed."""
        words = [one for one in node.values[1:] if one != "--"] or [""]
        inside = _Thought(self.failing, self.steps)
        inside.functions = inside.every = self.every
        inside.traps = self.traps + 1
        failed = State(said=Said.FAILED, ran=True, code=state.code)
        try:
            action = parse(line_inside(node, words[0])) if inside.traps < _ROUNDS else Script(())
            ends = inside.script(action, {failed}, guarded=True)
        except ShellSyntaxError:
            ends = set()
        good = any(one.jump == "exit" and one.said is Said.OK for one in ends)
        return set_trap(words[1:], state, good=Said.OK if good else None)

    def fails(self, node: Simple, state: State) -> State:
        """The command in question. One that a loop gives another word each time may then pass."""
        named = {name for word in node.words for name in _VARIABLE.findall(word.value)}
        again = state.ran and named & set(self.own_variables)
        said = Said.EITHER if again else Said.FAILED
        failed = state._replace(said=said, ran=True, code=exit_of_failed_tests(node))
        words = [word.value for word in node.words]
        if words[0] == "exec":  # nothing of the shell is left behind it (POSIX, exec)
            return failed._replace(jump="exit")
        # bash(1), Coprocesses; setsid(1), --fork: both go on at once.
        if words[0] == "coproc" or (words[0] == "setsid" and {"-f", "--fork"} & {*words}):
            waits = {"-w", "--wait"} & {*words} and words[0] == "setsid"
            return failed if waits else failed._replace(said=Said.OK, behind=words[0] == "coproc")
        return failed

    def substitute(self, scripts: tuple[Script, ...], state: State) -> tuple[State, Said | None]:
        """What ran in `$(…)` before the command itself; how the last of it ended."""
        said = None
        for script in scripts:
            ends = self.own_shell(Group(script, subshell=False), state, guarded=False)
            ran = any(end.ran for end in ends)
            every = {end.said for end in ends if end.ran == ran}
            said = every.pop() if len(every) == 1 else Said.EITHER
            state = state._replace(ran=state.ran or ran)
        return state, said

    def after(self, scripts: tuple[Script, ...], states: set[State]) -> set[State]:
        """The states behind what a loop or a `case` substitutes: how that ended is lost."""
        return {self.substitute(scripts, one)[0] for one in states} if scripts else states


# --- single commands ------------------------------------------------------------------


def _evaluate_unknown(name: str, words: tuple[str, ...], state: State) -> Iterable[State]:
    """What a command that is not in question says."""
    if name in ("exit", "return", "break", "continue"):
        yield _jump(name, words, state)
    elif name == "exec" and words:
        (other,) = _evaluate_unknown(words[0], words[1:], state)
        yield other._replace(jump="exit")
    elif name == "set":
        yield set_options(words, state)._replace(said=Said.OK)
    elif name == "wait":
        waited = state.behind and any(word.startswith(("$", "%")) or word == "-n" for word in words)
        yield state._replace(said=Said.FAILED if waited else Said.OK, behind=False)
    elif name in _ASKS:
        yield state._replace(said=judge_test(words, state))
    elif name.startswith("((") or name == "let":
        text = " ".join(words) if name == "let" else name
        yield (count(text, state) or state)._replace(said=judge_arithmetic(text, state))
    elif name == "false" or (name.startswith("$") and texts_of(name, state) == ("false",)):
        yield state._replace(said=Said.FAILED)
    else:
        yield state._replace(said=Said.OK if name in _NOTHING else Said.EITHER)


def _jump(name: str, words: tuple[str, ...], state: State) -> State:
    jump = state._replace(jump=name)
    if name in ("break", "continue"):
        return jump._replace(said=Said.OK)
    return jump._replace(said=judge_exit(texts_of(words[0].strip() if words else "$?", state)))


def _assign(node: Simple, state: State, substituted: Said | None) -> State:
    """`rc=$?` keeps what was said; `x=$(…)` says what that said."""
    return assign(node.assignments, state)._replace(said=substituted or Said.OK)
