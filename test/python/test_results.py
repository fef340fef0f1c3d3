"""Results of a compiled program are the caller's own memory, however large and however they are kept."""

import gc
import threading

import numpy as np
import pytest
import torch

import luminal
from luminal.runtime.pages import LARGE, prefer_huge_pages

COLUMNS = 1024
LARGE_ROWS = LARGE // (4 * COLUMNS) + 3


def scaled(x, factor):
    return x * factor, torch.sum(x * factor, -1)


@pytest.fixture(scope="module", params=[3, LARGE_ROWS], ids=["small", "large"])
def program(request):
    rows = request.param
    compiled = luminal.compile(scaled, (torch.ones(rows, COLUMNS), torch.ones(1)))
    return compiled, torch.ones(rows, COLUMNS)


def test_kept_results_are_never_overwritten(program):
    compiled, x = program
    kept = [compiled(x, torch.full((1,), float(k))) for k in range(4)]
    for k, (product, total) in enumerate(kept):
        assert torch.equal(product, x * k)
        assert torch.equal(total, torch.full_like(total, float(k * COLUMNS)))


@pytest.mark.parametrize(
    "keep",
    [
        lambda product: product[1:2, 5:9],
        lambda product: product.T,
        lambda product: product.view(-1).view(torch.int32),
        lambda product: product.numpy()[::2],
        lambda product: np.from_dlpack(product),
        lambda product: memoryview(product.numpy()),
        lambda product: product.untyped_storage(),
        lambda product: torch.utils.dlpack.from_dlpack(product.detach()),
    ],
    ids=["slice", "transpose", "bits", "numpy", "dlpack array", "memoryview", "storage", "dlpack tensor"],
)
def test_a_view_keeps_its_result(program, keep):
    compiled, x = program
    view = keep(compiled(x, torch.full((1,), 7.0))[0])
    gc.collect()
    others = [compiled(x, torch.full((1,), float(k)))[0] for k in range(3)]
    del others
    compiled(x, torch.full((1,), 9.0))
    if isinstance(view, torch.UntypedStorage):
        view = torch.tensor([], dtype=torch.float32).set_(view)
    elif not isinstance(view, torch.Tensor):
        view = torch.from_numpy(np.array(view))
    values = view.view(torch.float32) if view.dtype == torch.int32 else view
    assert torch.equal(values, torch.full_like(values, 7.0))


def test_threads_keep_their_results(program):
    compiled, x = program
    failures = []

    def work(number):
        kept = []
        for k in range(4):
            factor = float(10 * number + k)
            product, total = compiled(x, torch.full((1,), factor))
            kept.append((factor, product[:2], total.numpy()))
        for factor, product, total in kept:
            if not (product == factor).all() or not (total == factor * COLUMNS).all():
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_results_are_ordinary_tensors(program):
    compiled, x = program
    product = compiled(x, torch.full((1,), 2.0))[0]
    product.add_(1).resize_(x.shape[0] + 1, COLUMNS)
    assert torch.equal(product[:-1], x * 3)
    with torch.inference_mode():
        assert compiled(x, torch.ones(1))[0].is_inference()


@pytest.mark.parametrize("size", [0, 100, LARGE, LARGE + 12345])
def test_asking_for_huge_pages_changes_no_contents(size):
    data = torch.arange(size, dtype=torch.int64).to(torch.uint8)
    expected = data.clone()
    prefer_huge_pages(data.data_ptr(), size)
    assert torch.equal(data, expected)
