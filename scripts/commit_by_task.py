"""Commit what is logged, one commit a task: the same as `runner pipeline commit-by-task`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["commit-by-task"]
sys.exit(main())
