"""lit's configuration: small IR in, checked text out (`lit test`, or `make test`)."""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parent.parent


def ptxas() -> str | None:
    """The assembler of a CUDA toolkit, or the one that the nvidia-cuda-nvcc package carries."""
    packaged = (Path(entry) for entry in sys.path)
    found = (path for folder in packaged for path in folder.glob("nvidia/**/bin/ptxas"))
    return shutil.which("ptxas") or next((str(path) for path in found), None)


config.name = "luminal"  # noqa: F821
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir"]  # noqa: F821
config.excludes = ["python", "support"]  # noqa: F821
config.test_source_root = str(root / "test")  # noqa: F821
config.test_exec_root = str(root / "build" / "lit")  # noqa: F821
if "PYTHONPATH" in os.environ:  # the tree that is tested, where another one is installed
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]  # noqa: F821

# -P keeps the test's own folder off sys.path; the substitutions' order makes `luminal-opt` a whole word.
tools = {"luminal-opt": "luminal.tools.opt", "luminal-run": "luminal.tools.run", "filecheck": "filecheck"}
for name, module in tools.items():
    config.substitutions.append((rf"(?<![\w/.-]){name}(?![\w.-])", f"{sys.executable} -m {module}"))  # noqa: F821
if assembler := ptxas():
    config.available_features.add("ptxas")  # noqa: F821
    config.substitutions.append((r"(?<![\w/.-])ptxas(?![\w.-])", assembler))  # noqa: F821
