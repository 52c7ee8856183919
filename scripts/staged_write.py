"""Stage, show, apply, edit or reject a write: the same as `runner pipeline staged-write`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["staged-write"]
sys.exit(main())
