"""Native code in this process through llvmlite: LLVM IR text or object files become addresses.

Engines are never freed: worker threads and launch tables hold raw addresses into their code until the process
ends.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm

from ...errors import RuntimeFailure

_lock = threading.Lock()
_engines: list[Any] = []
_loaded: dict[str, int] = {}
_ready = False


def _target_machine() -> Any:
    global _ready
    if not _ready:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        _ready = True
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


def _keep(engine: Any) -> None:
    _engines.append(engine)
    # Interpreter shutdown clears module globals in any order; this reference is never given back.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))


def compile_ir(text: str, names: tuple[str, ...]) -> dict[str, int]:
    """Compiles LLVM IR text and returns the addresses of `names`; RuntimeFailure when it does not parse."""
    with _lock:
        machine = _target_machine()
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise RuntimeFailure(f"cannot compile native code: {error}") from error
        module.triple = llvm.get_process_triple()
        module.data_layout = str(machine.target_data)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
        builder.getModulePassManager().run(module, builder)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.finalize_object()
        _keep(engine)
        return {name: engine.get_function_address(name) for name in names}


def load_objects(objects: dict[str, bytes]) -> dict[str, int]:
    """Loads object files, each keyed by the function that it defines, and returns the functions' addresses.

    A function's name tells its code apart from all others, so a loaded name is not loaded again.
    Raises RuntimeFailure when an object does not define its function.
    """
    with _lock:
        new = {name: image for name, image in objects.items() if name not in _loaded}
        addresses = {name: _loaded[name] for name in objects if name in _loaded}
        if new:
            _give_library_symbols(new.values())
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
            for image in new.values():
                engine.add_object_file(llvm.ObjectFileRef.from_data(image))
            engine.finalize_object()
            _keep(engine)
            found = {name: engine.get_function_address(name) for name in new}
            _loaded.update({name: address for name, address in found.items() if address})
            addresses.update(found)
    missing = [name for name, address in addresses.items() if not address]
    if missing:
        raise RuntimeFailure(f"object code does not define {', '.join(missing)}")
    return addresses


def _give_library_symbols(images: Iterable[bytes]) -> None:
    """Tells the loader the addresses of library routines, if an object file calls one."""
    from ...lowering.cpu.blas import ROUTINES, addresses

    if not any(name.encode() in image for image in images for name in ROUTINES.values()):
        return
    if not addresses():
        raise RuntimeFailure("object code calls a BLAS routine, and no OpenBLAS can be loaded")
    for name, address in addresses().items():
        llvm.add_symbol(name, address)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
