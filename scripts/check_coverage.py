"""How much of a task's lines its tests run: the same as `runner pipeline check-coverage`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["check-coverage"]
sys.exit(main())
