"""The native side of the CPU runtime: a worker team in LLVM IR and its Python handle."""
