"""Static analysis of a file, which never blocks: the same as `runner pipeline sast-scan`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["sast-scan"]
sys.exit(main())
