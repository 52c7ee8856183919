"""How a status looks in a picture, with a sign for those who see no colour."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from runner.model import Status


class Node(Protocol):
    """What a picture shows of a task: a task of the plan, or of its outline."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def title(self) -> str:
        """Its title."""

    @property
    def status(self) -> Status:
        """Its status by the plan, where nothing newer is known."""

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The ids it depends on."""


class Look(NamedTuple):
    """Colours for a page, a colour and a sign for a terminal."""

    fill: str
    edge: str
    text: str
    colour: str
    sign: str


PALETTE = {
    Status.PENDING: Look("#f6f8fa", "#8c959f", "#1f2328", "", "o"),
    Status.IN_PROGRESS: Look("#ddf4ff", "#0969da", "#0a3069", "cyan", ">"),
    Status.DONE: Look("#dafbe1", "#1a7f37", "#0f3d1e", "green", "*"),
    Status.BLOCKED: Look("#ffebe9", "#cf222e", "#6e1018", "red", "!"),
    Status.STALE: Look("#fff8c5", "#9a6700", "#4d3400", "yellow", "~"),
}
