"""Matrix products: mul of two expanded views, then sum_reduce over the last axis.

The one form (batch axes B, rows M, columns N, inner K): sum_reduce(mul(A, C)) over axis -1, with A and C
the views of both operands expanded to (*B, M, N, K). Halves: the views are cast to f32 before the product
and the sum is cast back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Operand, Tensor
from .dtypes import opmath
from .promotion import in_opmath
from .registry import Unsupported, converter
from .shapes import broadcast_shapes, expr
from .views import reshape, unsqueeze


def product_wide(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """(*B, M, K) times (*B, K, N), broadcast over B, in the opmath dtype (not rounded back)."""
    b.require(x.shape[-1], other.shape[-2])
    if x.dtype != other.dtype:
        raise Unsupported(f"a matrix product of {x.dtype} and {other.dtype} is an error in PyTorch too")
    batch = broadcast_shapes([x.shape[:-2], other.shape[:-2]])
    shape = (*batch, x.shape[-2], other.shape[-1], x.shape[-1])
    left = _spread(b, x, shape, lambda dims: (dims[-3], dims[-1]))
    right = _spread(b, other, shape, lambda dims: (dims[-1], dims[-2]))
    wide = opmath(x.dtype)
    return b.sum_reduce(b.mul(b.cast(left, wide), b.cast(right, wide)), [len(shape) - 1])


def _spread(
    b: Builder, x: Tensor, shape: Sequence[Expr], inner: Callable[[Sequence[Expr]], tuple[Expr, Expr]]
) -> Tensor:
    """View x as `shape` = (*B, M, N, K); inner picks its two last coordinates."""
    lead = len(shape) - 3 - (x.rank - 2)

    def index(*dims: Expr) -> list[Expr | int]:
        batch: list[Expr | int] = [
            dims[lead + axis] if size is shape[lead + axis] else 0 for axis, size in enumerate(x.shape[:-2])
        ]
        return [*batch, *inner(dims)]

    return b.view(x, shape, index)


def matrix_product(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """product_wide, rounded to the operands' dtype."""
    return b.cast(product_wide(b, x, other), x.dtype)


