"""Object code: deduplication of kernels, the caches in memory and on disk, damaged files, keys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cpu_kernels import Contraction, aligned, run_kernel

from luminal.dialects.mlir import context, ir
from luminal.errors import LoweringError, RuntimeFailure
from luminal.lowering.cpu import CompiledKernels, CpuOptions, cache, codegen, compile_module
from luminal.runtime.native.jit import load_objects


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LUMINAL_CACHE_DIR", str(tmp_path))
    cache.clear_memory()
    yield tmp_path
    cache.clear_memory()


def product(n: int, k: int = 8) -> Contraction:
    return Contraction(
        (), (4,), (n,), (k,),
        lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(4, k), (k, n)],
    )  # fmt: skip


def compile_products(*sizes: int, disk: bool = True) -> CompiledKernels:
    with context(), ir.Location.unknown():
        modules = [product(size).build() for size in sizes]
        functions = [module.body.operations[0] for module in modules]
        operations = [function.regions[0].blocks[0].operations[0] for function in functions]
        return compile_module(operations, CpuOptions(cache=disk))


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("objects/*/*"))


def test_equal_kernels_are_compiled_once() -> None:
    compiled = compile_products(16, 24, 16, 16)
    statistics = compiled.statistics
    assert (statistics.operations, statistics.distinct, statistics.compiled) == (4, 2, 2)
    first, other, *same = compiled.kernels
    assert first.symbol != other.symbol and all(kernel == first for kernel in same)


def test_memory_then_disk_then_neither(fresh_cache: Path) -> None:
    assert compile_products(16).statistics.compiled == 1
    assert compile_products(16).statistics.memory == 1
    cache.clear_memory()
    again = compile_products(16).statistics
    assert (again.disk, again.compiled) == (1, 0)
    for file in files(fresh_cache):
        file.unlink()
    cache.clear_memory()
    assert compile_products(16).statistics.compiled == 1


def test_without_disk_nothing_is_written(fresh_cache: Path) -> None:
    compile_products(16, disk=False)
    assert not files(fresh_cache)
    assert compile_products(16, disk=False).statistics.memory == 1


@pytest.mark.parametrize("damage", [b"", b"short", None])
def test_damaged_files_are_rebuilt(fresh_cache: Path, damage: bytes | None) -> None:
    expected = compile_products(16).objects
    (file,) = files(fresh_cache)
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    cache.clear_memory()
    rebuilt = compile_products(16)
    assert rebuilt.statistics.compiled == 1 and rebuilt.objects.keys() == expected.keys()
    cache.clear_memory()
    assert compile_products(16).statistics.disk == 1 and files(fresh_cache) == [file]


def test_an_unwritable_cache_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    monkeypatch.setenv("LUMINAL_CACHE_DIR", str(blocker))
    assert compile_products(16).statistics.compiled == 1


def test_the_key_holds_options_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compile_products(16).kernels[0].symbol
    monkeypatch.setattr(codegen, "_ATTRIBUTES", '["noinline"]')
    assert compile_products(16).kernels[0].symbol != first


def test_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache.cache_directory() == tmp_path
    monkeypatch.delenv("LUMINAL_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_directory() == tmp_path / "xdg" / "luminal"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_directory() == Path.home() / ".cache" / "luminal"


def test_reloaded_objects_compute() -> None:
    case = product(24)
    objects = compile_products(24).objects
    cache.clear_memory()
    compiled = compile_products(24)
    assert compiled.statistics.disk == 1
    kernel = compiled.kernels[0]
    address = load_objects(objects)[kernel.symbol]
    arrays = [aligned(array) for array in case.inputs()]
    out = np.zeros((4, 24), np.float32)
    run_kernel((kernel, address), arrays, out)
    np.testing.assert_allclose(out, case.reference(arrays), rtol=1e-5, atol=1e-5)


def test_objects_that_lack_their_function_are_refused() -> None:
    (image,) = compile_products(16).objects.values()
    with pytest.raises(RuntimeFailure, match="does not define"):
        load_objects({"luminal_kernel_absent": image})


def test_other_ops_are_refused_by_name() -> None:
    with context() as ctx, ir.Location.unknown():
        ctx.allow_unregistered_dialects = True
        module = ir.Module.parse('"other.op"() : () -> ()')
        with pytest.raises(LoweringError, match="'other.op' has no lowering to the CPU"):
            compile_module(module.body.operations)


def test_files_used_longest_ago_are_removed(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_products(16, 24, 40)
    oldest, middle, newest = files(fresh_cache)
    for age, file in ((300, oldest), (200, middle), (100, newest)):
        os.utime(file, (1_000_000 - age, 1_000_000 - age))
    cache.clear_memory()
    key = oldest.stem
    assert cache.ObjectCache(fresh_cache).get(key)[1] == "disk"  # which makes it the newest
    kept = oldest.stat().st_size + newest.stat().st_size
    assert cache.prune(fresh_cache, kept) == 1
    assert files(fresh_cache) == sorted([oldest, newest])
    monkeypatch.setenv("LUMINAL_CACHE_BYTES", "0")
    cache.clear_memory()
    compile_products(56)
    assert files(fresh_cache) == []
    monkeypatch.setenv("LUMINAL_CACHE_BYTES", "10M")
    with pytest.raises(RuntimeFailure, match="LUMINAL_CACHE_BYTES must be a number of bytes, not '10M'"):
        compile_products(56)
