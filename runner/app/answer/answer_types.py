"""What a person can say to what waits, and what became of it."""

from __future__ import annotations

from enum import StrEnum

from runner.lazy_dataclass import dataclass
from runner.text.display import display
from runner.text.wording import join_few


class Became(StrEnum):
    """What a person's word made of one thing that waited."""

    APPROVED = "approved"
    REJECTED = "rejected"
    DROPPED = "dropped"
    """A held change that breaks others: what it breaks is DONE again."""
    DROPPED_LATER = "dropped-later"
    """The same while a run is going on: the next one drops it."""
    PLANNED_AGAIN = "planned-again"
    OUT_OF_PLANS = "out-of-plans"
    """So many plans were refused that the next run blocks it."""
    DENIED = "denied"
    """It goes on without the calls that it asked for."""
    STANDS = "stands"
    """What was built is DONE for the task as it is written now."""
    EDITED = "edited"
    PLAN_EDITED = "plan-edited"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer that is in the journal."""

    task: str
    became: Became
    plans_refused: int = 0
    draft: str = ""
    """The branch that keeps the work of a change that was dropped."""
    done_again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldChange:
    """A held change after an approval of something that it breaks."""

    culprit: str
    missing: tuple[str, ...]
    """What is still to be approved before it lands."""
    victims: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Approved:
    """What an approval came to."""

    answered: tuple[Answered, ...]
    held: tuple[HeldChange, ...]
    """The changes on which what was approved is built anew."""
    is_next_run: bool
    """Whether something goes on with the next run by itself."""


@dataclass(frozen=True, slots=True)
class Approve:
    """What is to go on: by number in the list or by id, or everything."""

    named: tuple[str, ...] = ()
    every: bool = False
    reuse: bool = False
    """Of a STALE task: what is there is only proven again, nobody implements."""
    seen: str = ""
    """Digest of what the person was shown: anything else is not answered; empty asks nothing."""
    reason: str = ""
    """Why failed held-out tests are let pass; nothing else needs one."""
    met: tuple[str, ...] = ()
    """Acceptance items of the one task that the person checked; `all` is each of them."""
    via: str = ""
    """From where the word came: `page`; empty from a terminal."""


@dataclass(frozen=True, slots=True)
class Reject:
    """What is refused, and why; without a reason the person is asked for one."""

    named: tuple[str, ...]
    reason: str = ""
    seen: str = ""
    """Digest of what the person was shown, as in `Approve`."""
    via: str = ""


def describe_answer(one: Answered) -> str:
    """One answer in words."""
    name, refused = display(one.task), one.plans_refused
    kept = f"; its work is saved on {display(one.draft)}" if one.draft else ""
    verb = "is" if len(one.done_again) == 1 else "are"
    again = ", ".join(map(display, one.done_again))
    return {
        Became.APPROVED: f"{name} approved",
        Became.REJECTED: f"{name} rejected",
        Became.DROPPED: f"{name} rejected{kept}"
        + (f"; {again} {verb} DONE again" if again else ""),
        Became.DROPPED_LATER: f"{name} rejected; a run is active: the next one drops it",
        Became.PLANNED_AGAIN: f"the plan of {name} was rejected: it is planned again",
        Became.OUT_OF_PLANS: f"{refused} plans of {name} were rejected: the next run blocks it",
        Became.DENIED: f"{name}: permission denied, it continues without",
        Became.STANDS: f"{name} stays as it was built: DONE",
        Became.EDITED: f"{name} edited; next: runner",
        Became.PLAN_EDITED: f"the plan of {name} is edited and approved; next: runner",
        Became.UNCHANGED: f"{name} unchanged",
    }[one.became]


def describe_held(one: HeldChange) -> str:
    """What happens with a held change after an approval of one of its victims."""
    name, missing = display(one.culprit), [display(id_) for id_ in one.missing]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return (
            f"{name} lands once {join_few(missing)} {verb} approved as well: "
            f"runner approve {' '.join(missing)}"
        )
    victims = join_few([display(id_) for id_ in one.victims])
    return f"next: runner    ({victims} rebuilt on {name}; they land together)"
