"""Random numbers: reproducible under torch.manual_seed, different in every call, with eager's
distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from import_check import import_function
from torch import nn

import luminal
from luminal.errors import ImportFailure
from luminal.passes.torch_to_luminal.builder import STATE_STEP
from luminal.runtime.binding import draw_seed
from luminal.runtime.interpreter import run_l1

SHAPE = (256, 256)
MASK = (1 << 64) - 1


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    torch._dynamo.reset()
    torch.manual_seed(1)
    return torch.compile(function, backend="luminal", fullgraph=True)


def close(sample: torch.Tensor, mean: float, variance: float, fourth: float) -> None:
    """Mean and variance within five standard errors; `fourth` is the central moment E (x - mean)^4."""
    values = sample.double()
    count = values.numel()
    assert abs(values.mean().item() - mean) < 5 * math.sqrt(variance / count)
    error = math.sqrt((fourth - variance**2) / count)
    assert abs(((values - mean) ** 2).mean().item() - variance) < 5 * error + 1e-12


def distance(sample: torch.Tensor, distribution: Callable[[torch.Tensor], torch.Tensor]) -> float:
    """The statistic of Kolmogorov and Smirnov times sqrt(n): above 2.2 with probability 1e-4."""
    values = sample.double().flatten().sort().values
    count = values.numel()
    expected, place = distribution(values), torch.arange(count, dtype=torch.float64)
    largest = torch.maximum((place + 1) / count - expected, expected - place / count).max()
    return largest.item() * math.sqrt(count)


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """In standard errors."""
    pair = torch.stack([a.double().flatten(), b.double().flatten()])
    return torch.corrcoef(pair)[0, 1].item() * math.sqrt(a.numel())


def squares(i: int, key: int) -> int:
    """The generator as published, on Python integers."""
    y = i * key & MASK
    z = y + key & MASK
    x = y
    for term in (y, z, y):
        x = x * x + term & MASK
        x = (x >> 32) | (x << 32) & MASK
    return (x * x + z & MASK) >> 32


def published(seed: int, number: int, count: int) -> list[float]:
    """What torch.rand gives as use `number` of the seed."""
    state = seed + (number + 1) * STATE_STEP & MASK
    high, low = squares(state, 0x548C9DECBCE65297), squares(state, 0xC58EFD154CE32F6D)
    key = high << 32 | low | 1
    return [(squares(i, key) >> 8) / 2**24 for i in range(count)]


def test_bits_are_those_of_the_published_generator():
    program = import_function(lambda x: (torch.rand_like(x), torch.rand_like(x)), torch.zeros(3, 5))
    assert program.arguments[-1].kind == "seed"
    seed = 0x0123456789ABCDEF
    got = run_l1(program.module, [np.zeros((3, 5), np.float32), np.array(seed)][-len(program.arguments) :])
    for number, values in enumerate(got):
        assert values.flatten().tolist() == published(seed, number, 15)


def test_compiled_bits():
    run = compiled(lambda x: (torch.rand_like(x), torch.rand_like(x)))
    run(torch.zeros(300))
    torch.manual_seed(7)
    got = run(torch.zeros(300))
    torch.manual_seed(7)
    seed = draw_seed().item()
    for number, values in enumerate(got):
        assert values.tolist() == published(seed, number, 300)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_uniform_and_normal(dtype: torch.dtype):
    def draw(x):
        return torch.rand_like(x), torch.randn_like(x), torch.rand(SHAPE, dtype=dtype)

    run = compiled(draw)
    x = torch.zeros(SHAPE, dtype=dtype)
    uniform, normal, other = run(x)
    assert uniform.dtype == normal.dtype == dtype
    assert uniform.min() >= 0 and uniform.max() < 1
    shift = {torch.bfloat16: 2**-9, torch.float16: 2**-12}.get(dtype, 0)  # the mean of multiples of 2^-k
    close(uniform.double() + shift, 0.5, 1 / 12, 1 / 80)
    close(normal, 0, 1, 3)
    if dtype in (torch.float32, torch.float64):
        assert distance(uniform, lambda v: v) < 2.2
        assert distance(normal, lambda v: (1 + torch.erf(v / math.sqrt(2))) / 2) < 2.2
    assert abs(correlation(uniform, other)) < 5 and abs(correlation(uniform, normal)) < 5
    assert abs(correlation(normal[:, 1:], normal[:, :-1])) < 5


def test_calls_differ_and_the_seed_reproduces_them():
    run = compiled(lambda x: x + torch.randn_like(x))
    x = torch.zeros(SHAPE)
    first, second = run(x), run(x)
    torch.manual_seed(1)
    assert torch.equal(run(x), first) and torch.equal(run(x), second)
    assert abs(correlation(first, second)) < 5


def test_bernoulli():
    def draw(p, x):
        return torch.bernoulli(p), torch.empty_like(x).bernoulli_(0.3), x.clone().bernoulli_(p)

    run = compiled(draw)
    p = torch.rand(SHAPE)
    for sample in (run(p, p)[0], run(p, p)[2]):
        assert ((sample == 0) | (sample == 1)).all()
        close(sample - p, 0, 1 / 6, 1 / 15)
    close(run(p, p)[1], 0.3, 0.21, 0.3 * 0.7**4 + 0.7 * 0.3**4)
    edges = torch.tensor([0.0, 1.0]).repeat(5000)
    assert torch.equal(run(edges, edges)[0], edges)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certain_probabilities(p: float):
    run = compiled(lambda x: (F.dropout(x, p), torch.empty_like(x).bernoulli_(p)))
    dropped, coin = run(torch.ones(1000))
    assert (dropped == 1 - p).all() and (coin == p).all()


def test_integers():
    def draw(x):
        return (
            torch.randint(-3, 7, (64, 1024)),
            torch.randint(0, 2**40, (64, 1024)),
            torch.randint_like(x, 5),
            torch.randint(9, (3,), dtype=torch.int32),
        )

    small, large, like, narrow = compiled(draw)(torch.zeros(1000))
    assert small.min() == -3 and small.max() == 6
    close(small, 1.5, 99 / 12, sum((k - 1.5) ** 4 for k in range(-3, 7)) / 10)
    assert distance(large.double() / 2**40, lambda v: v) < 2.2
    assert set(like.tolist()) == {0, 1, 2, 3, 4}
    assert narrow.dtype == torch.int32


def test_permutations():
    run = compiled(lambda x: x[torch.randperm(6)])
    seen = torch.stack([run(torch.arange(6)) for _ in range(400)])
    assert (seen.sort(1).values == torch.arange(6)).all()
    counts = torch.stack([(seen == value).sum(0) for value in range(6)]).double()
    assert ((counts - 400 / 6) ** 2 / (400 / 6)).sum() < 60  # chi squared, 25 degrees of freedom: 1e-4


def test_parameters_of_distributions():
    def draw(x):
        return (
            x.clone().uniform_(-2, 6),
            x.clone().normal_(3, 0.5),
            x.clone().exponential_(4.0),
            torch.normal(x + 1, x + 2),
        )

    uniform, normal, exponential, around = compiled(draw)(torch.zeros(SHAPE))
    close(uniform, 2, 64 / 12, 4096 / 80)
    close(normal, 3, 0.25, 3 / 16)
    close(exponential, 0.25, 1 / 16, 9 / 256)
    close(around, 1, 4, 48)
    assert exponential.min() > 0
    assert distance(exponential, lambda v: 1 - torch.exp(-4 * v)) < 2.2


def test_further_distributions():
    def draw(x):
        return x.clone().log_normal_(0, 0.5), x.clone().cauchy_(1, 2), x.clone().geometric_(0.3)

    log_normal, cauchy, geometric = compiled(draw)(torch.zeros(SHAPE))
    assert distance(log_normal, lambda v: (1 + torch.erf(v.log() / 0.5 / math.sqrt(2))) / 2) < 2.2
    assert distance(cauchy, lambda v: torch.atan((v - 1) / 2) / math.pi + 0.5) < 2.2
    close(geometric, 1 / 0.3, 0.7 / 0.09, (0.7 / 0.09) ** 2 * (9 + 0.09 / 0.7))
    assert geometric.min() == 1


def test_random_slopes_of_leaky_relu():
    run = compiled(lambda x: F.rrelu(x, 0.1, 0.3, training=True))
    y = run(torch.full(SHAPE, -1.0))
    close(-y, 0.2, 0.04 / 12, 0.0016 / 80)
    assert torch.equal(run(torch.ones(5)), torch.ones(5))


def test_programs_without_inputs():
    run = compiled(lambda: torch.rand(3))
    assert not torch.equal(run(), run())


@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(replacement: bool):
    weights = torch.tensor([[1.0, 0.0, 3.0, 4.0]]).expand(2000, 4).contiguous()
    run = compiled(lambda p: torch.multinomial(p, 2, replacement))
    chosen = run(weights)
    assert chosen.dtype == torch.int64 and chosen.shape == (2000, 2) and not (chosen == 1).any()
    first = torch.bincount(chosen[:, 0], minlength=4) / 2000
    assert torch.allclose(first, torch.tensor([0.125, 0, 0.375, 0.5]), atol=0.05)
    assert replacement or (chosen[:, 0] != chosen[:, 1]).all()


def test_dropout_in_training_uses_one_mask_forward_and_backward():
    run = compiled(lambda x: F.dropout(x * 2, 0.25))
    x = torch.ones(SHAPE, requires_grad=True)
    y = run(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    values = y.detach() * 0.375
    assert set(values.unique().tolist()) == {0.0, 1.0}
    close(values, 0.75, 0.1875, 0.75 * 0.25**4 + 0.25 * 0.75**4)


@pytest.mark.parametrize("layer", [nn.Dropout1d(0.5), nn.Dropout2d(0.5), nn.AlphaDropout(0.3)])
def test_other_dropouts(layer: nn.Module):
    x = torch.ones(50, 40, 3, 4) if isinstance(layer, nn.Dropout2d) else torch.ones(50, 40, 12)
    y = compiled(layer.train())(x)
    if isinstance(layer, nn.AlphaDropout):
        return close(torch.where(y > 0, 1.0, 0.0), 0.7, 0.21, 0.7 * 0.3**4 + 0.3 * 0.7**4)
    channels = y.flatten(2)
    assert (channels == channels[..., :1]).all() and set(y.unique().tolist()) == {0.0, 2.0}


def test_alpha_dropout_of_an_exported_program():
    for function, last in ((F.alpha_dropout, 30), (F.feature_alpha_dropout, 1)):
        model = luminal.compile(lambda x, f=function: f(x, 0.3, True), (torch.zeros(50, 40, 30),))
        y = model(torch.randn(50, 40, 30)[..., :1].expand(50, 40, 30).contiguous())
        assert abs(y.mean()) < 0.12 and abs(y.var() - 1) < 0.15
        assert torch.unique(y[0, 0]).numel() <= min(last, 2)


def test_modules_and_attention_in_training():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU(), nn.Dropout(0.5))

        def forward(self, x):
            y = self.layer(x)
            return F.scaled_dot_product_attention(y, y, y, dropout_p=0.3)

    block = Block().train()
    run = compiled(block)
    x = torch.randn(2, 3, 5, 8, requires_grad=True)
    first, second = run(x), run(x)
    assert not torch.equal(first, second)
    first.sum().backward()
    assert x.grad is not None and x.grad.isfinite().all()


def test_dynamic_sizes_and_empty_tensors():
    sizes = {0: torch.export.Dim("rows", min=0), 1: torch.export.Dim("columns", min=0)}
    model = luminal.compile(lambda x: F.dropout(x, 0.5, True), (torch.ones(4, 6),), dynamic_shapes=(sizes,))
    for shape in ((4, 6), (0, 3), (300, 200)):
        y = model(torch.ones(shape))
        assert y.shape == shape and set(y.unique().tolist()) <= {0.0, 2.0}
    close(y, 1, 1, 1)


def test_half_types_and_infinities_in_dropout():
    run = compiled(lambda x: F.dropout(x, 0.5))
    y = run(torch.full((1000,), 3, dtype=torch.bfloat16))
    assert y.dtype == torch.bfloat16 and set(y.unique().tolist()) == {0.0, 6.0}
    z = run(torch.full((1000,), float("inf")))
    assert set(z[~z.isnan()].tolist()) == {float("inf")} and z.isnan().any()  # inf * 0, as in eager


def test_numbers_written_into_a_tensor_by_an_exported_program():
    model = luminal.compile(lambda x: x.clone().random_(3), (torch.zeros(300),))
    assert set(model(torch.zeros(300)).tolist()) == {0, 1, 2}


def test_numbers_that_are_no_probabilities_are_refused():
    with pytest.raises(ImportFailure, match="probability 1.5"):
        import_function(lambda x: torch.ops.aten.bernoulli.p(x, 1.5), torch.zeros(3))
