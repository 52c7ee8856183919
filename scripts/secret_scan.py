"""Scan files for secrets: the same as `runner pipeline secret-scan`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["secret-scan"]
sys.exit(main())
