"""A repository that somebody edits in, and a client of its language server."""

import subprocess

import pytest
from language_client import LanguageClient

PLAN = """\
# Shop

## TASK-001: Money 😀

- Status: PENDING
- Type: data
- Output files: `shop/money.py`
- Contracts: none — internal
- Implementer: claude
- Test contracts:
  - TC-001 (unit): `python3 -m unittest -q tests.test_money`

Rounds as TASK-002 asks. See PATTERN-001.

```python
# TASK-001 in a fence is no mention
```

## TASK-002: Prices

- Status: PENDING
- Depends on: TASK-001
- Output files: `shop/prices.py`
- Inputs: `shop/money.py`
- Implementer: claude
- Test contracts:
  - TC-002 (unit): `python3 -m unittest -q tests.test_prices`
"""
MAP = "| File | Tasks |\n|---|---|\n| `shop/money.py` | TASK-001, TASK-002 |\n"
INDEX = """\
| Pattern | Title | Domain | Stack | Keywords | File |
|---|---|---|---|---|---|
| PATTERN-001 | Cents for TASK-001 | data | | money | `patterns/PATTERN-001.md` |
"""


@pytest.fixture
def shop(tmp_path, alone):
    """A repository with a plan of two tasks, a map, an index and a pattern; nothing is built."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "TASK-GRAPH.md").write_text(PLAN)
    (folder / "FILE_OWNERSHIP_MAP.md").write_text(MAP)
    (folder / "PATTERN_INDEX.md").write_text(INDEX)
    (folder / "patterns").mkdir()
    (folder / "patterns" / "PATTERN-001.md").write_text("Cents.\n")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "plan")):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    return folder


@pytest.fixture
def client(shop):
    """A client that has said hello."""
    with LanguageClient(shop) as found:
        found.initialize()
        yield found
