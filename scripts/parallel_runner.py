"""One command for several tasks at once: the same as `runner pipeline parallel`."""

import sys

from runner.__main__ import main

sys.argv[1:1] = ["parallel"]
sys.exit(main())
