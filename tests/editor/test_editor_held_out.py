"""An editor hears states and counts of held-out tests alone."""

import json

import held_out_plans
from held_out_plans import told
from language_client import LanguageClient

PLAN = "TASK-GRAPH.md"


def test_the_language_server_tells_no_held_out_test(workplace, monkeypatch):
    held_out_plans.failed(workplace, monkeypatch)
    with LanguageClient(workplace.root) as client:
        client.initialize()
        shown = [client.open(PLAN)]
        for number, line in enumerate(workplace.read(PLAN).splitlines()):
            if line.strip():
                shown.append(client.at("hover", PLAN, number, min(4, len(line))))
        shown += [client.of(one, PLAN) for one in ("codeLens", "documentSymbol")]
    assert told(json.dumps(shown)) == []
    assert "TASK-001" in json.dumps(shown)
