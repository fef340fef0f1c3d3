"""From a GPU module's LLVM IR to one for the host: checks before every access, stubs for intrinsics."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import llvmlite.binding as llvm

from .errors import Unsupported
from .fibers import ARGUMENT_BYTES, ARGUMENTS_OFFSET, EVENT_END, RESULT_OFFSET, RUNTIME_IR
from .types import leading_type, size_of, split_list

_ACCESS = re.compile(r"^\s+(?:%\S+ = )?(load|store) (?:volatile )?(.*)$")
_UNMODELLED = re.compile(r"= (?:atomicrmw|cmpxchg)|\b(?:load|store) atomic|@llvm\.mem(?:cpy|set|move)")
_SHARED = re.compile(r"^@([\w.$]+) = .*?addrspace\(3\) global (\[.*?\](?=,|$| undef| poison| zero)|[\w.]+)")
_KERNEL = re.compile(r"^define .*?\bptx_kernel\b.*?@([\w.$]+)\(", re.MULTILINE)
_POINTER = re.compile(r"^(ptr(?: addrspace\(\d+\))?) (.*)$")
_BFLOAT = re.compile(r"^\s+(%\S+) = (fptrunc float|fpext bfloat) (\S+) to (?:float|bfloat)(?:,.*)?$")
_REGISTER = re.compile(r"llvm\.nvvm\.read\.ptx\.sreg\.(\w+)(?:\.([xyz]))?$")

_DIMENSION_GLOBALS = {"ctaid": "emu_block", "ntid": "emu_block_size", "nctaid": "emu_grid_size"}
_HOST_FUNCTIONS = {
    "llvm.nvvm.ex2.approx": "llvm.exp2.f32",
    "llvm.nvvm.lg2.approx": "llvm.log2.f32",
    "llvm.nvvm.sqrt": "llvm.sqrt.f32",
}
"""Pure intrinsics of one f32, by prefix: what the host computes in their place."""


@dataclass
class HostModule:
    """LLVM IR for the host, and what is needed to launch its kernels."""

    text: str
    kernels: dict[str, list[str]]
    """Kernel name to the LLVM types of its parameters."""
    shared: list[tuple[str, int]]
    """Shared arrays: symbol and bytes."""
    sites: list[str]
    """The instruction of each checked access."""
    collectives: dict[int, str] = field(default_factory=dict)
    """Event number to intrinsic."""
    mentions: dict[str, set[str]] = field(default_factory=dict)
    """Function to the global names in its body."""

    def shared_of(self, kernel: str) -> list[tuple[str, int]]:
        """The shared arrays that a kernel, or a function that it calls, uses."""
        seen, pending = set[str](), [kernel]
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += self.mentions.get(name, ())
        return [entry for entry in self.shared if entry[0] in seen]


def rewrite_for_host(text: str) -> HostModule:
    """Rewrite NVVM-flavoured LLVM IR. Raises Unsupported for what is not modelled (atomics, structs...)."""
    module = llvm.parse_assembly(text)
    host = HostModule("", {}, [], [])
    stubs: list[str] = []
    kernels = set(_KERNEL.findall(str(module)))
    for function in module.functions:
        signature = str(function.global_value_type)
        if not function.is_declaration:
            if function.name in kernels:
                host.kernels[function.name] = [str(argument.type) for argument in function.arguments]
        elif function.name.startswith("llvm.nvvm."):
            stubs.append(_stub(function.name, signature, host))
    host.mentions = _mentions(str(module))
    # Printing after the parse upgrades the old spellings of intrinsics.
    lines = [line for source in str(module).splitlines() for line in _rewrite_line(source, host)]
    entries = [_entry(name, types) for name, types in host.kernels.items()]
    host.text = "\n".join([RUNTIME_IR, *stubs, *lines, *entries])
    return host


def _mentions(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for body in re.finditer(r"^define .*?@([\w.$]+)\(.*?^}", text, re.MULTILINE | re.DOTALL):
        found[body[1]] = set(re.findall(r"@([\w.$]+)", body[0]))
    return found


def _rewrite_line(line: str, host: HostModule) -> list[str]:
    if line.startswith(("target ", "source_filename")) or (
        line.startswith("declare") and "@llvm.nvvm." in line
    ):
        return []
    if _UNMODELLED.search(line) and not line.startswith("declare"):
        raise Unsupported(f"not modelled: {line.strip()}")
    line = line.replace("ptx_kernel ", "").replace("@llvm.nvvm.", "@emu.nvvm.")
    shared = _SHARED.match(line)
    if shared:
        host.shared.append((shared[1], size_of(shared[2])))
        return [f"@{shared[1]} = addrspace(3) global {shared[2]} zeroinitializer, align 16"]
    convert = _BFLOAT.match(line)
    if convert:
        return _convert_bfloat(convert[1], convert[2], convert[3])
    return [*_check(line, host), line]


def _convert_bfloat(result: str, conversion: str, value: str) -> list[str]:
    bits = f"%emu.b{result[1:]}"
    if conversion == "fptrunc float":
        return [
            f"  {bits} = call i16 @emu_to_bfloat(float {value})",
            f"  {result} = bitcast i16 {bits} to bfloat",
        ]
    return [
        f"  {bits} = bitcast bfloat {value} to i16",
        f"  {result} = call float @emu_from_bfloat(i16 {bits})",
    ]


def _check(line: str, host: HostModule) -> list[str]:
    match = _ACCESS.match(line)
    if match is None:
        return []
    operands = split_list(match[2])
    pointer = _POINTER.match(operands[1])
    if pointer is None:
        raise Unsupported(f"not modelled: {line.strip()}")
    size, site = size_of(leading_type(operands[0])), len(host.sites)
    host.sites.append(line.strip())
    writes = int(match[1] == "store")
    if "addrspace" not in pointer[1]:
        return [f"  call void @emu_access(ptr {pointer[2]}, i64 {size}, i32 {writes}, i64 {site})"]
    return [
        f"  %emu.p{site} = addrspacecast {pointer[1]} {pointer[2]} to ptr",
        f"  call void @emu_access(ptr %emu.p{site}, i64 {size}, i32 {writes}, i64 {site})",
    ]


def _stub(name: str, signature: str, host: HostModule) -> str:
    symbol = f'@"emu.{name.removeprefix("llvm.")}"'
    register = _REGISTER.match(name)
    if register:
        return f"define i32 {symbol}() {{\n{_read_register(register[1], register[2] or 'x', name)}\n}}"
    for prefix, replacement in _HOST_FUNCTIONS.items():
        if name.startswith(prefix):
            return (
                f"declare float @{replacement}(float)\n"
                f"define float {symbol}(float %x) {{\n"
                f"  %r = call float @{replacement}(float %x)\n  ret float %r\n}}"
            )
    return _collective(name, symbol, signature, host)


def _read_register(register: str, axis: str, name: str) -> str:
    position = "xyz".index(axis)
    if register in _DIMENSION_GLOBALS:
        return (
            f"  %p = getelementptr i32, ptr @{_DIMENSION_GLOBALS[register]}, i64 {position}\n"
            "  %v = load i32, ptr %p\n  ret i32 %v"
        )
    if register == "warpsize":
        return "  ret i32 32"
    if register not in ("tid", "laneid"):
        raise Unsupported(f"special register of '{name}' is not modelled")
    offset = 8 + 4 * position if register == "tid" else 20
    mask = -1 if register == "tid" else 31
    return (
        f"  %f = load ptr, ptr @emu_current\n  %p = getelementptr i8, ptr %f, i64 {offset}\n"
        f"  %v = load i32, ptr %p\n  %m = and i32 %v, {mask}\n  ret i32 %m"
    )


def _collective(name: str, symbol: str, signature: str, host: HostModule) -> str:
    """Write the arguments into the fiber's record, yield, read the result back."""
    match = re.match(r"(\S+) \((.*)\)$", signature)
    if match is None:
        raise Unsupported(f"'{name}' of type {signature} is not modelled")
    result, types = match[1], split_list(match[2])
    number = len(host.collectives) + 1
    host.collectives[number] = name
    body, offset = "", 0
    for position, type_ in enumerate(types):
        body += (
            f"  %p{position} = getelementptr i8, ptr %f, i64 {ARGUMENTS_OFFSET + offset}\n"
            f"  store {type_} %a{position}, ptr %p{position}, align 1\n"
        )
        offset += size_of(type_)
    if offset > ARGUMENT_BYTES:
        raise Unsupported(f"'{name}' has too many arguments")
    finish = "  ret void"
    if result != "void":
        finish = (
            f"  %q = getelementptr i8, ptr %f, i64 {RESULT_OFFSET}\n"
            f"  %r = load {result}, ptr %q, align 1\n  ret {result} %r"
        )
    parameters = ", ".join(f"{type_} %a{position}" for position, type_ in enumerate(types))
    return (
        f"define {result} {symbol}({parameters}) noinline {{\n  %f = load ptr, ptr @emu_current\n{body}"
        f"  call void @emu_yield(i32 {number})\n{finish}\n}}"
    )


def _entry(name: str, types: list[str]) -> str:
    """A fiber's first function: reads the kernel's arguments, calls it, ends."""
    body, arguments, offset = "", [], 0
    for position, type_ in enumerate(types):
        size = size_of(type_)
        offset = -(-offset // size) * size
        body += (
            f"  %p{position} = getelementptr i8, ptr @emu_parameters, i64 {offset}\n"
            f"  %v{position} = load {type_}, ptr %p{position}\n"
        )
        arguments.append(f"{type_} %v{position}")
        offset += size
    return (
        f"define void @emu_entry_{name}(ptr %fiber) {{\n{body}  call void @{name}({', '.join(arguments)})\n"
        f"  call void @emu_yield(i32 {EVENT_END})\n  unreachable\n}}"
    )
