"""Words by which a command passes over what fails, or skips it, whichever program they are given.

What only goes on behind a failure and tells it at the end is none: `make -k`, `npm-run-all -c`,
`lerna --no-bail`, `turbo --continue`, `xargs -P`, `pnpm -r --no-bail`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.plan.shell.programs import programs_of

if TYPE_CHECKING:
    from runner.plan.shell.syntax import Simple

_BYPASS = regex(
    r"(?:--(?:no-verify|exit-zero|suppress-tests-failed(?:-exit-code)?|passWithNoTests"
    r"|pass-with-no-tests|pass-on-failing-test-suite|fail-never|nostatusrc"
    r"|no-fail-on-failing-test-suite)|-fn|-Dmaven\.test\.failure\.ignore"
    r"|\S*\.ignore_outcome)(?:=(?:true|1|yes))?"
    r"|--(?:testFailureExitCode|failure-exit-code)=0+|--fail-on-failing-test-suite=false"
)
_MAKE_IGNORES = regex(r"-[bBdekLmnpqrRsStvw]*i|--ignore-errors")


def find_bypass(command: Simple) -> str:
    """Return the word by which a command passes over what fails, else an empty string."""
    for name, words in programs_of(command):
        for word in words:
            ignores = name in ("make", "gmake") and _MAKE_IGNORES.fullmatch(word)
            if ignores or _BYPASS.fullmatch(word):
                return word
    return ""


def without_bypass(word: str, whole: str = "the command") -> str:
    """Return what to do about a word of the `whole` that leaves checks out."""
    return f"remove `{word}` from {whole}"
