"""The folders, the package list and the imports agree: what a type checker or a wheel would notice late."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("dialects", "passes", "lowering", "runtime", "tools")
# A folder may import from itself and from those before it.
ARROWS = {folder: FOLDERS[: position + 1] for position, folder in enumerate(FOLDERS)}
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def packaged():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def test_every_package_is_listed():
    found = {path.parent.relative_to(ROOT) for path in SOURCES if path.name == "__init__.py"}
    names = {"luminal", *("luminal." + ".".join(path.parts) for path in found)}
    assert set(packaged()["packages"]) == names


def test_every_folder_of_sources_is_a_package():
    assert {path.parent for path in SOURCES} == {
        path.parent for path in SOURCES if path.name == "__init__.py"
    }


def test_data_files_are_packaged():
    data = {
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in (".egg", ".ll", ".txt", ".json")
    }
    patterns = packaged()["package-data"]
    for path in data:
        owners = [path.parents[depth] for depth in range(len(path.parents) - 1)]
        matched = any(
            path.relative_to(owner).match(pattern)
            for owner in owners
            for pattern in patterns.get("luminal." + ".".join(owner.parts), ())
        )
        assert matched, f"{path} is in no package-data pattern"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_arrows(path):
    """Siblings are imported relatively (an absolute import would load a second copy), and never upwards."""
    folder = path.relative_to(ROOT).parts[0]
    package = path.relative_to(ROOT).parent.parts
    for dots, name in re.findall(r"^\s*from (\.+)([\w.]*) import", path.read_text(), re.MULTILINE):
        base = package[: len(package) - len(dots) + 1]
        target = (*base, *name.split(".")) if name else base
        if target and target[0] in FOLDERS:
            assert target[0] in ARROWS[folder], f"{folder} imports from {target[0]}"
    absolute = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
    assert not set(absolute) & set(FOLDERS)


def test_torch_mlir_is_named_in_one_place():
    """The core bindings come through dialects/mlir.py; only the front end also uses its importer."""
    allowed = {"dialects/mlir.py"}
    users = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(
            r"^\s*from torch_mlir import .*\b(ir|passmanager|rewrite)\b", path.read_text(), re.MULTILINE
        )
    }
    assert users <= allowed
