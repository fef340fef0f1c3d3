"""The `kernel` dialect."""
from ..mlir import ext
class Kernel(ext.Dialect, name="kernel"):
    pass
