"""L0 -> L1: the torch dialect (functional ATen ops) rewritten into the fifteen primitives of the `luminal` dialect.

One file per family of ATen ops; each converter registers itself with one line (see `registry.py`)."""
