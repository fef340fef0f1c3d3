"""luminal-explain and the profile behind it: launches, figures, provenance, and the files that they write."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from torch import nn

import luminal
from luminal.tools.explain.command import main


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Repeated(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(Block() for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x + self.calls


def test_every_launch_of_a_repeated_layer_counts() -> None:
    module, x = Repeated(4).eval(), randn(200, 16)
    compiled = luminal.compile(module, (x,))
    profile = compiled.profile(x, repeats=3)
    assert {row.launches for row in profile.rows} == {4}
    assert all(row.seconds > 0 and row.bytes > 0 for row in profile.rows)
    (product,) = (row for row in profile.rows if row.info.result == "200x32xf32")
    assert product.flops == 2 * 200 * 16 * 32
    assert "sum-of-products" in product.info.search["rules"]
    assert profile.static_bytes > 0
    torch.testing.assert_close(compiled(x), module(x))


def test_profiled_calls_do_what_calls_do() -> None:
    compiled = luminal.compile(Counter(), (torch.zeros(3),))
    compiled.profile(torch.zeros(3), repeats=2)
    torch.testing.assert_close(compiled(torch.zeros(3)), torch.full((3,), 4.0))


def test_sizes_of_a_dynamic_program() -> None:
    module = Repeated(1).eval()
    rows = torch.export.Dim("rows", min=1, max=64)
    compiled = luminal.compile(module, (randn(8, 16),), dynamic_shapes=({0: rows},))
    small, large = (compiled.profile(randn(n, 16), repeats=1) for n in (2, 32))
    assert list(small.symbols.values()) == [2]
    flops = [sum(row.flops for row in profile.rows) for profile in (small, large)]
    assert flops[1] == 16 * flops[0]


def test_a_model_without_kernels_has_nothing_to_profile() -> None:
    compiled = luminal.compile(nn.Identity(), (torch.zeros(3),))
    profile = compiled.profile(torch.zeros(3), repeats=1)
    assert profile.rows == [] and profile.seconds == 0
    interpreted = luminal.compile(Counter(), (torch.zeros(3),), options={"target": "interpreter"})
    with pytest.raises(luminal.errors.InputError, match="nothing was launched"):
        interpreted.profile(torch.zeros(3), repeats=1)


def test_an_empty_profile_is_refused() -> None:
    compiled = luminal.compile(Counter(), (torch.zeros(3),))
    with pytest.raises(luminal.errors.InputError, match="repeats must be at least 1"):
        compiled.profile(torch.zeros(3), repeats=0)


def test_trace(tmp_path: Path) -> None:
    compiled = luminal.compile(Repeated(3).eval(), (randn(8, 16),))
    profile = compiled.profile(randn(8, 16), repeats=1)
    profile.chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(events) == sum(row.launches for row in profile.rows)
    ends = [event["ts"] + event["dur"] for event in events]
    assert ends == sorted(ends)
    assert events[0]["ts"] == 0


class Page(HTMLParser):
    """Checks that elements nest, and gathers what would be fetched."""

    VOID = ("meta", "br", "path", "rect", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, trace = tmp_path / "page.html", tmp_path / "trace.json"
    assert main(["bert", "--html", str(page), "--trace", str(trace), "--repeats", "2"]) == 0
    out = capsys.readouterr().out
    for expected in ("launches of", "where the kernels come from", "online-softmax", "compile time", "total"):
        assert expected in out
    parser = Page()
    parser.feed(page.read_text())
    assert not parser.open
    assert all(link.startswith("#") for link in parser.links)
    assert page.read_text().count("<details id=") == page.read_text().count("<rect")
    assert json.loads(trace.read_text())["traceEvents"]


def test_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-model"]) == 1
    assert "neither a file nor a built-in block" in capsys.readouterr().err
