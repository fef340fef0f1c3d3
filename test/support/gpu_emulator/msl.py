"""Metal Shading Language to LLVM IR for the emulator, by the clang in the `ziglang` wheel.

The source is compiled unchanged, as OpenCL C++ with `metal_shim/metal_stdlib` in place of Apple's header. One
function per kernel is appended that reads the thread's position and calls the kernel.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from .errors import Unsupported

_SHIM = Path(__file__).parent / "metal_shim"
_KERNEL = re.compile(r"kernel\s+void\s+(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*\{")
_ATTRIBUTE = re.compile(r"\[\[\s*(\w+)(?:\((\d+)\))?\s*\]\]")
_FLAGS = (
    "-x cl -cl-std=clc++2021 -cl-no-stdinc --target=x86_64-linux-gnu -march=x86-64-v3 -O1 "
    "-Wno-unknown-attributes -Xclang -ffake-address-space-map -ffp-contract=off -fno-pic -fno-pie "
    "-fno-unroll-loops -fno-vectorize -fno-slp-vectorize -S -emit-llvm"
).split()
_POSITIONS: dict[str, Callable[[str], str]] = {
    "threadgroup_position_in_grid": lambda axis: f"emu_block_{axis}()",
    "thread_position_in_threadgroup": lambda axis: f"emu_thread_{axis}()",
    "threads_per_threadgroup": lambda axis: f"emu_threads_{axis}()",
    "threadgroups_per_grid": lambda axis: f"emu_blocks_{axis}()",
    "thread_position_in_grid": lambda axis: (
        f"emu_block_{axis}() * emu_threads_{axis}() + emu_thread_{axis}()"
    ),
}


def missing_compiler() -> str | None:
    """What must be installed to compile MSL, or None if it is there."""
    if importlib.util.find_spec("ziglang") is None:
        return "the 'ziglang' package (clang for Metal source) is not installed"
    return None


def compile_msl(source: str) -> str:
    """LLVM IR text of a Metal source, with a kernel `launch_<name>` for each of its kernels.

    Raises Unsupported with clang's message.
    """
    problem = missing_compiler()
    if problem:
        raise Unsupported(problem)
    wrappers = "\n".join(_wrapper(match[1], match[2]) for match in _KERNEL.finditer(source))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.cl"
        path.write_text(f"{source}\n{wrappers}\n")
        command = [sys.executable, "-m", "ziglang", "clang", *_FLAGS, f"-I{_SHIM}", str(path), "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unsupported(f"clang refuses the Metal source:\n{done.stderr}")
    return _as_kernels(done.stdout)


def _wrapper(name: str, parameters: str) -> str:
    declared, passed = [], []
    for parameter in re.split(r",(?![^\[]*\]\])", parameters):
        attribute = _ATTRIBUTE.search(parameter)
        if attribute is None:
            raise Unsupported(f"kernel '{name}': parameter '{parameter.strip()}' has no attribute")
        declaration = parameter[: attribute.start()].strip()
        if attribute[1] == "buffer":
            declared.append(declaration)
            passed.append(declaration.replace("&", " ").replace("*", " ").split()[-1])
        else:
            passed.append(_position(attribute[1], declaration.split()[0]))
    return f'extern "C" void launch_{name}({", ".join(declared)}) {{ {name}({", ".join(passed)}); }}'


def _position(attribute: str, type_: str) -> str:
    component = _POSITIONS.get(attribute)
    if component is None:
        raise Unsupported(f"attribute '{attribute}' is not modelled")
    if type_ == "uint":
        return component("x")
    return f"({type_})({', '.join(component(axis) for axis in 'xyz'[: int(type_[-1])])})"


def _as_kernels(text: str) -> str:
    """Mark the functions `launch_<name>` as kernels, and drop what belongs to the host's clang."""
    text = text.replace("spir_kernel ", "").replace("spir_func ", "").replace("\\01llvm.nvvm", "llvm.nvvm")
    text = re.sub(r'@"(llvm\.nvvm[^"]*)"', r"@\1", text)
    text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
    return re.sub(
        r"^define ((?:dso_local )?)(.*@launch_)", r"define \1ptx_kernel \2", text, flags=re.MULTILINE
    )
