"""`luminal.compile`: same inputs, same outputs, same memory behaviour as the original, and clear refusals."""

import subprocess
import sys
import threading

import pytest
import torch
from torch.export import Dim

import luminal
from luminal import CompileOptions, InputError
from luminal.errors import ImportFailure, LuminalError, RuntimeFailure
from luminal.runtime.options import OptionError


def close(got, want):
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5, equal_nan=True)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(6, 10)
        self.second = torch.nn.Linear(10, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


@pytest.fixture(scope="module")
def classifier():
    torch.manual_seed(0)
    model = Classifier().eval()
    compiled = luminal.compile(
        model, (torch.randn(3, 6),), dynamic_shapes=({0: Dim("batch", min=1, max=40)},)
    )
    return model, compiled


@torch.no_grad()
@pytest.mark.parametrize("batch", [1, 2, 3, 17, 40])
def test_one_program_serves_every_batch(classifier, batch):
    model, compiled = classifier
    x = torch.randn(batch, 6)
    close(compiled(x), model(x))


@torch.no_grad()
def test_inputs_need_not_be_contiguous(classifier):
    model, compiled = classifier
    wide = torch.randn(6, 5)
    close(compiled(wide.t()), model(wide.t()))
    expanded = torch.randn(1, 6).expand(4, 6)
    close(compiled(expanded), model(expanded))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.randn(3, 7), r"input 'x' is 7 along dimension 1, expected 6"),
        (torch.randn(41, 6), r"input 'x' is 41 along dimension 0, expected between \d and 40"),
        (torch.randn(6), r"input 'x' has 1 dimensions"),
        (torch.randn(3, 6, dtype=torch.float64), r"has dtype torch.float64, expected torch.float32"),
        (torch.empty(3, 6, device="meta"), r"is on device meta, expected cpu"),
        (3.0, r"input 'x' is a float, expected a tensor"),
    ],
)
def test_refuses_by_name_what_does_not_fit(classifier, x, message):
    with pytest.raises(InputError, match=message):
        classifier[1](x)


def test_refuses_other_arguments(classifier):
    with pytest.raises(InputError, match="expected 1 positional arguments as compiled, got 2 positional"):
        classifier[1](torch.randn(3, 6), torch.randn(3, 6))


@torch.no_grad()
def test_threads_get_their_own_answers(classifier):
    model, compiled = classifier
    inputs = [torch.randn(n, 6) for n in (1, 3, 8, 20)]
    wrong = []

    def work(x):
        want = model(x)
        for _ in range(30):
            if not torch.allclose(compiled(x), want, atol=1e-5):
                wrong.append(x.shape)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@torch.no_grad()
def test_weights_may_change_and_be_replaced():
    torch.manual_seed(1)
    model = Classifier().eval()
    compiled = luminal.compile(model, (torch.randn(3, 6),))
    x = torch.randn(3, 6)
    close(compiled(x), model(x))
    model.first.weight.mul_(-2)
    close(compiled(x), model(x))
    model.second.bias = torch.nn.Parameter(torch.arange(4.0))
    model.second.weight = torch.nn.Parameter(torch.randn(4, 10))
    close(compiled(x), model(x))
    model.first.weight.data.add_(1)
    compiled.refresh_weights()
    close(compiled(x), model(x))


@torch.no_grad()
def test_structured_arguments_and_results():
    def fn(pair, *, scale):
        a, b = pair["left"], pair["right"]
        return {"sum": (a + b) * scale, "parts": [a * 2, (b, None)], "n": 7}

    kwargs = {"pair": {"left": torch.randn(3), "right": torch.randn(3)}, "scale": torch.tensor(2.0)}
    compiled = luminal.compile(fn, kwargs)
    got, want = compiled(**kwargs), fn(**kwargs)
    assert got["n"] == 7 and got["parts"][1][1] is None
    close(got["sum"], want["sum"])
    close(got["parts"][1][0], want["parts"][1][0])


@torch.no_grad()
def test_state_is_written_back():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3))
            self.register_buffer("calls", torch.tensor(0))

        def forward(self, x):
            self.total += x
            self.calls += 1
            return self.total * 2

    eager, model = Counter(), Counter()
    compiled = luminal.compile(model, (torch.ones(3),))
    before = model.total._version
    for _ in range(3):
        x = torch.randn(3)
        close(compiled(x), eager(x))
    close(model.total, eager.total)
    assert model.calls.item() == 3
    assert model.total._version > before


@torch.no_grad()
def test_mutated_inputs_are_written_back():
    def fn(cache, row, at):
        cache[at] = row
        return cache.sum()

    compiled = luminal.compile(fn, (torch.zeros(4, 3), torch.ones(1, 3), torch.tensor([2])))
    for contiguous in (True, False):
        cache = torch.zeros(4, 3) if contiguous else torch.zeros(3, 4).t()
        want = cache.clone()
        close(
            compiled(cache, torch.full((1, 3), 2.0), torch.tensor([1])), fn(want, torch.full((1, 3), 2.0), 1)
        )
        close(cache, want)


def test_written_inputs_must_not_overlap_others():
    def fn(a, b):
        a.add_(1)
        return a * b

    compiled = luminal.compile(fn, (torch.zeros(3), torch.zeros(3)))
    memory = torch.zeros(4)
    with pytest.raises(InputError, match="'a' is written to and shares memory with input 'b'"):
        compiled(memory[:3], memory[1:])


