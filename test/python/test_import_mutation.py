"""In-place ops of exported programs, rewritten without tracing again, against PyTorch eager: results and what
inputs and buffers hold afterwards."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from luminal.passes.torch_to_luminal.frontend import ImportedProgram, import_exported_program
from luminal.runtime.interpreter import run_l1
from test.support.import_check import DYNAMIC, randn


class Stateful(torch.nn.Module):
    """`function(state, *inputs)`, `state` being a buffer of (6, 4)."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("state", randn(6, 4, seed=7))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.state, *inputs)


def clones(values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [value.clone() for value in values]


def compare(
    function: Callable[..., Any],
    *calls: Sequence[torch.Tensor],
    dynamic: Sequence[dict[int, Any] | None] | None = None,
    retraced: bool = False,
    caplog: pytest.LogCaptureFixture,
) -> ImportedProgram:
    """Export for the first call's inputs, run all calls one after the other; the buffer's state goes on."""
    module: Any = Stateful(function)
    eager = copy.deepcopy(module)
    with torch.no_grad():
        shapes = (tuple(dynamic),) if dynamic is not None else None
        exported = torch.export.export(module, tuple(clones(calls[0])), dynamic_shapes=shapes, strict=False)
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="luminal.passes.torch_to_luminal.frontend"):
            program = import_exported_program(exported)
        assert ("again" in caplog.text) == retraced, caplog.text
        for inputs in calls:
            ours, theirs = clones(inputs), clones(inputs)
            wanted = tree_leaves(eager(*theirs))
            got = run(program, module, ours)
            for mine, other in zip([*got, *ours, module.state], [*wanted, *theirs, eager.state], strict=True):
                assert mine.dtype == other.dtype
                torch.testing.assert_close(mine, other)
    return program


