"""What bounds the builds of a team, how much of it is used, and what share one claim has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.run.limits.budget import WARNED_AT
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.config.settings import Settings

TEAM = ""
"""The bound that holds for all repositories together."""
PERIODS = ("day", "month")
SHARES = 10
"""Parts of a bound that claims are given, where nobody says how much."""
_LEAST = 0.1
"""Of a share: with less than that no build is begun."""
ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Bound:
    """What builds of the team, or of one repository, may take together."""

    scope: str
    """A repository; empty: the whole team."""
    dollars: float | None = None
    """Of one period; None: no bound."""
    period: str = "month"
    """`day` or `month`, in UTC."""
    share: float = 0.0
    """Dollars that one claim is given at most; 0: a tenth of the budget."""
    at_once: int | None = None
    """Builds that go on at the same time; None: no bound."""
    by: str = ""


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A bound, and how much of it is used now."""

    bound: Bound
    used: float
    """Dollars spent in this period, and given to claims that go on."""
    running: int
    began: float
    """When this period began, in seconds since 1970."""
    until: str
    """When the next period begins."""

    @property
    def left(self) -> float | None:
        """Dollars; None where there is no bound."""
        return None if self.bound.dollars is None else max(0.0, self.bound.dollars - self.used)

    @property
    def share(self) -> float | None:
        """Dollars that the next claim is given; 0 for too little, None where there is no bound."""
        bound, left = self.bound, self.left
        if left is None or bound.dollars is None:
            return None
        most = bound.share or bound.dollars / SHARES
        return min(most, left) if left >= max(_LEAST * most, ROUNDING) else 0.0

    @property
    def is_used_up(self) -> bool:
        """Whether a claim would have nothing to spend."""
        return self.share == 0.0

    @property
    def why(self) -> str:
        """Why nothing is begun; empty where something may be."""
        who = self.bound.scope or "the team"
        if self.share == 0.0:
            used = f"${self.used:.2f} of ${self.bound.dollars:.2f} a {self.bound.period}"
            return f"the budget of {who} is used up: {used}, until {self.until}"
        most = self.bound.at_once
        if most is not None and self.running >= most:
            return f"{who}: {plural(self.running, 'build')} running, the limit is {most}"
        return ""


@dataclass(frozen=True, slots=True)
class Share:
    """What one claim may cost, and did."""

    given: float | None = None
    """Dollars; None: no bound."""
    spent: float = 0.0
    is_whole: bool = True
    """Whether that is all it cost: else it counts as no less than what it was given."""

    @property
    def left(self) -> float | None:
        """Dollars; None where there is no bound."""
        return None if self.given is None else max(0.0, self.given - self.spent)

    @property
    def is_used(self) -> bool:
        """Whether as good as nothing is left of it."""
        # An agent that knows a limit ends before it, by what its next answer may cost.
        return self.given is not None and self.spent >= WARNED_AT * self.given

    def limit(self, environ: Mapping[str, str], own: Settings) -> dict[str, str]:
        """Return the environment of a command with its limits: the worker's own, or less."""
        variables = dict(environ)
        if self.left is not None:
            least = min(self.left, own.budget.run_dollars or self.left)
            # A limit of nothing is none that the settings take.
            variables["RUNNER_BUDGET_RUN_DOLLARS"] = f"{max(least, ROUNDING):.6f}"
        return variables

    def __str__(self) -> str:
        return f"${self.spent:.2f} of its ${self.given or 0.0:.2f} used; the next claim continues"


FREE = Share()
"""Of a claim that cost nothing."""
