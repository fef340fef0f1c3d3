"""Dim buckets: one program per range of sizes, chosen per call, by the names that users give sizes."""

import threading

import pytest
import torch

import luminal
from luminal.errors import InputError
from luminal.runtime.bucket_set import MOST_NEW
from luminal.runtime.buckets import Axis, Bucket
from luminal.runtime.options import OptionError

SEQ = torch.export.Dim("seq", min=1, max=512)
BATCH = torch.export.Dim("batch", min=1, max=64)


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def compiled_block(buckets, new_buckets=False, **options):
    torch.manual_seed(0)
    model = Block().eval()
    compiled = luminal.compile(
        model,
        (torch.randn(3, 8),),
        dynamic_shapes=({0: SEQ},),
        options={"buckets": buckets, "new_buckets": new_buckets, **options},
    )
    return model, compiled


def check(model, compiled, *sizes):
    x = torch.randn(*sizes, 8)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)


def calls(compiled):
    return {tuple(entry.ranges.values()): entry.calls for entry in compiled.buckets}


def test_each_call_runs_the_bucket_of_its_size():
    model, compiled = compiled_block({"seq": [(2, 16), (1, 1), (17, 512, 100)]})
    for size in (1, 2, 16, 17, 512, 1, 9):
        check(model, compiled, size)
    assert calls(compiled) == {((1, 1),): 2, ((2, 16),): 3, ((17, 512),): 2}
    assert [entry.representatives["seq"] for entry in compiled.buckets] == [1, 9, 100]
    assert not any(entry.new for entry in compiled.buckets)


def test_a_bucket_of_one_size_has_static_kernels():
    _, compiled = compiled_block({"x.0": [(1, 1), (2, 512)]})
    one, more = (entry.program.schedule for entry in compiled.buckets)
    assert all(dim.is_const for value in one.values for dim in value.shape)
    assert not all(dim.is_const for value in more.values for dim in value.shape)
    assert all(kernel.fixed for kernel in one.kernels)


def test_the_representative_reaches_the_search(monkeypatch):
    from luminal.passes.eqsat import search

    seen = []
    original = search.representative_sizes

    def spy(symbols, sizes=()):
        seen.append(tuple(sizes))
        return original(symbols, sizes)

    monkeypatch.setattr(search, "representative_sizes", spy)
    compiled_block({"seq": [(2, 512, 300)]})
    assert set(seen) == {("s0=300",)}


def test_programs_share_packed_weights():
    _, compiled = compiled_block({"seq": [(2, 64), (65, 512)]})
    for size in (2, 512):
        compiled(torch.randn(size, 8))
    each = [entry.program.planned_memory()[1] for entry in compiled.buckets]
    blocks = [{id(block) for block in entry.program._static.blocks} for entry in compiled.buckets]
    assert compiled.planned_memory()[1] == each[0] == each[1] > 0
    assert blocks[0] == blocks[1]


def test_changed_and_replaced_weights_reach_every_bucket():
    model, compiled = compiled_block({"seq": [(1, 1), (2, 512)]})
    for size in (1, 7):
        check(model, compiled, size)
    with torch.no_grad():
        model.up.weight.mul_(2)
    for size in (1, 7):
        check(model, compiled, size)
    for _ in range(3):
        model.down.weight = torch.nn.Parameter(torch.randn(8, 16))
        check(model, compiled, 7)
    check(model, compiled, 1)
    model.down.weight.data.add_(1)
    compiled.refresh_weights()
    for size in (1, 7):
        check(model, compiled, size)


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_two_sizes_combine(target):
    model = Block().eval()
    compiled = luminal.compile(
        model,
        {"x": torch.randn(1, 1, 8)},
        dynamic_shapes={"x": {0: BATCH, 1: SEQ}},
        options={"buckets": {"batch": [(1, 1), (2, 64)], "seq": [(1, 1), (2, 512)]}, "target": target},
    )
    for batch in (1, 2, 64):
        for seq in (1, 3):
            x = torch.randn(batch, seq, 8)
            with torch.no_grad():
                torch.testing.assert_close(compiled(x=x), model(x), rtol=1e-5, atol=1e-5)
    assert calls(compiled) == {
        ((1, 1), (1, 1)): 1,
        ((1, 1), (2, 512)): 1,
        ((2, 64), (1, 1)): 2,
        ((2, 64), (2, 512)): 2,
    }


def test_a_size_in_no_bucket_is_an_error_that_says_what_to_do():
    _, compiled = compiled_block({"seq": [(1, 1), (8, 16)]})
    with pytest.raises(InputError) as error:
        compiled(torch.randn(5, 8))
    for part in ("'x' along dimension 0 is 5", "'seq'", "1, 8 to 16", "new_buckets=True"):
        assert part in str(error.value)


def test_new_buckets_are_compiled_once_and_reported():
    stages = []
    model, compiled = compiled_block(
        {"seq": [(1, 1), (20, 24)]}, True, progress=lambda name, seconds: stages.append(name)
    )
    for size in (17, 19, 30, 32, 1, 25):
        check(model, compiled, size)
    assert calls(compiled) == {((1, 1),): 1, ((20, 24),): 0, ((17, 19),): 2, ((25, 32),): 3}
    assert [entry.new for entry in compiled.buckets] == [False, False, True, True]
    assert "new bucket seq=17 to 19" in stages


