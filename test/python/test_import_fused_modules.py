"""Operators that PyTorch fuses for whole modules: attention fast paths, bags of embeddings, bilinear forms,
folding, and index grids."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from import_check import DYNAMIC, INF, NAN, check, import_function, randn
from torch import nn

from luminal.errors import ImportFailure, InputError

aten = torch.ops.aten
WIDTH, HEADS = 8, 2


def projections(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    shapes = ((3 * WIDTH, WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,))
    return [randn(*shape, seed=k, dtype=dtype) * 0.3 for k, shape in enumerate(shapes)]


def padding_mask() -> torch.Tensor:
    mask = torch.zeros(2, 5, dtype=torch.bool)
    mask[1, 3:] = True
    return mask


MASKS = {
    "none": (None, None),
    "source": (torch.ones(5, 5, dtype=torch.bool).triu(1), 0),
    "padding": (padding_mask(), 1),
    "whole": ((randn(2, HEADS, 5, 5) > 0.8) & ~torch.eye(5, dtype=torch.bool), 2),
    "numbers": (torch.zeros(5, 5).masked_fill(torch.ones(5, 5).triu(1) > 0, -INF), 0),
    "nothing left": (torch.ones(5, 5, dtype=torch.bool), 0),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("weights", [(False, True), (True, True), (True, False)])
def test_native_multi_head_attention(name: str, weights: tuple[bool, bool]):
    mask, kind = MASKS[name]

    def attend(q, k, v, *parameters):
        result = aten._native_multi_head_attention(q, k, v, WIDTH, HEADS, *parameters, mask, *weights, kind)
        return result if weights[0] else result[0]

    query, key, value = (randn(2, 5, WIDTH, seed=k) for k in range(3))
    check(attend, query, key, value, *projections())
    check(lambda q, *parameters: attend(q, q, q, *parameters), query, *projections())


def encoder(norm_first: bool, gelu: bool, mask: torch.Tensor | None, kind: int | None, dtype: torch.dtype):
    sizes = [(WIDTH,)] * 4 + [(16, WIDTH), (16,), (WIDTH, 16), (WIDTH,)]
    rest = [randn(*size, seed=k + 7, dtype=dtype) for k, size in enumerate(sizes)]

    def run(x, *parameters):
        return aten._transformer_encoder_layer_fwd(
            x, WIDTH, HEADS, *parameters[:4], gelu, norm_first, 1e-5, *parameters[4:], mask, kind
        )

    return run, [*projections(dtype), *rest]


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("name", ["none", "padding"])
def test_encoder_layer(norm_first: bool, gelu: bool, name: str):
    run, parameters = encoder(norm_first, gelu, *MASKS[name], torch.float32)
    check(run, randn(2, 5, WIDTH, seed=40), *parameters)


def test_encoder_layer_of_any_length_and_in_f64():
    run, parameters = encoder(False, False, None, None, torch.float64)
    x = randn(2, 5, WIDTH, seed=3, dtype=torch.float64)
    dynamic = [{0: DYNAMIC, 1: DYNAMIC}, *[None] * len(parameters)]
    check(run, x, *parameters, more=[(randn(3, 4, WIDTH, dtype=torch.float64), *parameters)], dynamic=dynamic)


def test_unknown_kinds_of_mask_are_refused():
    with pytest.raises(ImportFailure, match="mask_type 7"):
        import_function(lambda x, m: aten._masked_softmax(x, m, 3, 7), randn(2, 2, 5, 5), MASKS["whole"][0])


def test_modules_on_the_fast_path():
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True, activation="gelu")
    model = nn.TransformerEncoder(layer, 2).eval()
    attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).eval()
    x, mask = randn(2, 5, WIDTH), MASKS["source"][0]
    torch._dynamo.reset()
    with torch.no_grad():
        got = torch.compile(model, backend="luminal")(x, mask)
        torch.testing.assert_close(got, model(x, mask), rtol=1e-4, atol=1e-5)
        run = torch.compile(lambda x: attention(x, x, x, average_attn_weights=False), backend="luminal")
        for ours, theirs in zip(run(x), attention(x, x, x, average_attn_weights=False), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_sizes_that_torch_leaves_open_are_fixed():
    """The trace of the fused layer does not say that its input has the width of the weights."""
    model = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True).eval()
    torch._dynamo.reset()
    run = torch.compile(model, backend="luminal", dynamic=True)
    with torch.no_grad():
        for shape in ((2, 5, WIDTH), (3, 4, WIDTH)):
            x = randn(*shape)
            torch.testing.assert_close(run(x), model(x), rtol=1e-4, atol=1e-5)
        with pytest.raises(InputError, match="expected 8"):
            run(randn(2, 5, WIDTH + 2))


def test_regular_bags_of_any_size():
    layer = nn.EmbeddingBag(6, 3, mode="mean")
    torch._dynamo.reset()
    run = torch.compile(layer, backend="luminal", dynamic=True)
    with torch.no_grad():
        for shape in ((2, 3), (7, 5)):
            indices = torch.arange(shape[0] * shape[1]).view(shape) % 6
            torch.testing.assert_close(run(indices), layer(indices))


INDICES = torch.tensor([1, 2, 2, 4, 5, 1, 0])
OFFSETS = torch.tensor([0, 2, 2, 5])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("last", [False, True])
def test_embedding_bags(mode: str, padding: int | None, last: bool):
    offsets = torch.tensor([0, 2, 2, 5, 7]) if last else OFFSETS

    def bags(weight, indices, offsets):
        return F.embedding_bag(
            indices, weight, offsets, mode=mode, padding_idx=padding, include_last_offset=last
        )

    check(bags, randn(6, 3), INDICES, offsets)
    check(bags, randn(6, 3, dtype=torch.float64), INDICES.int(), offsets.int())


@pytest.mark.parametrize("arguments", [(0, -1), (0, 2), (1, -1), (1, 2), (2, -1), (2, 2)])
def test_all_results_of_embedding_bag(arguments: tuple[int, int]):
    mode, padding = arguments

    def bags(weight):
        return aten._embedding_bag(weight, INDICES, OFFSETS, False, mode, False, None, False, padding)

    check(bags, randn(6, 3))


def test_weighted_and_regular_bags():
    def weighted(weight, scales):
        return F.embedding_bag(INDICES, weight, OFFSETS, mode="sum", per_sample_weights=scales)

    check(weighted, randn(6, 3), randn(7, seed=1))
    check(lambda w, i: F.embedding_bag(i, w), randn(6, 3), INDICES[:6].view(2, 3))
    check(lambda w, i: F.embedding_bag(i, w), randn(6, 3, dtype=torch.bfloat16), INDICES[:6].view(2, 3))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_gradients_of_embedding_bags(mode: str):
    layer = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    torch._dynamo.reset()
    scales = randn(7, seed=2).requires_grad_() if mode == "sum" else None

    def gradients(function):
        layer.zero_grad()
        inputs = (INDICES, OFFSETS) if scales is None else (INDICES, OFFSETS, scales)
        (function(*inputs) * torch.arange(12.0).view(4, 3)).sum().backward()
        found = [layer.weight.grad]
        if scales is not None:
            found.append(scales.grad)
            scales.grad = None
        return found

    expected = gradients(layer)
    for ours, theirs in zip(gradients(torch.compile(layer, backend="luminal")), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_bilinear(dtype: torch.dtype):
    x, y, w, bias = (
        randn(*s, seed=k, dtype=dtype) for k, s in enumerate([(2, 6, 3), (2, 6, 4), (5, 3, 4), (5,)])
    )
    check(lambda x, y, w, bias: F.bilinear(x, y, w, bias), x, y, w, bias)
    check(lambda x, y, w: F.bilinear(x, y, w), x, y, w, dynamic=[{1: DYNAMIC}, {1: DYNAMIC}, None])


def test_log_sigmoid():
    x = torch.tensor([-INF, -100.0, -1.0, -0.0, 0.5, 100.0, INF, NAN])
    check(F.logsigmoid, x)
    check(F.logsigmoid, randn(9, dtype=torch.bfloat16))
    check(lambda x: aten.log_sigmoid_forward(x), x)
    check(lambda x, y: F.binary_cross_entropy_with_logits(x, y), randn(4, 5), randn(4, 5, seed=1).sigmoid())


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 5), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 5])
def test_triangles(shape: tuple[int, int], offset: int):
    check(
        lambda x: (torch.tril_indices(*shape, offset), torch.triu_indices(*shape, offset) + x), torch.zeros(1)
    )


def test_fold_adds_up_overlapping_windows():
    def fold(x):
        return F.fold(F.unfold(x, 3, padding=1, stride=2, dilation=1), (6, 7), 3, padding=1, stride=2)

    check(fold, randn(2, 3, 6, 7))
    check(lambda x: F.fold(x, (5, 4), (2, 2), padding=(1, 0), dilation=(2, 1)), randn(2, 8, 15))


def test_skipped_axes_among_indices():
    index = torch.tensor([0, 2, -1])

    def put(x, values):
        result = x.clone()
        result[:, index] = values
        return result

    check(put, randn(2, 4, 3), randn(2, 3, 3, seed=1))
    check(lambda x, v: aten.index_put(x, [None, index], v, True), randn(2, 4, 3), randn(2, 3, 3, seed=1))
    check(lambda x, v: aten._unsafe_index_put(x, [None, index], v), randn(2, 4), randn(2, 3, seed=1))
    check(lambda x: x[:, index, :, index], randn(2, 4, 3, 5))


def test_what_the_importer_gives_up_on_is_named():
    with pytest.raises(ImportFailure, match=r"(?s)aten.to.dtype: .*complex.*at .*import_check.py:\d+"):
        import_function(lambda x: x.to(torch.complex128) * 2, randn(3))
