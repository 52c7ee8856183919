"""The real programs, each installed into a folder of the test, against a provider on loopback.

They need the registries of npm and PyPI, and minutes: only `make campaign` runs them.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from agents_provider import Provider, call
from settings_of import settings_of

from runner.implementers.agents.preset import PRESETS
from runner.implementers.base import Mode
from runner.model import Failure

KEY = "sk-" + "ant-api03-scripted-0123456789"
PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
}
PLAN = '```json plan\n{"steps": ["Write it"], "files": ["src/app.py"]}\n```\n'
GOOD, BAD = "x = 1\n", "x = (\n"

pytestmark = pytest.mark.skipif(
    not os.environ.get("CAMPAIGN_SECONDS"), reason="the real programs run in make campaign alone"
)


@dataclass(frozen=True)
class Written:
    """How one program writes a file, and where its provider and login are told."""

    call: object
    """From path and content to a turn of the model."""
    model: str
    environ: dict
    files: dict


def written(name, office, url):
    """What a test of one program needs to know of it."""
    at = office.tree / "src/app.py"
    aider = f"src/app.py\n<<<<<<< SEARCH\n=======\n{GOOD}>>>>>>> REPLACE\n"
    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: src/app.py\n+{}*** End Patch\nEOF"
    codex = (
        f'model_provider = "local"\n[model_providers.local]\nname = "local"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n'
    )
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    models = {"m": {"name": "m"}}
    local = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}
    return {
        "claude": lambda: Written(
            lambda text: call("Write", file_path=str(at), content=text),
            "claude-sonnet-4-5",
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url},
            {},
        ),
        "codex": lambda: Written(
            lambda text: call("exec_command", cmd=patch.format(text)),
            "gpt-5",
            {"CODEX_API_KEY": KEY},
            {".codex/config.toml": codex},
        ),
        "gemini": lambda: Written(
            lambda text: call("write_file", file_path=str(at), content=text),
            "gemini-2.5-pro",
            {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url},
            {},
        ),
        "opencode": lambda: Written(
            lambda text: call("write", filePath=str(at), content=text),
            "local/m",
            {},
            {".config/opencode/opencode.json": json.dumps({"provider": {"local": local}})},
        ),
        "aider": lambda: Written(
            lambda _text: f"Here it is.\n\n{aider}",
            "openai/gpt-4o",
            {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{url}/v1"},
            {},
        ),
    }[name]()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder in which each program is installed once; `AGENT_PROGRAMS` names one that is kept."""
    if kept := os.environ.get("AGENT_PROGRAMS"):
        yield Path(kept)
        return
    folder = tmp_path_factory.mktemp("programs")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def installed(shelf, name):
    """The folder with the program, installed now where it is not there yet."""
    place = shelf / name
    commands = place / "node_modules/.bin"
    if name == "aider":
        commands = place / "bin"
        made = [[sys.executable, "-m", "venv", str(place)]]
        made += [[str(commands / "pip"), "install", "-q", "aider-chat"]]
    else:
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        package = f"{PACKAGES[name]}@{PRESETS[name].checked}"
        made = [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), package]]
    if not commands.is_dir():
        place.mkdir(parents=True)
        for argv in made:
            done = subprocess.run(argv, capture_output=True, check=False)
            if done.returncode:
                pytest.skip(f"{name} cannot be installed: {done.stderr.decode()[-300:]}")
    return commands


@pytest.fixture(params=PRESETS)
def real(request, office, shelf, monkeypatch):
    """The office with one real program, enclosed, and what it needs to know."""
    name = request.param
    office.enclosed()
    office.environ["PATH"] = f"{installed(shelf, name)}:{office.environ['PATH']}"

    def begin(url):
        found = written(name, office, url)
        office.environ |= found.environ
        for path, text in found.files.items():
            (office.home / path).parent.mkdir(parents=True, exist_ok=True)
            (office.home / path).write_text(text)
        office.settings = settings_of(
            sandbox="bubblewrap", model_plan=found.model, model_execute=found.model
        )
        return found

    office.name, office.begin = name, begin
    return office


def test_campaign_the_real_program_writes_and_is_read(real):
    with Provider() as provider:
        found = real.begin(provider.url)
        provider.turns = (found.call(GOOD), "All done.")
        said = real.implement(name=real.name)
    assert said.findings == (), real.log.read_text()
    assert real.files() == {"src/app.py": GOOD}
    assert said.usage.input_tokens >= 100
    assert said.usage.output_tokens >= 20
    if real.name != "aider":
        assert said.summary == "All done."
        assert said.usage.tool_calls == 1
        assert len(real.events) == 2
    assert KEY not in real.log.read_text()
    assert any(KEY in key for key in provider.keys)


def test_campaign_the_real_program_plans_and_cannot_write(real):
    with Provider() as provider:
        found = real.begin(provider.url)
        provider.turns = (found.call(GOOD), PLAN)
        if real.name == "aider":
            provider.turns = (PLAN,)
        said = real.implement(Mode.PLAN, name=real.name)
    assert real.files() == {}
    assert said.plan is not None, real.log.read_text()
    assert said.plan.files == ("src/app.py",)


@pytest.mark.parametrize("real", ["claude", "codex", "gemini"], indirect=True)
def test_campaign_its_hook_refuses_a_write_and_it_mends_it(real):
    with Provider() as provider:
        found = real.begin(provider.url)
        provider.turns = (found.call(BAD), found.call(GOOD), "Mended.")
        said = real.implement(name=real.name)
        told = json.dumps(provider.asked[1][1])
    assert "'(' was never closed" in told, real.log.read_text()
    assert real.files() == {"src/app.py": GOOD}
    assert said.summary == "Mended."


@pytest.mark.parametrize("real", ["claude", "codex", "aider"], indirect=True)
def test_campaign_a_refused_login_is_told(real):
    with Provider(status=401) as provider:
        real.begin(provider.url)
        said = real.implement(name=real.name)
    assert said.failure is Failure.DETERMINISTIC, real.log.read_text()
    assert "log in" in said.findings[0].hint


@pytest.mark.parametrize("real", ["claude", "codex", "gemini", "opencode"], indirect=True)
def test_campaign_planning_it_can_read(real):
    (real.tree / "notes.txt").write_text("the horse is grey\n")
    path = str(real.tree / "notes.txt")
    read = {
        "claude": call("Read", file_path=path),
        "codex": call("exec_command", cmd="cat notes.txt"),
        "gemini": call("read_file", file_path=path),
        "opencode": call("read", filePath=path),
    }[real.name]
    with Provider() as provider:
        real.begin(provider.url)
        provider.turns = (read, PLAN)
        said = real.implement(Mode.PLAN, name=real.name)
        asked = provider.asked[1][1]
    assert said.plan is not None, real.log.read_text()
    assert "the horse is grey" in json.dumps(asked), real.log.read_text()