def test_new_programs_are_bounded(monkeypatch):
    monkeypatch.setattr("luminal.runtime.bucket_set.MOST_NEW", 2)
    model, compiled = compiled_block({"seq": [(1, 1)]}, True)
    for size in (2, 4, 2, 8, 2, 4):
        check(model, compiled, size)
    assert [entry.ranges["seq"] for entry in compiled.buckets] == [(1, 1), (2, 2), (3, 4)]
    assert MOST_NEW >= 2


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [(0, 0, 0), (2, 2, 2), (3, 3, 4), (4, 3, 4), (9, 9, 9), (12, 11, 16), (17, 17, 32), (100, 65, 100)],
)
def test_the_range_of_a_new_bucket(size, low, high):
    axis = Axis(0, "seq", (Bucket.of(1, 1), Bucket.of(10, 10)), 0, 100)
    assert (axis.gap(size).low, axis.gap(size).high) == (low, high)


@pytest.mark.parametrize(
    ("low", "high", "size"), [(1, 1, 1), (2, 512, 256), (17, 19, 18), (2, 9, 5), (0, 0, 0), (31, 40, 32)]
)
def test_the_default_representative(low, high, size):
    assert Bucket.of(low, high).representative == size


@pytest.mark.parametrize(
    ("buckets", "message"),
    [
        ({"seq": [(1, 8), (8, 9)]}, "overlap: 1 to 8 and 8 to 9"),
        ({"seq": [(9, 8)]}, "the range 9 to 8 is empty"),
        ({"seq": [(1, 8, 9)]}, "representative 9 is not in 1 to 8"),
        ({"seq": [(1,)]}, r"expected \(low, high\)"),
        ({"seq": [(1, True)]}, r"expected \(low, high\)"),
        ({"seq": []}, "a list of ranges"),
        ([(1, 2)], "must be a mapping"),
        ({"seq": [(1, 513)]}, "range of 'seq', which is 1 to 512"),
        ({"rows": [(1, 5)]}, "no size is called 'rows'; the names are seq, x.0"),
        ({"x.1": [(1, 5)]}, "'x.1' can have none, it is always 8"),
        ({"x.0": [(1, 5)], "seq": [(1, 5)]}, "are the same size"),
        ({"seq": [(k, k) for k in range(1, 70)]}, "combine to 69 programs"),
    ],
)
def test_options_that_do_not_fit(buckets, message):
    with pytest.raises(OptionError, match=message):
        compiled_block(buckets)


def test_new_buckets_needs_buckets():
    with pytest.raises(OptionError, match="needs buckets"):
        luminal.CompileOptions(new_buckets=True)


def test_derived_sizes_follow():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return x[:, ::2] * 2, y[1:] * x.shape[1], torch.cat([x, x], 1)

    seq = torch.export.Dim("seq", min=4, max=512)
    compiled = luminal.compile(
        Model(),
        (torch.randn(2, 12), torch.randn(13)),
        dynamic_shapes=({1: seq}, {0: seq + 1}),
        options={"buckets": {"seq": [(4, 4), (5, 10), (11, 512)]}},
    )
    for size in (4, 5, 8, 9, 10, 11, 40):
        x, y = torch.randn(2, size), torch.randn(size + 1)
        for got, want in zip(compiled(x, y), Model()(x, y), strict=True):
            torch.testing.assert_close(got, want)


def test_mutation_and_aliasing_in_every_bucket():
    class Cache(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x, out):
            self.total.add_(x.sum(0))
            out.add_(x)
            return out, x.view(-1)

    eager, model = Cache(), Cache()
    compiled = luminal.compile(
        model,
        (torch.randn(3, 4), torch.zeros(3, 4)),
        dynamic_shapes=({0: SEQ}, {0: SEQ}),
        options={"buckets": {"seq": [(1, 1), (2, 8), (9, 512)]}},
    )
    for size in (1, 2, 8, 9, 1):
        x, out = torch.randn(size, 4), torch.randn(size, 4)
        want_out = out.clone()
        want, got = eager(x, want_out), compiled(x, out)
        assert got[1].data_ptr() == x.data_ptr()
        torch.testing.assert_close(out, want_out)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(model.total, eager.total)


def test_threads_share_new_buckets():
    model, compiled = compiled_block({"seq": [(1, 1)]}, True)
    failures = []

    def work(seed):
        try:
            for size in (1, 5, 12, 6, 1):
                check(model, compiled, size)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert calls(compiled) == {((1, 1),): 8, ((5, 8),): 8, ((9, 16),): 4}


def test_torch_compile_takes_buckets_by_input_and_axis():
    stages = []
    torch.manual_seed(0)
    model = Block().eval()
    torch._dynamo.reset()
    compiled = torch.compile(
        model,
        backend="luminal",
        dynamic=True,
        options={"buckets": {"x.0": [(1, 8), (9, 32)]}, "progress": lambda name, _: stages.append(name)},
    )
    with torch.no_grad():
        for size in (3, 8, 9, 32):
            check(model, compiled, size)
        assert {"bucket x.0=2 to 8", "bucket x.0=9 to 32"} <= set(stages)
        with pytest.raises(InputError, match="in no bucket of 'x.0'"):
            compiled(torch.randn(40, 8))
        check(model, compiled, 1)  # Dynamo traces a size of 1 on its own


def test_torch_compile_trains_with_buckets():
    torch._dynamo.reset()
    model = Block()
    options = {"buckets": {"x.0": [(2, 8), (9, 32)]}, "new_buckets": True}
    compiled = torch.compile(model, backend="luminal", dynamic=True, options=options)
    for size in (3, 9, 40):
        x = torch.randn(size, 8)
        want = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
        got = torch.autograd.grad(compiled(x).square().sum(), list(model.parameters()))
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
