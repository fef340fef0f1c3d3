"""The report of luminal-explain as one page: no script, no font and no picture comes from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from luminal.runtime.profile import Profile, ProfileRow

from .report import (
    bytes_text,
    compile_times,
    measured,
    origin,
    rate,
    seconds_text,
    share,
    short_place,
    summary,
)

KINDS = {"contract": "#4477aa", "attention": "#aa3377", "region": "#228833", "scatter": "#ccbb44"}
"""A colour for each kind of kernel, told apart by colour-blind eyes too (Paul Tol's bright scheme)."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap }
th:last-child, td:last-child, td.text { text-align: left; white-space: normal }
code, pre { font: 12.5px/1.45 ui-monospace, monospace }
pre { overflow: auto; background: var(--soft); padding: .7rem }
details { border-bottom: 1px solid var(--line); padding: .35rem 0 } summary { cursor: pointer }
.bar { display: inline-block; height: .7rem; border-radius: 2px; vertical-align: middle; margin-right: .4rem }
.graph { overflow: auto; border: 1px solid var(--line); border-radius: 6px }
svg text { font: 11px ui-monospace, monospace; fill: currentColor }
svg path { stroke: currentColor; opacity: .35 }
.note { opacity: .75 }
"""

WIDTH, HEIGHT, GAP_X, GAP_Y = 190, 40, 24, 34
"""A box of the graph, and the space around it, in pixels."""


def page(name: str, profile: Profile, stages: Mapping[str, float], search: Mapping[str, Any]) -> str:
    """The page's text."""
    head, *rest = summary(name, profile)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>luminal: {escape(name)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(name)}</h1><p>{escape(head.partition(': ')[2])}<br>{escape(' '.join(rest))}</p>",
        "<h2>Kernels</h2>",
        _table(profile),
        "<h2>Graph</h2><p class='note'>A box per kernel, in the order of a call; a line where one reads "
        "what another writes. Hover for shapes.</p>",
        _graph(profile),
        "<h2>Each kernel</h2>",
        *(_details(row, profile) for row in profile.rows),
        "<h2>Compile time</h2><table><tr><th>seconds</th><th>stage</th></tr>",
        *(
            f"<tr><td>{seconds:.3f}</td><td>{escape(stage)}</td></tr>"
            for stage, seconds in compile_times(stages)
        ),
        "</table>",
        *(f"<p>{escape(line)}</p>" for line in measured(search)),
        _skipped(search),
        "</body></html>",
    ]
    return "\n".join(parts)


def _bar(row: ProfileRow, profile: Profile) -> str:
    width = max(share(row, profile), 0.5)
    return f"<span class='bar' style='width:{width:.1f}px;background:{_colour(row)}'></span>"


def _colour(row: ProfileRow) -> str:
    return KINDS.get(row.info.kind, "#888888")


def _table(profile: Profile) -> str:
    rows = [
        "<table><tr><th>#</th><th>share</th><th>per call</th><th>launches</th><th>GB/s</th><th>GFLOP/s</th>"
        "<th>kernel</th></tr>"
    ]
    for row in profile.rows:
        rows.append(
            f"<tr><td><a href='#k{row.kernel}'>{row.kernel}</a></td><td>{share(row, profile):.1f}%</td>"
            f"<td>{seconds_text(row.seconds)}</td><td>{row.launches}</td><td>{rate(row.bytes, row):.1f}</td>"
            f"<td>{rate(row.flops, row):.1f}</td>"
            f"<td>{_bar(row, profile)}<code>{escape(str(row.info))}</code></td></tr>"
        )
    return "\n".join([*rows, "</table>"])


