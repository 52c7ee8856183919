import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "implementers"))

from implementer_shop import Shop


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


@pytest.fixture
def chat(shop):
    pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")
    from llm_script import Chat

    return Chat(shop)
