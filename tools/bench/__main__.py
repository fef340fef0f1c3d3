"""`python -m luminal.tools.bench`."""

import sys

from .command import main

sys.exit(main())
