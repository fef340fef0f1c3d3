"""A BLAS of this machine whose matrix products compete with our own: where it is, and how it is called.

It must run with one thread, since our threads share the work, but a library has one setting for the whole
process, which belongs to NumPy. So a copy of the library file is loaded: an instance of its own.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from .cache import cache_directory, key_of

ROUTINES = {"f32": "luminal_blas_sgemm", "f64": "luminal_blas_dgemm"}
"""Names that kernels call the library's routines by; their addresses are given when a kernel is loaded.

C interface of BLAS: `void (i32 order, i32 trans_a, i32 trans_b, i64 m, n, k, alpha, a, i64 lda, b, i64 ldb,
beta, c, i64 ldc)`.
"""

ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112

_NAMES = {
    "scipy_cblas_{}gemm64_": "scipy_openblas_set_num_threads64_",
    "scipy_cblas_{}gemm": "scipy_openblas_set_num_threads",
    "cblas_{}gemm64_": "openblas_set_num_threads64_",
    "cblas_{}gemm": "openblas_set_num_threads",
}
"""OpenBLAS's names of the routine, and of the call that sets the number of threads. 32-bit interfaces do as
well: where this is used, both kinds of integer are passed in the same places."""

_lock = threading.Lock()


def library_available() -> bool:
    """Whether `library = "blas"` can be compiled: 64-bit Linux with an OpenBLAS, NumPy's for instance."""
    return bool(addresses())


@lru_cache(maxsize=1)
def addresses() -> dict[str, int]:
    """The routines' addresses by the names in ROUTINES; empty if there is no library."""
    if not sys.platform.startswith("linux") or sys.maxsize < 1 << 32:
        return {}
    with _lock:
        for path in _candidates():
            with suppress(OSError):
                found = _routines(_load_alone(path))
                if found:
                    return found
    return {}


def _candidates() -> list[Path]:
    import numpy

    packages = Path(numpy.__file__).parent.parent
    found = [
        path for folder in ("numpy.libs", "scipy.libs") for path in (packages / folder).glob("*openblas*")
    ]
    system = [Path(folder) for folder in ("/usr/lib", "/usr/lib64", "/usr/local/lib")]
    return found + [path for folder in system for path in folder.glob("**/libopenblas*.so*")]


def _load_alone(path: Path) -> ctypes.CDLL:
    """A copy of the library in the cache directory, loaded with one thread. OSError if that fails."""
    status = path.stat()
    copy = cache_directory() / "libraries" / f"{key_of(str(path), str(status.st_mtime_ns))}.so"
    if not copy.exists() or copy.stat().st_size != status.st_size:
        copy.parent.mkdir(parents=True, exist_ok=True)
        partial = copy.with_suffix(f".{os.getpid()}")
        shutil.copyfile(path, partial)
        os.replace(partial, copy)
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when the library is loaded
    try:
        return ctypes.CDLL(str(copy))
    finally:
        if before is None:
            del os.environ["OPENBLAS_NUM_THREADS"]
        else:
            os.environ["OPENBLAS_NUM_THREADS"] = before


def _routines(library: ctypes.CDLL) -> dict[str, int]:
    for routine, threads in _NAMES.items():
        names = {dtype: routine.format(letter) for dtype, letter in (("f32", "s"), ("f64", "d"))}
        if all(hasattr(library, name) for name in (*names.values(), threads)):
            getattr(library, threads)(1)
            found = {
                dtype: ctypes.cast(getattr(library, name), ctypes.c_void_p).value
                for dtype, name in names.items()
            }
            return {ROUTINES[dtype]: address for dtype, address in found.items() if address}
    return {}
