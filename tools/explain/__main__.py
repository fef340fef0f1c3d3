"""`python -m luminal.tools.explain`."""

import sys

from .command import main

sys.exit(main())
