"""Saturation keeps every program's meaning: kernels chosen by extraction against primitives, both
interpreted, and against eager.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

from luminal.dialects.mlir import ir
from luminal.errors import RuleError
from luminal.passes.eqsat.index_table import IndexTable
from luminal.passes.eqsat.saturate import Saturation
from luminal.passes.eqsat.terms import prelude
from luminal.passes.luminal_eqsat import LuminalEqsatOptions, luminal_eqsat
from luminal.passes.torch_to_luminal.frontend import import_exported_program
from luminal.runtime.interpreter import run_l1, run_l2


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def randn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def attention(q, k, v, mask):
    k = k[:, :, None].expand(1, 2, 3, k.shape[2], 4).reshape(1, 6, k.shape[2], 4)
    v = v[:, :, None].expand(1, 2, 3, v.shape[2], 4).reshape(1, 6, v.shape[2], 4)
    scores = q @ k.transpose(-1, -2) / math.sqrt(4.0) + mask
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(1, q.shape[2], 24)


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def cache_write(cache, new, at):
    cache = cache.index_copy(1, at, new)
    return cache, cache[:, :3].sum(-1)


special = torch.tensor([0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e-40, 3e38, 0.5])

PROGRAMS = {
    "softmax": (lambda x: x.softmax(-1), (randn(3, 7),)),
    "layer norm, gelu, softmax": (
        lambda x, w, b: F.gelu(F.layer_norm(x, (16,), w, b)).softmax(-1),
        (randn(3, 16), randn(16), randn(16)),
    ),
    "rms norm and linear": (
        lambda x, w, g: (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g) @ w.t(),
        (randn(5, 8), randn(6, 8), randn(8)),
    ),
    "linear, bias, residual": (
        lambda x, w, b, r: F.linear(x, w, b) + r,
        (randn(5, 8), randn(6, 8), randn(6), randn(5, 6)),
    ),
    "gated": (lambda x, a, b: F.silu(x @ a) * (x @ b), (randn(3, 8), randn(8, 5), randn(8, 5))),
    "transposed operands": (lambda a, b: a.t() @ b.t(), (randn(4, 3), randn(5, 4))),
    "batched, broadcast": (lambda a, b: a @ b, (randn(2, 1, 3, 4), randn(5, 4, 6))),
    "matrix-vector": (lambda a, b: (a @ b).exp(), (randn(7, 9), randn(9))),
    "outer sum": (lambda a, b: (a[:, None] * b[None]).sum(), (randn(4), randn(6))),
    "attention": (attention, (randn(1, 6, 3, 4), randn(1, 2, 5, 4), randn(1, 2, 5, 4), randn(3, 5))),
    "rope": (rotate, (randn(2, 3, 8), randn(3, 8), randn(3, 8))),
    "cat": (lambda a, b, c: torch.cat([a, b * 2, c], 1), (randn(2, 3), randn(2, 1), randn(2, 4))),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0).sum(-1), (randn(3, 4),)),
    "where": (lambda c, a, b: torch.where(c > 0, a, b), (randn(10), special, -special)),
    "special values": (
        lambda x, y: (
            x + y,
            x * y,
            x / y,
            x - y,
            torch.maximum(x, y),
            torch.minimum(x, y),
            x.relu(),
            x.abs(),
            -x,
        ),
        (special, special.flip(0)),
    ),
    "comparisons": (
        lambda x, y: (x < y, x <= y, x == y, x != y, x > y, x.isnan()),
        (special, special.flip(0)),
    ),
    "rounding": (lambda x: (x.floor(), x.ceil(), x.trunc()), (special * 1.7,)),
    "transcendental": (
        lambda x: (x.exp(), x.log(), x.sigmoid(), x.tanh(), x.erf(), x.sin(), x.cos()),
        (special.clamp(-50, 50),),
    ),
    "integers": (
        lambda x, y: (x + y, x * y, x % y, x - y, x.sum(), x.max()),
        (torch.arange(-4, 4), torch.tensor([3, -2, 5, -7, 1, 2, 3, 4])),
    ),
    "booleans": (
        lambda x, y: (x & y, x | y, x ^ y, ~x, x.any(), x.sum()),
        (randn(9) > 0, randn(9, seed=1) > 0),
    ),
    "embedding": (lambda i, w: F.embedding(i, w) * 2, (torch.tensor([[1, 0, 3]]), randn(4, 5))),
    "gather, negative index": (lambda x, i: x[i], (randn(4, 3), torch.tensor([-1, 0, 2]))),
    "flat positions": (
        lambda x, i: (x.take(i), x.reshape(-1)[i].reshape(2, 2), x.t().reshape(-1)[i]),
        (randn(4, 5), torch.tensor([0, 19, 7, 3])),
    ),
    "computed positions": (
        lambda x: (
            x[torch.arange(3)],
            x[:, torch.arange(2) * 2 + 1],
            x[-1 - torch.arange(2)],
            x[torch.arange(4) % 3],
        ),
        (randn(4, 5),),
    ),
    "causal mask from positions": (
        lambda x: x.masked_fill(torch.arange(5)[:, None] < torch.arange(5)[None] - 1, -1e9).softmax(-1),
        (randn(5, 5),),
    ),
    "masks of constants": (
        lambda x: (
            torch.where(torch.ones(3, dtype=torch.bool) & (x > 0), x, 0),
            torch.where(torch.zeros(3, dtype=torch.bool) | (x > 0), x, 0),
            x.long() * 0 + 1,
            torch.arange(3) < 7,
            torch.arange(3) < 0,
        ),
        (randn(3),),
    ),
    "constants in products of several ranks": (
        lambda x, w: F.layer_norm(x.mean((-2, -1)), (6,), w) * torch.ones(6) @ torch.ones(6, 6),
        (randn(2, 6, 3, 3), randn(6)),
    ),
    "cache write": (cache_write, (randn(2, 5, 3), randn(2, 1, 3), torch.tensor([2]))),
    "scatter add": (
        lambda x, i, u: x.index_add(0, i, u),
        (randn(4, 2), torch.tensor([1, 1, 3]), randn(3, 2)),
    ),
    "conv": (
        lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1).relu(),
        (randn(2, 3, 5, 6), randn(4, 3, 3, 3), randn(4)),
    ),
    "depthwise conv": (lambda x, w: F.conv2d(x, w, groups=3), (randn(1, 3, 4, 4), randn(3, 1, 2, 2))),
    "max pool": (lambda x: F.max_pool2d(x, 3, 2, 1), (randn(1, 2, 6, 7),)),
    "batch norm": (
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        (randn(2, 3, 4), randn(3), randn(3).abs(), randn(3), randn(3)),
    ),
    "cumsum": (lambda x: x.cumsum(0), (randn(6, 2),)),
    "views": (
        lambda x: (x.t().reshape(2, 6) + 1, x.flip(0), x[:, ::2], x.expand(2, 3, 4).sum(0)),
        (randn(3, 4),),
    ),
    "half": (
        lambda a, b: (a @ b + 1).softmax(-1),
        (randn(3, 4, dtype=torch.bfloat16), randn(4, 5, dtype=torch.bfloat16)),
    ),
    "double": (
        lambda a, b: (a @ b).tanh(),
        (randn(3, 4, dtype=torch.float64), randn(4, 5, dtype=torch.float64)),
    ),
    "empty": (lambda x: (x.sum(0), x * 2), (torch.zeros(0, 3),)),
    "rank 0": (lambda x: x.exp() + x, (torch.tensor(0.5),)),
    "aliased results": (lambda x: (x * 1, x.clone(), x + 0), (randn(3),)),
    "constants": (lambda x: (torch.ones(3) * 2 + x, torch.arange(4).sum(), torch.zeros(2, 2)), (randn(3),)),
}


def to_numpy(tensor):
    array = tensor.detach().contiguous()
    return array.view(torch.uint16).numpy() if array.dtype == torch.bfloat16 else array.numpy()


def from_numpy(array, like):
    tensor = torch.from_numpy(np.array(array))
    return tensor.view(torch.bfloat16) if like.dtype == torch.bfloat16 else tensor


def check(module, args, shapes=None, options=None):
    want = module(*args)
    want = list(want) if isinstance(want, tuple) else [want]
    exported = torch.export.export(module, args, dynamic_shapes=shapes, strict=False)
    program = import_exported_program(exported)
    arrays = [to_numpy(a.tensor if a.tensor is not None else args[a.position]) for a in program.arguments]
    with program.module.context, ir.Location.unknown():
        primitives = run_l1(program.module, arrays)
        luminal_eqsat(program.module.operation, options or LuminalEqsatOptions())
        assert program.module.operation.verify()
        assert "luminal.add" not in str(program.module)
        kernels = run_l2(program.module, arrays)
        text = str(program.module)
    for output, expected in zip(program.outputs, want, strict=True):
        tolerance = {torch.bfloat16: 2e-2, torch.float64: 1e-6}.get(expected.dtype, 2e-5)
        for results in (primitives, kernels):
            got = from_numpy(results[output.result], expected)
            torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    return text


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_mean_what_primitives_mean(name):
    function, args = PROGRAMS[name]
    check(Function(function), args)


class Weighted(torch.nn.Module):
    """A block whose weights are parameters, so that they are packed into panels (with and without a
    remainder).
    """

    def __init__(self, width, hidden):
        super().__init__()
        torch.manual_seed(0)
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, hidden), torch.nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


@pytest.mark.parametrize(("width", "hidden"), [(8, 32), (5, 33)])
@pytest.mark.parametrize("batch", [1, 3])
def test_dynamic_block_with_packed_weights(width, hidden, batch):
    check(Weighted(width, hidden).eval(), (randn(batch + 1, width),), ({0: Dim("batch", min=1, max=64)},))


@pytest.mark.parametrize("family", ["algebra", "recognition", "contractions", "scatters"])
def test_a_family_switched_off_changes_speed_only(family):
    check(Weighted(8, 32).eval(), (randn(3, 8),), options=LuminalEqsatOptions(disable=(family,)))


def test_single_rules_can_be_switched_off():
    with ir.Context(), ir.Location.unknown():
        Saturation(IndexTable(), ("exp", "mul-commutes"))
        with pytest.raises(RuleError, match="'mul-comutes'; families: .*close: mul-commutes"):
            Saturation(IndexTable(), ("mul-comutes",))


def test_every_rule_has_a_name_of_its_own():
    rules = [command for command in prelude() if command.startswith("(rule ")]
    names = [command.rpartition(':name "')[2].partition('"')[0] for command in rules]
    assert all(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_extractable_program_is_equivalent(name, seed):
    """Programs drawn at random from the e-graph, not only the cheapest one."""
    function, args = PROGRAMS[name]
    check(Function(function), args, options=LuminalEqsatOptions(sample=seed))


def test_restarts_keep_the_meaning_and_the_seed_decides():
    def kernels(seed):
        options = LuminalEqsatOptions(restarts=3, seed=seed)
        return check(Weighted(8, 32).eval(), (randn(3, 8),), options=options)

    assert kernels(1) == kernels(1)
