"""Rounds: who waits costs nothing, and news that a forge tells begins the next one at once."""

import threading
import time
from concurrent.futures import wait
from dataclasses import dataclass
from types import SimpleNamespace

from issue_case import Case

from runner.app.forge_wake import find_bridge_folder, wake_bridge
from runner.app.observer import Silent
from runner.bridge.bridge_round import Bridge, BridgeRequest
from runner.bridge.forge_http import ForgeHttp
from runner.bridge.github import GitHub


@dataclass
class Rounds(Bridge):
    """A bridge whose issues are worked on by what a test puts here."""

    builders: dict = None

    def _make_work(self, number, builder, login, base):
        work = super()._make_work(number, builder, login, base)
        work.builder = self.builders[number]
        return work


def open_bridge(tmp_path, server, builders, every=0.2):
    places = SimpleNamespace(state=tmp_path)
    settings = SimpleNamespace(plan_review_of=lambda mode: mode, agents=3)
    project = SimpleNamespace(places=places, settings=settings, root=tmp_path)
    asked = BridgeRequest("runner", "origin", 3, every)
    forge = GitHub(ForgeHttp(server.address, server.token), "acme/shop")
    return Rounds(project, forge, asked, str, Silent(), builders=builders)


def test_a_hundred_issues_that_wait_cost_less_than_a_request_a_minute(case, tmp_path):
    server, cases = case.server, [case]
    cases += [Case(server, case.builder.final) for _ in range(99)]
    for number, one in enumerate(cases):
        one.label()
        one.advance()
        if number == 0:
            one.approve()
    bridge = open_bridge(tmp_path, server, {one.number: one.builder for one in cases})
    rounds = []
    begin = bridge._begin

    def count(*words):
        wait(bridge._works.values())
        bridge._settle()
        rounds.append(len(server.calls))
        if len(rounds) == 8:
            bridge.over.set()
        return begin(*words)

    bridge._begin = count
    bridge._go_round("runner-bot", "main", follow=True)
    idle = server.calls[rounds[3] : rounds[7]]
    costly = [one for one in idle if one[2] != 304]
    # four rounds of a minute each; an hour has sixty
    assert len(idle) >= 8
    assert len(costly) * 15 <= 60, costly


def test_news_of_the_forge_end_a_pause_and_come_not_too_often(case, tmp_path, monkeypatch):
    monkeypatch.setattr("runner.bridge.bridge_round._LISTENS", 0.02)
    monkeypatch.setattr("runner.bridge.bridge_round._SOONEST", 0.3)
    bridge = open_bridge(tmp_path, case.server, {})
    assert not wake_bridge(bridge.project.places, "acme/shop"), "nobody serves it here"
    find_bridge_folder(bridge.project.places, "acme/shop").mkdir(parents=True)
    assert wake_bridge(bridge.project.places, "Acme/Shop")
    began = time.monotonic()
    bridge._rest(60)
    assert 0.3 <= time.monotonic() - began < 30
    threading.Timer(0.5, bridge.over.set).start()
    bridge._rest(60)
    assert time.monotonic() - began < 50
