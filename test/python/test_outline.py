"""Repeated blocks are found by structure and become one function each, whatever the order of the ops."""

import random

import pytest

from luminal.dialects.mlir import ir
from luminal.passes.outline_layers import OutlineLayersOptions, outline_layers

T = "tensor<4x8xf32>"


def layer(k, source, width):
    """One block: reads the stream, its own weight, a shared table and its own cache; returns a cache and the
    stream.
    """
    lines = [
        f'%n{k} = "test.norm"({source}, %one) : ({T}, {T}) -> {T}',
        f'%q{k} = "test.matmul"(%n{k}, %w{k}) : ({T}, {T}) -> {T}',
        f'%r{k} = "test.rotate"(%q{k}, %table) : ({T}, {T}) -> {T}',
        f'%k{k} = "test.append"(%cache{k}, %r{k}) : ({T}, {T}) -> {T}',
    ]
    last = f"%k{k}"
    for step in range(width):
        lines.append(f'%t{k}_{step} = "test.op{step % 5}"({last}) : ({T}) -> {T}')
        last = f"%t{k}_{step}"
    lines.append(f'%out{k} = "test.add"({last}, {source}) : ({T}, {T}) -> {T}')
    return lines


def topological_shuffle(lines, rng):
    """The same program in another order that keeps definitions before uses."""
    remaining, order, known = list(lines), [], {"%x", "%pos"}
    while remaining:
        ready = [
            line
            for line in remaining
            if all(u.strip() in known or u.strip()[:2] in ("%w", "%c") for u in operands(line))
        ]
        chosen = rng.choice(ready)
        remaining.remove(chosen)
        order.append(chosen)
        known.add(chosen.split(" = ")[0])
    return order


def operands(line):
    inside = line.split("(", 1)[1].split(")", 1)[0]
    return [part for part in inside.split(",") if part.strip()]


def program(layers, width=40, seed=None):
    lines = [
        '%scale = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>',
        f'%one = "luminal.view"(%scale) {{map = affine_map<(d0, d1) -> ()>}} : (tensor<f32>) -> {T}',
        f'%table = "test.angle"(%pos) : ({T}) -> {T}',
        f'%embedded = "test.embed"(%x, %one) : ({T}, {T}) -> {T}',
    ]
    source = "%embedded"
    for k in range(layers):
        lines += layer(k, source, width)
        source = f"%out{k}"
    lines.append(f'%last = "test.norm"({source}, %one) : ({T}, {T}) -> {T}')
    if seed is not None:
        lines = topological_shuffle(lines, random.Random(seed))
    arguments = [f'%x: {T} {{luminal.kind = "input"}}', f"%pos: {T}"]
    arguments += [f'%w{k}: {T} {{luminal.kind = "weight"}}' for k in range(layers)]
    arguments += [f'%cache{k}: {T} {{luminal.kind = "buffer"}}' for k in range(layers)]
    results = ["%last", *(f"%k{k}" for k in range(layers))]
    types = ", ".join([T] * len(results))
    body = "\n".join(lines)
    head = f"func.func @main({', '.join(arguments)}) -> ({types})"
    return f"{head} {{\n{body}\nreturn {', '.join(results)} : {types}\n}}"


@pytest.fixture
def parse():
    context = ir.Context()
    context.allow_unregistered_dialects = True
    return lambda text: ir.Module.parse(text, context)


def functions(module):
    return {f.attributes["sym_name"].value: f for f in module.body.operations}


def outlined(module, **options):
    counts = outline_layers(module.operation, OutlineLayersOptions(**options))
    assert module.operation.verify()
    return counts


@pytest.mark.parametrize("layers", [2, 3, 7])
def test_every_layer_becomes_a_call(parse, layers):
    module = parse(program(layers))
    assert outlined(module) == {"layers": 1, "calls": layers}
    main, body = functions(module)["main"], functions(module)["layer0"]
    ops = [op.operation.name for op in main.regions[0].blocks[0].operations]
    assert ops.count("func.call") == layers
    assert "test.matmul" not in ops
    kinds = [dict_attr_text(a) for a in body.attributes["arg_attrs"]]
    assert kinds.count('{luminal.kind = "weight"}') == 1
    assert kinds.count('{luminal.kind = "buffer"}') == 1


def dict_attr_text(attribute):
    return str(attribute)


@pytest.mark.parametrize("seed", range(5))
def test_order_of_ops_does_not_matter(parse, seed):
    module = parse(program(5, seed=seed))
    assert outlined(module) == {"layers": 1, "calls": 5}


def test_constants_and_their_views_move_into_the_layer(parse):
    module = parse(program(3))
    outlined(module)
    layer_text = str(functions(module)["layer0"])
    assert "luminal.constant" in layer_text
    assert "luminal.view" in layer_text


@pytest.mark.parametrize("text", [program(1), program(6, width=3)])
def test_small_or_unrepeated_programs_stay(parse, text):
    module = parse(text)
    before = str(module)
    assert outlined(module) == {"layers": 0, "calls": 0}
    assert str(module) == before


def test_layers_that_differ_in_one_attribute_stay_apart(parse):
    text = program(4)
    text = text.replace('%t2_3 = "test.op3"(%t2_2)', '%t2_3 = "test.other"(%t2_2)')
    module = parse(text)
    assert outlined(module)["calls"] == 3
    assert "test.other" in str(functions(module)["main"])


def test_two_stacks_become_two_functions(parse):
    text = program(3)
    lines, previous = [], "%last"
    for k in range(3):
        for step in range(40):
            name = f"%second{k}_{step}"
            lines.append(f'{name} = "test.tower{step % 7}"({previous}) : ({T}) -> {T}')
            previous = name
        lines.append(f'%join{k} = "test.join"({previous}, %x) : ({T}, {T}) -> {T}')
        previous = f"%join{k}"
    head, tail = text.split("return ")
    module = parse(head + "\n".join(lines) + "\nreturn " + tail.replace("%last", previous, 1))
    assert outlined(module) == {"layers": 2, "calls": 6}
