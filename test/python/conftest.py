"""What holds for all tests: programs are chosen by the estimate, so that no timing decides what is tested."""

import os

os.environ.setdefault("LUMINAL_SEARCH_SECONDS", "0")
