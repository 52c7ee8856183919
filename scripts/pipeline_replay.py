"""Go back to a task's checkpoint, or verify: the same as `runner replay`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["replay"]
sys.exit(main())
