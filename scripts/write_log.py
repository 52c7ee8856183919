"""Record and show approved writes: the same as `runner pipeline write-log`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["write-log"]
sys.exit(main())
