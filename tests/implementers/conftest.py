import pytest
from implementer_shop import Shop


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)
