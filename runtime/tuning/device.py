"""What a measured time depends on besides the kernel: the processor and the code that compiles kernels.

Seconds measured on one machine are worth as much on every machine that describes itself equally.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..environment import processors

_DEFAULT_CACHE = 32 << 20
"""Bytes of the last-level cache where the system does not tell."""


@dataclass(frozen=True)
class Environment:
    """A machine and a compiler. `identity` is equal exactly where all fields are.

    cpu: model name. features: digest of the vector and other features that LLVM sees. cores: processors that
    this process may use. lowering: digest of the code that turns kernels into machine code. versions: of the
    libraries that take part in it.
    """

    cpu: str
    target: str
    features: str
    cores: int
    lowering: str
    versions: tuple[str, ...]

    @property
    def identity(self) -> str:
        """A name of 12 hexadecimal digits."""
        return digest([repr(self)])[:12]

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        return {"environment": self.identity, **asdict(self), "versions": list(self.versions)}


def digest(parts: Iterable[str | bytes]) -> str:
    """A hexadecimal SHA-256 of 40 digits of `parts`, in order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(f"{len(data)}:".encode())
        found.update(data)
    return found.hexdigest()[:40]


@lru_cache(maxsize=1)
def host_environment() -> Environment:
    """This machine and this compiler."""
    from llvmlite import binding

    from ...lowering.cpu.target import host_target

    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on this operating system
        features = ""
    target = host_target()
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torch-mlir", "llvmlite")]
    return Environment(
        cpu_name() or target.name,
        f"{target.name}, {target.vector_bits} bit",
        digest([features])[:12],
        processors(),
        lowering_digest()[:12],
        tuple(versions),
    )


@lru_cache(maxsize=1)
def lowering_digest() -> str:
    """A digest of the code generator: the sources of `lowering/cpu` and what it tells LLVM.

    The object cache keys code by the lowered text of a kernel. To look a time up that would be too dear, so
    any change of the lowering makes all times unknown.
    """
    from ...lowering import cpu
    from ...lowering.cpu.codegen import toolchain

    sources = sorted(Path(cpu.__path__[0]).glob("*.py"))
    return digest([toolchain(), *(part for path in sources for part in (path.name, path.read_bytes()))])


def cpu_name() -> str:
    """The processor's model name as the system gives it; "" if it does not."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return _sysctl("machdep.cpu.brand_string") or platform.processor()


@lru_cache(maxsize=1)
def cache_bytes() -> int:
    """Bytes of all last-level caches of the machine; 32 MiB where the system does not tell."""
    found: dict[tuple[int, str], int] = {}
    for index in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cache/index*"):
        try:
            level = int((index / "level").read_text())
            shared = (index / "shared_cpu_list").read_text().strip()
            size = (index / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        if size.endswith("K") and size[:-1].isdecimal():
            found[level, shared] = int(size[:-1]) << 10
    if found:
        last = max(level for level, _ in found)
        return sum(size for (level, _), size in found.items() if level == last)
    for name in ("hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"):
        text = _sysctl(name)
        if text.isdecimal() and int(text):
            return int(text)
    return _DEFAULT_CACHE


def available_memory() -> int:
    """Bytes of memory that can be had without swapping, as far as the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    try:  # half of the machine's memory
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (ValueError, OSError):
        return 2 << 30


def _sysctl(name: str) -> str:
    if platform.system() != "Darwin":
        return ""
    done = subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=False)
    return done.stdout.strip()
