"""The server of a team's page: who comes in by which address, and the application behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.routing import Route

from runner.extensions.team import team_budget
from runner.extensions.team.team_access import TeamAccess, require_roles
from runner.extensions.team.team_site import TeamSite, team_status
from runner.extensions.telemetry.metrics import Metrics, TeamFigures
from runner.serve.application import assemble, common_routes
from runner.serve.builds import Builds
from runner.serve.listener import guard_application, links_of, run_server, token_file
from runner.serve.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

    from runner.config.paths import Places
    from runner.extensions.team.team_board import TeamContext
    from runner.serve.guard import Gateway
    from runner.serve.listener import ListenAddress


@dataclass(frozen=True, slots=True)
class Entrance:
    """How a team's server is reached."""

    gateway: Gateway
    instance: str
    """What its cookie is named after: a server that is started again has the same."""
    tls: tuple[str, str] = ("", "")
    """Files with the certificate's chain and its key; empty: plain http, or a proxy does it."""

    @property
    def address(self) -> str:
        """What people open."""
        return (
            f"{self.gateway.scheme}://{min(self.gateway.hosts, key=lambda one: (len(one), one))}/"
        )


def serve_team(
    context: TeamContext,
    door: ListenAddress,
    places: Places,
    entrance: Entrance,
    tell: Callable[[str], None],
    hook_secret: str = "",
) -> None:
    """Answer people who sign in by tokens of the store, until SIGTERM or Ctrl-C.

    `tell` hears the address once the server listens.
    """
    is_secure = entrance.gateway.scheme == "https"
    links = links_of(places, door.port)
    access = TeamAccess(links, entrance.instance, context.store, is_secure=is_secure)

    def count() -> TeamFigures:
        return TeamFigures(*team_budget.measure_team(context.store))

    metrics = Metrics(Builds(()), token_file(places), count)
    run_server(
        door,
        lambda is_over: make_team_application(context, access, metrics, is_over),
        lambda app: guard_application(app, access, entrance.gateway, places, hook_secret),
        lambda: tell(entrance.address),
        entrance.tls,
    )


def make_team_application(
    context: TeamContext, access: TeamAccess, metrics: Metrics, is_over: Callable[[], bool]
) -> Starlette:
    """Make the pages over a team's store: each route is for whom `NEEDS` names."""
    pages = Pages(Builds(()), {}, team=True)
    site = TeamSite(context, access, pages, is_over)
    routes = [
        *common_routes(pages, access),
        Route("/metrics", metrics.answer, methods=["GET"]),
        *site.routes(),
    ]
    return assemble(pages, require_roles(routes), team_status)
