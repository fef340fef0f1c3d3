"""`torch.compile(model, backend="luminal")` agrees with eager, dynamic shapes, state and gradients
included.
"""

import pytest
import torch

from luminal.errors import ImportFailure


@pytest.fixture(autouse=True)
def _fresh_dynamo():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def compiled(fn, **keywords):
    return torch.compile(fn, backend="luminal", **keywords)


@torch.no_grad()
@pytest.mark.parametrize("dynamic", [None, True])
def test_batches_of_any_size(dynamic):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).eval()
    fast = compiled(model, dynamic=dynamic)
    for batch in (3, 4, 1, 7, 0):
        x = torch.randn(batch, 5)
        close(fast(x), model(x))


@torch.no_grad()
def test_sizes_and_constants_are_returned():
    def fn(x):
        return x * x.shape[0], x.shape[0] + 1, None

    fast = compiled(fn, dynamic=True)
    for n in (3, 5):
        got, want = fast(torch.ones(n)), fn(torch.ones(n))
        close(got[0], want[0])
        assert got[1:] == want[1:]


@torch.no_grad()
def test_views_of_inputs_and_of_results():
    def fn(x):
        parts = x.split(2)
        y = x * 2
        return parts[1], y, y[1:], y.t()

    fast = compiled(fn, dynamic=True)
    for n in (6, 8):
        x = torch.randn(n, 3)
        for got, want in zip(fast(x), fn(x), strict=True):
            close(got, want)
        assert fast(x)[0].data_ptr() == x[2:].data_ptr()


@torch.no_grad()
def test_writes_through_views_reach_the_argument():
    def fn(x, v):
        x[1:, :2][:, 1] += v
        x.t()[0].zero_()
        return x.sum()

    x = torch.arange(12.0).reshape(3, 4)
    y = x.clone()
    close(compiled(fn)(x, torch.tensor(10.0)), fn(y, torch.tensor(10.0)))
    close(x, y)


@torch.no_grad()
def test_overlapping_written_inputs_follow_eager():
    def fn(x, y):
        x.add_(1)
        return x * y

    fast = compiled(fn)
    fast(torch.ones(4), torch.ones(4))
    memory, same = torch.arange(6.0), torch.arange(6.0)
    with pytest.warns(RuntimeWarning, match="runs in torch eager: .* input 0, whose memory overlaps input 1"):
        close(fast(memory[:4], memory[2:]), fn(same[:4], same[2:]))
    close(memory, same)


@torch.no_grad()
def test_state_and_replaced_weights():
    class Running(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)
            self.scale = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.norm(x) * self.scale

    eager, model = Running().train(), Running().train()
    fast = compiled(model)
    for k in range(3):
        x = torch.randn(8, 3)
        close(fast(x), eager(x))
        for each in (eager, model):
            each.scale.data.add_(k)
    for name, value in eager.named_buffers():
        close(dict(model.named_buffers())[name], value)


def test_gradients():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 1))
    x = torch.randn(5, 4)
    model(x).square().sum().backward()
    want = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    compiled(model)(x).square().sum().backward()
    for parameter, gradient in zip(model.parameters(), want, strict=True):
        close(parameter.grad, gradient)


@torch.no_grad()
def test_frozen_weights_notice_changes():
    model = torch.nn.Linear(40, 64).eval()
    fast = compiled(model, options={"freeze_weights": True})
    x = torch.randn(2, 40)
    close(fast(x), model(x))
    model.weight.mul_(2)
    close(fast(x), model(x))


@torch.no_grad()
def test_unsupported_programs_are_refused_with_the_users_line():
    with pytest.raises(Exception, match="uint8") as failure:
        compiled(lambda x: x + x)(torch.ones(3, dtype=torch.uint8))
    assert isinstance(failure.value.__cause__ or failure.value.inner_exception, ImportFailure)
    assert "test_backend.py" in str(failure.value)
