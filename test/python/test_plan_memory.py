"""Memory plans: nothing alive is overwritten, and what may share memory does."""

import random

import pytest

from luminal.dialects.mlir import ir
from luminal.dialects.symbolic import Sym, as_expr
from luminal.errors import PassError
from luminal.passes.plan_memory import ALIGNMENT, Block, Storage, assign_storage, place, round_up
from luminal.passes.schedule import Symbol, read_schedule

T = "tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>"
W = "tensor<4x4xf32>"
SYMBOLS = 'luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]'


@pytest.fixture
def schedule_of():
    context = ir.Context()
    context.allow_unregistered_dialects = True
    modules = []  # a schedule refers to the module's ops

    def read(text):
        modules.append(ir.Module.parse(text, context))
        return read_schedule(modules[-1].operation)

    return read


def main(arguments, results, body):
    return f"func.func @main({arguments}) -> ({results}) attributes {{{SYMBOLS}}} {{\n{body}\n}}"


def homes(layout, values):
    return [(layout.storage[v].space, layout.storage[v].index) for v in values]


def test_blocks_alive_together_do_not_overlap():
    rng = random.Random(0)
    for _ in range(30):
        blocks, sizes = [], []
        for _ in range(rng.randint(1, 25)):
            first = rng.randint(0, 20)
            blocks.append(Block(as_expr(1), first, first + rng.randint(0, 6)))
            sizes.append(rng.choice([0, 1, 64, 100, 4096, 5000]))
        offsets, total = place(blocks, sizes)
        assert all(offset % ALIGNMENT == 0 for offset in offsets)
        assert all(offset + size <= total for offset, size in zip(offsets, sizes, strict=True))
        for i in range(len(blocks)):
            for j in range(i):
                together = blocks[i].first <= blocks[j].last and blocks[j].first <= blocks[i].last
                apart = offsets[i] + sizes[i] <= offsets[j] or offsets[j] + sizes[j] <= offsets[i]
                assert apart or not together


def test_a_chain_of_temporaries_needs_two_blocks():
    blocks = [Block(as_expr(4096), k, k + 1) for k in range(10)]
    assert place(blocks, [4096] * 10)[1] == 2 * 4096


def test_sizes_round_up_within_ranges():
    s0 = Sym(0, 1, 100)
    symbols = [Symbol("s0", 1, 100), Symbol("s1", 0, None), Symbol("s2", 0, None, s0 * 2 + 1)]
    assert round_up(symbols, (5, 0, 11)) == (8, 0, 17)
    assert round_up(symbols, (70, 64, 141)) == (100, 64, 201)


def test_results_are_written_in_place_and_weights_once(schedule_of):
    text = main(
        f'%x: {T}, %w: {W} {{luminal.kind = "weight"}}',
        T,
        f"""%p = "kernel.region"(%w) : ({W}) -> {W}
        %a = "kernel.region"(%x, %p) : ({T}, {W}) -> {T}
        %b = "kernel.region"(%a, %p) : ({T}, {W}) -> {T}
        return %b : {T}""",
    )
    layout = assign_storage(schedule_of(text))
    assert layout.static_steps == [0]
    assert layout.steps == [1, 2]
    assert homes(layout, [2, 3, 4]) == [("static", 0), ("arena", 0), ("result", 0)]
    assert layout.copies == []


def test_what_depends_on_an_input_is_not_static(schedule_of):
    text = main(f"%x: {T}, %w: {W}", W, f'%p = "kernel.region"(%w) : ({W}) -> {W}\nreturn %p : {W}')
    assert assign_storage(schedule_of(text)).static_steps == []


def buffer_program(body, results=f"{T}, {W} {{luminal.writes = 1 : i64}}"):
    return main(f'%x: {T}, %b: {W} {{luminal.kind = "buffer"}}', results, body)


def test_a_scatter_updates_the_written_argument_in_place(schedule_of):
    layout = assign_storage(
        schedule_of(
            buffer_program(f"""%u = "kernel.scatter"(%b, %x) : ({W}, {T}) -> {W}
        %v = "kernel.scatter"(%u, %x) : ({W}, {T}) -> {W}
        %y = "kernel.region"(%x, %v) : ({T}, {W}) -> {T}
        return %y, %v : {T}, {W}""")
        )
    )
    assert homes(layout, [2, 3]) == [("argument", 1), ("argument", 1)]
    assert layout.returned == [Storage("result", 0), Storage("argument", 1)]
    assert layout.copies == []


