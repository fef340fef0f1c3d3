"""The calling convention of CPU kernels, shared by every lowering, the object-code stage and the runtime.

A kernel is `void kernel(ptr bufs, ptr syms, i64 tid, i64 nthreads, ptr scratch)`. `bufs` points to one
pointer per operand
in order, then the result's; `syms` to the int64 values of the module's symbols. Thread `tid` of `nthreads`
computes its own
share. `scratch` is private to the thread and aligned to 64 bytes. Buffers are aligned to their element only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...dialects.symbolic import Expr

ENTRY = "kernel"
"""Name of the entry function in a lowered kernel's text."""

SIGNATURE = "%bufs: !llvm.ptr, %syms: !llvm.ptr, %tid: i64, %nthreads: i64, %scratch: !llvm.ptr"
"""Parameters of the entry function, as MLIR text."""


@dataclass(frozen=True)
class LoweredKernel:
    """A kernel in upstream dialects: `text` holds the functions, the entry being `@kernel` with SIGNATURE.

    `scratch` is the scratch memory a thread needs, in bytes; `serial` asks for one thread; `loops_as_written`
    keeps LLVM from unrolling and vectorising loops once more. Equal kernels have equal text:
    it names nothing of the model it came from.
    """

    text: str
    scratch: Expr
    serial: bool = False
    loops_as_written: bool = False
