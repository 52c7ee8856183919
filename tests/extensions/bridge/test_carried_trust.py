"""What clones of a repository may run is what the person lets run in it."""

import os

import pytest
from shop import BASE

from runner.app.build.preconditions import carry_trust
from runner.config.trust import Trust
from runner.errors import ExitCode, RunnerError
from runner.project import Project

GATE = '[gates]\nlint = "python3 -c pass"\n'


def opened(place, **more):
    project = Project.open(place.root, {**os.environ, **more})
    return project, project.plan(project.plan_bytes)


def test_a_clone_runs_what_is_trusted_here_and_nothing_that_came_later(workplace, tmp_path):
    from workplace import Workplace

    workplace.plan(BASE)
    clone = Workplace.begin(tmp_path / "clone", workplace.home)
    clone.plan(BASE)
    source, _ = opened(workplace)
    with pytest.raises(RunnerError, match="not trusted yet") as refused:
        carry_trust(source, *opened(clone))
    assert refused.value.code == ExitCode.PERSON
    carry_trust(source, *opened(clone, CI="true"))
    Trust(source.places.state).give(source.root, "asked")
    carry_trust(source, *opened(clone))
    clone.commit({"runner.toml": GATE})
    with pytest.raises(RunnerError, match="new commands that you have not trusted"):
        carry_trust(source, *opened(clone))