def test_a_later_read_of_the_old_value_forbids_that(schedule_of):
    layout = assign_storage(
        schedule_of(
            buffer_program(f"""%v = "kernel.scatter"(%b, %x) : ({W}, {T}) -> {W}
        %y = "kernel.region"(%x, %b) : ({T}, {W}) -> {T}
        return %y, %v : {T}, {W}""")
        )
    )
    assert homes(layout, [2])[0][0] == "arena"
    assert [copy.target for copy in layout.copies] == [Storage("argument", 1)]


def test_an_unwritten_argument_is_never_a_scatter_target(schedule_of):
    layout = assign_storage(
        schedule_of(
            main(
                f"%x: {T}, %b: {W}",
                W,
                f'%v = "kernel.scatter"(%b, %x) : ({W}, {T}) -> {W}\nreturn %v : {W}',
            )
        )
    )
    assert homes(layout, [2]) == [("result", 0)]


def test_a_temporary_is_updated_in_place_unless_it_is_read_later(schedule_of):
    body = f"""%z = "kernel.region"(%b) : ({W}) -> {W}
        %u = "kernel.scatter"(%z, %x) : ({W}, {T}) -> {W}
        %r = "kernel.region"(%u, %READ) : ({W}, {W}) -> {W}
        return %r : {W}"""
    arguments = f"%x: {T}, %b: {W}"
    shared = assign_storage(schedule_of(main(arguments, W, body.replace("%READ", "%u"))))
    assert shared.storage[2] == shared.storage[3]
    apart = assign_storage(schedule_of(main(arguments, W, body.replace("%READ", "%z"))))
    assert apart.storage[2] != apart.storage[3]


def test_exchanged_arguments_are_saved_before_they_are_overwritten(schedule_of):
    layout = assign_storage(
        schedule_of(
            main(
                f"%a: {W}, %b: {W}",
                f"{W} {{luminal.writes = 0 : i64}}, {W} {{luminal.writes = 1 : i64}}",
                f"return %b, %a : {W}, {W}",
            )
        )
    )
    memory = {Storage("argument", 0): "a", Storage("argument", 1): "b"}
    for copy in layout.copies:
        memory[copy.target] = memory[copy.source]
    assert (memory[Storage("argument", 0)], memory[Storage("argument", 1)]) == ("b", "a")


def test_a_value_returned_twice_gets_two_tensors(schedule_of):
    text = main(f"%x: {T}", f"{T}, {T}", f'%y = "kernel.region"(%x) : ({T}) -> {T}\nreturn %y, %y : {T}, {T}')
    layout = assign_storage(schedule_of(text))
    assert layout.returned == [Storage("result", 0), Storage("result", 1)]
    assert layout.copies[0].target == Storage("result", 1)


def test_calls_are_inlined_and_share_their_kernels(schedule_of):
    text = main(
        f"%x: {T}",
        T,
        f"%a = call @layer0(%x) : ({T}) -> {T}\n%b = call @layer0(%a) : ({T}) -> {T}\nreturn %b : {T}",
    )
    text += f"""
    func.func private @layer0(%x: {T}) -> {T} attributes {{{SYMBOLS}}} {{
      %0 = "kernel.region"(%x) : ({T}) -> {T}
      %1 = "kernel.region"(%0) : ({T}) -> {T}
      return %1 : {T}
    }}"""
    schedule = schedule_of(text)
    assert [step.kernel for step in schedule.steps] == [0, 1, 0, 1]
    assert [step.operands for step in schedule.steps] == [(0,), (1,), (2,), (3,)]


def test_an_op_that_is_no_kernel_is_refused(schedule_of):
    with pytest.raises(PassError, match="'luminal.sin' is not a kernel: run luminal-eqsat first"):
        schedule_of(main(f"%x: {T}", T, f'%y = "luminal.sin"(%x) : ({T}) -> {T}\nreturn %y : {T}'))