def run(program: ImportedProgram, module: Any, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """The outputs; mutations are applied to the inputs and to the module."""
    places = [
        inputs[a.position] if a.position is not None else a.tensor if a.target != "state" else module.state
        for a in program.arguments
    ]
    operands = [place.detach().numpy() for place in places if place is not None]
    results = [torch.from_numpy(result.copy()) for result in run_l1(program.module, operands)]
    for mutation in program.mutations:
        place = places[mutation.writes or 0]
        assert place is not None and mutation.result is not None
        place.copy_(results[mutation.result])
    return [results[output.result] for output in program.outputs if output.result is not None]


def write_rows(state: torch.Tensor, x: torch.Tensor) -> Any:
    state[1:3] = x
    state[3:5].add_(x)
    return state[:4] * 2


def two_views(state: torch.Tensor, x: torch.Tensor) -> Any:
    columns, row = state.t(), state[2]
    columns[1].mul_(3.0)
    row += x[0]
    columns[0:2, 1:4] -= 1.0
    return columns.sum(0), row * 1, state[1]


def view_made_before_the_write(state: torch.Tensor, x: torch.Tensor) -> Any:
    flat = state.view(-1)
    window = flat[3:9]
    before = window * 1
    state.fill_(2.0)
    window.sub_(x.flatten()[:6])
    return before, window, flat.reshape(6, 4), state


def chain(state: torch.Tensor, x: torch.Tensor) -> Any:
    y = x.clone().add_(1).mul_(2).clamp_(min=0.5).sqrt_()
    y.t().neg_()
    state.unsqueeze(1)[:2, 0, :].copy_(y)
    return y, y.add_(state[2])


def pieces(state: torch.Tensor, x: torch.Tensor) -> Any:
    first, second = state.split([2, 4])
    left, right = state.chunk(2, dim=1)
    first.add_(x)
    right.mul_(0.5)
    for row in second.unbind():
        row.add_(first[0])
    return left, right, second, first


def permuted(state: torch.Tensor, x: torch.Tensor) -> Any:
    cube = state.view(2, 3, 4).permute(2, 0, 1)
    cube[1:3, 0] = x.reshape(-1)[:3]
    cube.diagonal(0, 1, 2).zero_()
    cube.squeeze().select(0, 3).masked_fill_(cube[0] > 0, 9.0)
    return cube


def index_writes(state: torch.Tensor, x: torch.Tensor) -> Any:
    at = torch.tensor([4, 0])
    state.index_copy_(0, at, x)
    state.index_add_(0, at, x, alpha=2)
    state[at] = state[at] + 1
    state[:, 1:3].scatter_(1, torch.zeros(6, 1, dtype=torch.int64), 5.0)
    return state.sum()


def input_as_output(state: torch.Tensor, x: torch.Tensor) -> Any:
    y = x[1]
    same = x.add_(1)
    x.mul_(state[0])
    return same, x, y, x.to(torch.float32)


def hidden_aliases(state: torch.Tensor, x: torch.Tensor) -> Any:
    one = x.to(torch.float32).contiguous()
    one.reshape(2, 4).add_(1)
    loose = x.t().reshape(-1)
    loose.mul_(2)
    return x * 1, loose, one


def swap(state: torch.Tensor, x: torch.Tensor) -> Any:
    old = state[:2].clone()
    state[:2].copy_(x)
    x.copy_(old)
    return state, x


def other_input_whole(state: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> Any:
    x.copy_(y)
    y.add_(1)
    return x + 1


@pytest.mark.parametrize(
    "function",
    [
        write_rows,
        two_views,
        view_made_before_the_write,
        chain,
        pieces,
        permuted,
        index_writes,
        input_as_output,
        hidden_aliases,
        swap,
    ],
)
def test_like_eager(function: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    compare(function, [randn(2, 4)], [randn(2, 4, seed=1)], caplog=caplog)


def test_an_input_becomes_another(caplog: pytest.LogCaptureFixture) -> None:
    compare(other_input_whole, [randn(2, 4), randn(2, 4, seed=1)], caplog=caplog)


def test_dtypes(caplog: pytest.LogCaptureFixture) -> None:
    def function(state: torch.Tensor, count: torch.Tensor, flags: torch.Tensor, x: torch.Tensor) -> Any:
        count[1:].add_(3)
        count[::2].copy_(x[:3])
        flags.logical_not_()
        flags[1:4] |= x[:3] > 0
        x.mul_(count)
        state[0].copy_(count[0])
        return flags.any(), count.sum()

    inputs = [torch.arange(5, dtype=torch.int32), torch.tensor([True, False, True, True, False]), randn(5)]
    compare(function, inputs, inputs, caplog=caplog)


@pytest.mark.parametrize("rows", [3, 5])
def test_dynamic_sizes(rows: int, caplog: pytest.LogCaptureFixture) -> None:
    def function(state: torch.Tensor, cache: torch.Tensor, x: torch.Tensor) -> Any:
        length = x.shape[0]
        state[:length].copy_(x)
        state[length - 1 : length, 1:].mul_(2.0)
        late = cache.view(-1, 2, 2).transpose(0, 1)
        late[1, :length] = x[:, 2:]
        cache.t()[0] += 1
        cache.flatten()[1:3].neg_()
        return late, state[:length].unsqueeze(0).expand(2, length, 4).reshape(-1, 4)

    examples = ([randn(8, 4), randn(4, 4)], [randn(9, 4, seed=1), randn(rows, 4, seed=2)])
    sizes = ({0: DYNAMIC}, {0: torch.export.Dim("rows", min=2, max=6)})
    compare(function, *examples, dynamic=sizes, caplog=caplog)


def test_what_is_not_understood_is_traced_again(caplog: pytest.LogCaptureFixture) -> None:
    def function(state: torch.Tensor, x: torch.Tensor) -> Any:
        state.expand(1, 6, 4)[0].add_(1)
        return state.as_strided((2, 4), (4, 1), 4) + x

    compare(function, [randn(2, 4)], caplog=caplog, retraced=True)


def test_dropout_outside_of_training_is_no_copy(caplog: pytest.LogCaptureFixture) -> None:
    def function(state: torch.Tensor, x: torch.Tensor) -> Any:
        torch.nn.functional.dropout(x, 0.5, training=False)[0].add_(1)
        return x * 1

    compare(function, [randn(2, 4)], caplog=caplog)


def test_metadata_that_shares_nothing_is_not_trusted(caplog: pytest.LogCaptureFixture) -> None:
    exported = torch.export.export(Stateful(write_rows), (randn(2, 4),), strict=False)
    for node in exported.graph.nodes:
        if isinstance(node.meta.get("val"), torch.Tensor):
            node.meta["val"] = node.meta["val"].clone()
    with caplog.at_level(logging.DEBUG, logger="luminal.passes.torch_to_luminal.frontend"):
        import_exported_program(exported)
    assert "memory" in caplog.text
