"""Two people of two roles in two browsers, while a real worker builds what one of them queued."""

import time

import pytest
from site_plans import GREET, NOTE
from team_people import HERE, Team
from test_serve_browser import AXE, MISSING, look_for_faults

from runner.extensions.team.build_queue import (
    BuildOrder,
    cancel_build,
    list_builds,
    queue_build,
    read_build,
)
from runner.extensions.team.people import list_people, revoke_token

SETTLED = " && !document.querySelector('.htmx-added, .htmx-settling, .htmx-swapping')"
"""And htmx has taken up what it put in."""
REVIEWED = GREET.replace("- Output", "- Review: prompt\n- Output")


@pytest.fixture
def team(tmp_path, workplace):
    made = Team(tmp_path)
    yield made
    made.close()


def sign_in(person, server, token):
    tab = person().tab()
    tab.go(f"{server.origin}/open")
    tab.type("#token", token)
    tab.press("#sign-in button")
    return tab


def come_in(person, server, name):
    tab = sign_in(person, server, server.team.tokens[name])
    tab.until("location.pathname === '/' && document.readyState === 'complete' && !!window.htmx")
    return tab


def test_one_queues_a_worker_builds_another_answers_and_both_see_it(team, workplace, person):
    workplace.plan(REVIEWED, NOTE)
    team.repository(workplace)
    server = team.serve(RUNNER_TEAM_FOUR_EYES="true")
    operator, reviewer = (come_in(person, server, name) for name in ("operator", "reviewer"))
    assert reviewer.script("!document.querySelector('a[href=\"/new\"]')")
    assert "Nothing is queued" in operator.text
    operator.press("a.button.main")
    operator.until("location.pathname === '/new' && !!window.htmx")
    operator.press("form[hx-post] .button.main")
    operator.until("document.querySelector('#said').innerText.includes('is queued')")
    reviewer.until("document.body.innerText.includes('waits for a worker')")  # by itself

    said = team.work()
    (build,) = list_builds(team.store, every=True)
    assert build.waits == "TASK-001", said
    reviewer.until("document.body.innerText.includes('waits for an answer')")
    here = f"{server.origin}/q/{build.short}/review/TASK-001"
    operator.go(here)
    operator.until("document.body.innerText.includes('another person must approve it')")
    reviewer.press("a[data-row]")
    reviewer.until(f"location.pathname === '/q/{build.short}' && !!window.htmx")
    reviewer.press("a[data-row]")
    reviewer.until("location.pathname.endsWith('/review/TASK-001') && !!window.htmx")
    assert 'TEXT = "hello"' in reviewer.text
    reviewer.key("a")
    reviewer.until("document.querySelector('#said').innerText.includes('TASK-001 approved')")
    operator.go(f"{server.origin}/q/{build.short}")
    operator.until("document.body.innerText.includes('approve TASK-001')")
    team.work()
    operator.until("document.body.innerText.includes('completed')")  # by itself
    done = read_build(team.store, build)
    assert [(one["by"], one["via"], one["outcome"]) for one in done.answers] == [
        ("reviewer", "page", "TASK-001 approved")
    ]
    assert [tab.errors for tab in (operator, reviewer)] == [[], []]


def test_a_wrong_token_is_told_and_one_that_is_revoked_ends_the_open_page(team, person):
    server = team.serve()
    wrong = sign_in(person, server, "rnr_" + "x" * 43)
    wrong.until(
        "document.getElementById('open-said').innerText.includes('is unknown, revoked or expired')"
    )
    assert wrong.script("location.pathname") == "/open"
    tab = come_in(person, server, "viewer")
    tab.follows(wanted=True)
    revoke_token(team.store, team.ids["viewer"], HERE)
    tab.until("document.getElementById('notice').innerText.includes('no longer signed in')")
    tab.call("Page.navigate", url=f"{server.origin}/")
    tab.until("location.pathname === '/open'")


def test_a_token_is_made_on_the_page_shown_once_and_opens_it(team, person):
    server = team.serve()
    admin = come_in(person, server, "admin")
    admin.go(f"{server.origin}/people")
    admin.until("!!window.htmx && !!sessionStorage.getItem('runner-secret')")
    admin.type("form[hx-post='/people/do/add'] input", "eve")
    admin.press("form[hx-post='/people/do/add'] button")
    admin.until("!!document.querySelector('section[aria-label=eve]')" + SETTLED)
    admin.press("section[aria-label=eve] form[hx-post='/people/do/token'] button")
    secret = admin.until(
        "document.querySelector('.secret') && document.querySelector('.secret').innerText"
    )
    other = sign_in(person, server, secret)
    other.until("location.pathname === '/' && document.body.innerText.includes('eve · viewer')")
    other.press(".whoami button")
    other.until("location.pathname === '/open'")
    assert "eve" in [one.name for one in list_people(team.store)]
    assert admin.errors == []


def test_what_an_act_came_to_stays_in_sight_while_the_page_is_drawn_anew(team, person):
    from test_team_roles import SHOP

    build = queue_build(team.store, BuildOrder(SHOP, "x"))
    cancel_build(team.store, build, "x")
    tab = come_in(person, team.serve(), "operator")
    tab.go(tab.script("location.origin") + f"/q/{build.short}")
    tab.until("!!window.htmx && !!sessionStorage.getItem('runner-secret')")
    tab.press("form[hx-post$='/do/retry'] button")
    tab.until("document.body.innerText.includes('by operator, at the page')")  # drawn anew
    assert f"{build.short} will be retried" in tab.script(
        "document.getElementById('said').innerText"
    )


def test_what_somebody_types_is_not_taken_away_by_news(team, person):
    server = team.serve()
    admin = come_in(person, server, "admin")
    admin.go(f"{server.origin}/people")
    admin.until("!!window.htmx && !!sessionStorage.getItem('runner-secret')")
    label = "section[aria-label=viewer] input[name=label]"
    admin.type(label, "phone")
    revoke_token(team.store, team.ids["viewer"], HERE)
    admin.follows(wanted=True)  # its first word is that something is new
    time.sleep(1.5)
    assert admin.script(f"document.querySelector('{label}').value") == "phone"
    admin.type(label, "")
    admin.until("document.body.innerText.includes('revoked by root@here')")


@pytest.mark.skipif(not AXE.exists(), reason=MISSING)
def test_pages_of_a_team_have_no_serious_fault_full_and_empty(team, workplace, person):
    server = team.serve()
    tab = person().tab()
    assert look_for_faults(tab, f"{server.origin}/open") == []
    tab = come_in(person, server, "admin")
    assert look_for_faults(tab, f"{server.origin}/") == []
    assert "runner team repo add" in tab.text
    assert look_for_faults(tab, f"{server.origin}/new") == []
    assert "runner team repo add" in tab.text
    workplace.plan(REVIEWED, NOTE)
    shop = team.repository(workplace)
    assert look_for_faults(tab, f"{server.origin}/") == []
    assert f"runner team queue {shop.name}" in tab.text
    build = queue_build(team.store, BuildOrder(shop, "x"))
    tab.go(f"{server.origin}/q/{build.short}")
    assert "runner team worker" in tab.text
    team.work()
    cancel_build(team.store, queue_build(team.store, BuildOrder(shop, "y", wish="say more")), "x")
    pages = ("/?all", "/new", "/people", f"/q/{build.short}", f"/q/{build.short}/review/TASK-001")
    assert [fault for one in pages for fault in look_for_faults(tab, server.origin + one)] == []