@torch.no_grad()
def test_views_of_inputs_share_their_memory():
    def fn(x):
        y = x + 1
        return x, x[1:], x.t(), y, y.reshape(-1)

    x = torch.randn(3, 4)
    same, tail, transposed, y, flat = luminal.compile(fn, (x,))(x)
    assert same.data_ptr() == x.data_ptr()
    assert tail.data_ptr() == x[1:].data_ptr()
    assert transposed.data_ptr() == x.data_ptr() and transposed.stride() == x.t().stride()
    assert y.data_ptr() != x.data_ptr()
    assert flat.data_ptr() == y.data_ptr()


@torch.no_grad()
def test_tied_weights_and_one_tensor_twice():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(7, 5)
            self.head = torch.nn.Linear(5, 7, bias=False)
            self.head.weight = self.table.weight

        def forward(self, tokens, again):
            return self.head(self.table(tokens)) + again.sum()

    torch.manual_seed(2)
    model, tokens = Tied().eval(), torch.tensor([[1, 6, 0]])
    compiled = luminal.compile(model, (tokens, tokens))
    close(compiled(tokens, tokens + 1), model(tokens, tokens + 1))
    model.table.weight.mul_(3)
    close(compiled(tokens, tokens), model(tokens, tokens))


def test_constants_among_the_inputs_are_checked():
    compiled = luminal.compile(lambda x, k: x * k, (torch.ones(2), 3))
    close(compiled(torch.ones(2), 3), torch.full((2,), 3.0))
    with pytest.raises(InputError, match="is 4; the program was compiled for the constant 3"):
        compiled(torch.ones(2), 4)


def test_the_interpreter_is_a_target(classifier):
    model, _ = classifier
    x = torch.randn(2, 6)
    close(luminal.compile(model, (x,), options={"target": "interpreter"})(x).detach(), model(x).detach())


def test_max_memory_is_kept():
    x = torch.ones(64, 64)
    with pytest.raises(LuminalError, match="max_memory is 64 bytes, but the least .* is 16384 bytes"):
        luminal.compile(lambda x: x @ x @ x, (x,), options=CompileOptions(max_memory=64))
    rows = torch.export.Dim("rows", min=1, max=4096)
    compiled = luminal.compile(
        lambda x, y: x @ y @ y, (x, x), ({0: rows}, None), options=CompileOptions(max_memory=1000)
    )
    compiled(x[:2], x)
    with pytest.raises(RuntimeFailure, match="a call needs .* max_memory is 1000"):
        compiled(x, x)


def test_reports_its_stages():
    seen = []
    compiled = luminal.compile(
        lambda x: x + 1, (torch.ones(2),), options={"progress": lambda stage, seconds: seen.append(stage)}
    )
    for stage in ("torch export", "import", "outline", "search", "codegen"):
        assert stage in compiled.stages
        assert stage in seen
    assert "total" in compiled.report()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "quantum"}, "target must be one of cpu, interpreter, not 'quantum'"),
        ({"threads": -1}, "threads must be 0 to 1024"),
        ({"max_memory": 0}, "max_memory must be a positive number"),
        ({"speed": 11}, "unknown option 'speed'; the options are target, threads"),
        (7, "options must be CompileOptions or a mapping"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        luminal.compile(lambda x: x, (torch.ones(1),), options=options)


def test_untraceable_programs_are_refused():
    with pytest.raises(ImportFailure, match="torch.export cannot trace"):
        luminal.compile(lambda x: x + 1 if x.sum() > 0 else x, (torch.ones(2),))
    with pytest.raises(InputError, match="example_inputs must be a tuple"):
        luminal.compile(lambda x: x, torch.ones(2))


def test_importing_luminal_loads_nothing():
    code = "import luminal, sys; sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'torch_mlir')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_sizes_that_an_op_needs_equal_are_checked_at_the_call():
    """The CPU's attention operator does not tell torch's trace that keys and values are equally many."""

    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0]

    def inputs(keys, values):
        return torch.randn(1, 2, 3, 8), torch.randn(1, 2, keys, 8), torch.randn(1, 2, values, 8)

    sizes = ({}, {2: torch.export.Dim("keys", min=1, max=64)}, {2: torch.export.Dim("values", min=1, max=64)})
    fast = luminal.compile(Attention(), inputs(5, 5), dynamic_shapes=sizes)
    for length in (1, 9):
        given = inputs(length, length)
        torch.testing.assert_close(fast(*given), Attention()(*given))
    with pytest.raises(luminal.errors.InputError, match="'v' is 7 along dimension 2"):
        fast(*inputs(5, 7))


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("size", [0, 1])
def test_an_example_of_size_one_does_not_fix_a_dynamic_dim(size, by_name):
    class Pick(torch.nn.Module):
        def forward(self, table, rows, more):
            return table[rows].softmax(-1) * more["scale"] + more["pair"][0].sum()

    batch = torch.export.Dim("batch", min=0, max=64)
    table = torch.randn(5, 4)

    def inputs(n):
        rows = torch.full((n,), 4)
        return table, rows, {"scale": torch.randn(n, 1), "pair": [torch.randn(3), None]}

    shapes = (None, {0: batch}, {"scale": {0: batch}, "pair": [None, None]})
    if by_name:
        shapes = dict(zip(("table", "rows", "more"), shapes, strict=True))
    fast = luminal.compile(Pick(), inputs(size), dynamic_shapes=shapes)
    for n in (0, 1, 2, 17):
        given = inputs(n)
        torch.testing.assert_close(fast(*given), Pick()(*given))
