"""The real agents of the Agent Client Protocol, from npm, against a provider on loopback.

They need the registry of npm, and minutes: only `make campaign` runs them.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from agents_provider import Provider, call
from settings_of import settings_of

from runner.implementers.registry import choose
from runner.model import Failure

KEY = "sk-" + "ant-api03-scripted-0123456789"
PACKAGES = {
    "claude": "@zed-industries/claude-agent-acp@0.23.1",
    "codex": "@zed-industries/codex-acp@0.16.0",
}
GOOD = "x = 1\n"

pytestmark = pytest.mark.skipif(
    not os.environ.get("CAMPAIGN_SECONDS"), reason="the real programs run in make campaign alone"
)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with the agents; `ACP_PROGRAMS` names one that is kept."""
    if kept := os.environ.get("ACP_PROGRAMS"):
        yield Path(kept)
        return
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("acp")
    words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run([*words, *PACKAGES.values()], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"they cannot be installed: {done.stderr.decode()[-300:]}")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=PACKAGES)
def real(request, office, shelf):
    """The office, enclosed, with one of them on PATH."""
    office.enclosed()
    office.environ["PATH"] = f"{shelf / 'node_modules/.bin'}:{office.environ['PATH']}"
    office.settings = settings_of(sandbox="bubblewrap")

    def implement():
        agent = choose(office.task(implementer=f"acp:{request.param}"), office.settings)
        return agent.implement(office.brief(), office.context())

    office.name, office.work = request.param, implement
    return office


def begin(real, url):
    """Its login and its provider; what the model is to call."""
    if real.name == "claude":
        real.environ |= {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}
        return call("Write", file_path=str(real.tree / "src/app.py"), content=GOOD)
    config = (
        f'model_provider = "local"\n[model_providers.local]\nname = "local"\n'
        f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "CODEX_API_KEY"\n'
    )
    real.environ["CODEX_API_KEY"] = KEY
    (real.home / ".codex").mkdir()
    (real.home / ".codex/config.toml").write_text(config)
    patch = (
        f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: src/app.py\n+{GOOD}*** End Patch\n"
    )
    return call("exec_command", cmd=f"{patch}EOF")


def test_campaign_the_real_agent_writes_and_is_read(real):
    with Provider() as provider:
        provider.turns = (begin(real, provider.url), "All done.")
        said = real.work()
    assert said.findings == (), real.log.read_text()
    assert real.files() == {"src/app.py": GOOD}
    assert said.summary == "All done."
    assert said.usage.tool_calls >= 1
    assert KEY not in real.log.read_text()


def test_campaign_without_a_login_it_says_so(real):
    said = real.work()
    assert said.failure is Failure.DETERMINISTIC, real.log.read_text()
    assert "log in with the agent itself" in said.findings[0].hint
