"""The small forge, and workplaces of the stories."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in (TESTS / "forge", TESTS / "stories"):
    sys.path.insert(0, str(folder))
