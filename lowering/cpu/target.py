"""What the CPU lowerings know about the machine they generate code for: little more than its vector width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Target:
    """A CPU as a code generator sees it.

    name: LLVM's name of the CPU.
    vector_bits: width of the widest vector register that is worth using (128, 256 or 512).
    """

    name: str
    vector_bits: int

    def lanes(self, bits: int = 32) -> int:
        """Elements of `bits` bits in one vector register."""
        return self.vector_bits // bits

    @property
    def panel_width(self) -> int:
        """Columns of a packed weight panel that suit the register tiles of f32 products: two vectors."""
        return max(16, 2 * self.lanes())

    @property
    def registers(self) -> int:
        """Number of architectural vector registers."""
        return 16 if self.vector_bits == 256 else 32


@lru_cache(maxsize=1)
def host_target() -> Target:
    """The machine that this process runs on."""
    from llvmlite import binding

    name = binding.get_host_cpu_name()
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell on this operating system
        return Target(name, 128)
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512bw"):
        return Target(name, 512)
    if features.get("avx2") and features.get("fma"):
        return Target(name, 256)
    return Target(name, 128)
