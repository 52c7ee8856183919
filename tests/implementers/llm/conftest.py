import pytest


@pytest.fixture
def chat(shop):
    pytest.importorskip("pydantic_ai", reason="the extra `llm` is not installed")
    from llm_script import Chat

    return Chat(shop)