@converter("torch.aten.mm", "torch.aten.bmm")
def convert_mm(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return matrix_product(b, x, other)


@converter("torch.aten.matmul")
def convert_matmul(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    left = b.view(x, [1, *x.shape], lambda *dims: dims[1:]) if x.rank == 1 else x
    right = b.view(other, [*other.shape, 1], lambda *dims: dims[:-1]) if other.rank == 1 else other
    result = matrix_product(b, left, right)
    shape = list(result.shape)
    if other.rank == 1:
        shape.pop()
    if x.rank == 1:
        shape.pop(-1 if other.rank == 1 else -2)
    return reshape(b, result, shape)


@converter("torch.aten.mv")
def convert_mv(b: Builder, x: Tensor, vector: Tensor) -> Tensor:
    return convert_matmul(b, x, vector)


@converter("torch.aten.dot", "torch.aten.vdot")
def convert_dot(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return convert_matmul(b, x, other)


@converter("torch.aten.outer", "torch.aten.ger")
def convert_outer(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    column = b.view(x, [x.shape[0], 1], lambda i, j: [i])
    return b.mul(column, other)


def _scaled_sum(b: Builder, bias: Tensor, product: Tensor, beta: Operand, alpha: Operand) -> Tensor:
    """beta * bias + alpha * product in the product's (wide) dtype, rounded once; beta 0 ignores the bias."""
    terms = product if alpha == 1 else b.mul(product, alpha)
    if beta == 0:
        return b.cast(terms, bias.dtype)
    wide = b.cast(bias, product.dtype)
    return b.cast(b.add(terms, wide if beta == 1 else b.mul(wide, beta)), bias.dtype)


@converter("torch.aten.addmm", "torch.aten.baddbmm")
def convert_addmm(
    b: Builder, bias: Tensor, x: Tensor, other: Tensor, beta: Operand, alpha: Operand
) -> Tensor:
    return _scaled_sum(b, bias, product_wide(b, x, other), beta, alpha)


@converter("torch.aten.addbmm")
def convert_addbmm(
    b: Builder, bias: Tensor, x: Tensor, other: Tensor, beta: Operand, alpha: Operand
) -> Tensor:
    return _scaled_sum(b, bias, b.sum_reduce(product_wide(b, x, other), [0]), beta, alpha)


@converter("torch.aten.addmv")
def convert_addmv(
    b: Builder, bias: Tensor, x: Tensor, vector: Tensor, beta: Operand, alpha: Operand
) -> Tensor:
    column = b.view(vector, [vector.shape[0], 1], lambda i, j: [i])
    product = product_wide(b, x, column)
    return _scaled_sum(b, bias, b.view(product, [product.shape[0]], lambda i: [i, 0]), beta, alpha)


@converter("torch.aten.addr")
def convert_addr(b: Builder, bias: Tensor, x: Tensor, other: Tensor, beta: Operand, alpha: Operand) -> Tensor:
    column = b.view(x, [x.shape[0], 1], lambda i, j: [i])
    wide = opmath(x.dtype)
    return _scaled_sum(b, bias, b.mul(b.cast(column, wide), b.cast(other, wide)), beta, alpha)


@converter("torch.aten.linear")
def convert_linear(b: Builder, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    transposed = b.view(weight, weight.shape[::-1], lambda *dims: dims[::-1])
    left = b.view(x, [1, *x.shape], lambda *dims: dims[1:]) if x.rank == 1 else x
    right = transposed if transposed.rank == 2 else b.view(weight, [weight.shape[0], 1], lambda i, j: [i])
    product = product_wide(b, left, right)
    if bias is not None:
        product = b.add(product, b.cast(bias, product.dtype))
    shape = [*x.shape[:-1], *([weight.shape[0]] if weight.rank == 2 else [])]
    return reshape(b, b.cast(product, x.dtype), shape)


@converter("torch.aten._cdist_forward")
def convert_cdist(b: Builder, x: Tensor, other: Tensor, order: float, _mode: int | None) -> Tensor:
    """Euclidean distances between the rows of two matrices."""
    if order != 2:
        raise Unsupported(f"cdist of order {order}")
    left = b.view(x, [*x.shape[:-1], expr(1), x.shape[-1]], lambda *dims: [*dims[:-2], dims[-1]])
    right = b.view(
        other, [*other.shape[:-2], expr(1), *other.shape[-2:]], lambda *dims: [*dims[:-3], dims[-2], dims[-1]]
    )

    def compute(b: Builder, p: Tensor, q: Tensor) -> Tensor:
        difference = composite.sub(b, p, q)
        return b.sqrt(b.sum_reduce(b.mul(difference, difference), [p.rank - 1]))

    return in_opmath(b, compute, x.dtype, left, right)


@converter("torch.aten._trilinear")
def convert_trilinear(
    b: Builder,
    x: Tensor,
    y: Tensor,
    z: Tensor,
    new_x: Sequence[int],
    new_y: Sequence[int],
    new_z: Sequence[int],
    summed: Sequence[int],
    _unroll: int = 1,
) -> Tensor:
    """sum_reduce(mul(mul(x, z), y)) of the operands with axes of size one put in at `new_*`: with the two
    operands of nn.Bilinear multiplied first, what remains is one matrix product with the weight."""
    rank = x.rank + len(new_x)

    def place(tensor: Tensor, axes: Sequence[int]) -> Tensor:
        for axis in sorted(axis % rank for axis in axes):
            tensor = unsqueeze(b, tensor, axis)
        return b.cast(tensor, opmath(x.dtype))

    product = b.mul(b.mul(place(x, new_x), place(z, new_z)), place(y, new_y))
    return b.cast(b.sum_reduce(product, sorted({axis % rank for axis in summed})), x.dtype)