def _details(row: ProfileRow, profile: Profile) -> str:
    ops, rules = origin(row)
    facts = [
        f"<p>{seconds_text(row.per_launch)} a launch, {row.launches} launches, {bytes_text(row.bytes)} and "
        f"{row.flops:,} operations each; in <code>@{escape(row.info.function)}</code>, from "
        f"<code>{escape(short_place(row))}</code></p>"
    ]
    if ops:
        facts.append(
            f"<p>Computes {escape(ops)}.<br>"
            f"Rules that matched and make such nodes: {escape(rules or 'none')}.</p>"
        )
    found = row.info.search.get("candidates", [])
    if found:
        facts.append("<table><tr><th>seconds</th><th>instead of</th><th>also measured</th></tr>")
        facts += [
            f"<tr><td>{seconds_text(each['seconds'])}</td><td>{seconds_text(each['instead of'])}</td>"
            f"<td>{escape(each['description'])}</td></tr>"
            for each in found
        ]
        facts.append("</table>")
    title = f"{row.kernel}: {escape(str(row.info))} &ndash; {share(row, profile):.1f}%"
    return (
        f"<details id='k{row.kernel}'><summary>{_bar(row, profile)}{title}</summary>{''.join(facts)}"
        f"<pre>{escape(row.info.text)}</pre></details>"
    )


def _levels(profile: Profile) -> dict[int, int]:
    """The row of each kernel's box: below all kernels before it that it reads."""
    order = sorted(row.kernel for row in profile.rows)
    levels = {kernel: 0 for kernel in order}
    for kernel in order:
        before = [levels[a] + 1 for a, b in profile.edges if b == kernel and a in levels and a < kernel]
        levels[kernel] = max(before, default=0)
    return levels


def _graph(profile: Profile) -> str:
    levels = _levels(profile)
    places: dict[int, tuple[int, int]] = {}
    used: dict[int, int] = {}
    for kernel, level in sorted(levels.items()):
        column = used.get(level, 0)
        used[level] = column + 1
        places[kernel] = (column * (WIDTH + GAP_X) + GAP_X, level * (HEIGHT + GAP_Y) + GAP_Y)
    width = max(used.values(), default=1) * (WIDTH + GAP_X) + GAP_X
    height = (max(levels.values(), default=0) + 1) * (HEIGHT + GAP_Y) + GAP_Y
    shapes = []
    for a, b in profile.edges:
        if a in places and b in places and levels[a] < levels[b]:
            (x, y), (u, v) = places[a], places[b]
            x, u, y = x + WIDTH // 2, u + WIDTH // 2, y + HEIGHT
            middle = (y + v) // 2
            shapes.append(f"<path d='M{x} {y} C{x} {middle} {u} {middle} {u} {v}' fill='none'/>")
    for row in profile.rows:
        x, y = places[row.kernel]
        shapes.append(
            f"<a href='#k{row.kernel}'><g><title>{escape(str(row.info))}</title>"
            f"<rect x='{x}' y='{y}' width='{WIDTH}' height='{HEIGHT}' rx='5' fill='{_colour(row)}' "
            f"fill-opacity='{0.15 + 0.75 * share(row, profile) / 100:.2f}' stroke='{_colour(row)}'/>"
            f"<text x='{x + 8}' y='{y + 16}'>{row.kernel} {escape(row.info.kind)}</text>"
            f"<text x='{x + 8}' y='{y + 31}'>{share(row, profile):.1f}% {escape(row.info.result)}</text>"
            "</g></a>"
        )
    return (
        f"<div class='graph'><svg width='{width}' height='{height}' viewBox='0 0 {width} {height}'>"
        + "".join(shapes)
        + "</svg></div>"
    )


def _skipped(search: Mapping[str, Any]) -> str:
    """The kernels that the search asked for and that were not measured, with the reasons."""
    entries = [entry for entry in search.get("log", ()) if entry.seconds is None]
    if not entries:
        return ""
    rows = "".join(
        f"<tr><td class='text'><code>{escape(entry.kernel)}</code></td><td>{escape(entry.reason)}</td></tr>"
        for entry in entries
    )
    return f"<details><summary>{len(entries)} not measured</summary><table>{rows}</table></details>"
