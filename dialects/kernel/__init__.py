"""The `kernel` dialect (L2): op classes, builders, and the scalar functions it is made of."""

from ..scalar_ops import SCALAR_FUNCTIONS, ScalarFunction
from .build import (
    cast,
    constant,
    contract,
    domain_attr,
    index_value,
    load,
    local,
    map_attr,
    reduce,
    region,
    scalar,
    scatter,
    to_index,
    yield_,
)
from .scalars import (
    SCALAR_OPS,
    CastOp,
    ConstantOp,
    IndexValueOp,
    Kernel,
    ToIndexOp,
    scalar_function_of,
)
from .structured import (
    REDUCE_KINDS,
    SCATTER_MODES,
    ContractOp,
    LoadOp,
    LocalOp,
    ReduceOp,
    RegionOp,
    ScatterOp,
    YieldOp,
    accumulator_dtype,
    contract_groups,
    extents_of,
    packed_shape,
)

__all__ = [name for name in dir() if not name.startswith("_")]
