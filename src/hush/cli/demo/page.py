"""The demo's report: one page that needs nothing else, light or dark."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import final

from hush.cli.demo.questions import BUDGET, ROWS, Asked, Panel
from hush.cli.demo.town import PEOPLE, TRIPS
from hush.ledger import Budget

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b2430",
    "soft": "#5b6675",
    "rule": "#dfe4ea",
    "blue": "#0072b2",
    "pale": "#cfe3f1",
    "other": "#3b8dc0",
    "warn": "#b4470f",
    "code": "#f4f6f8",
}
DARK = {
    "paper": "#14181d",
    "ink": "#e6eaef",
    "soft": "#a3adb9",
    "rule": "#303841",
    "blue": "#5cb3ea",
    "pale": "#234457",
    "other": "#3f8fc0",
    "warn": "#f0935a",
    "code": "#1e242b",
}
_STYLE = """
body{background:var(--paper);color:var(--ink);margin:0 auto;padding:2rem 1.2rem 4rem;
 max-width:50rem;font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .6rem}
h2{font-size:1.2rem;margin:3rem 0 .4rem}
p{margin:.5rem 0}.soft,figcaption{color:var(--soft);font-size:.9rem}
code{background:var(--code);padding:.1em .35em;border-radius:4px;font-size:.85em;
 overflow-wrap:anywhere}
figure{margin:1.2rem 0}svg{width:100%;height:auto;display:block}
table{border-collapse:collapse;width:100%;font-size:.9rem;
 font-variant-numeric:tabular-nums;margin:.8rem 0}
th,td{text-align:right;padding:.28rem .5rem;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
.cost{display:inline-block;border:1px solid var(--rule);border-radius:1em;
 padding:.05em .7em;font-size:.85rem;color:var(--soft)}
.stop{border-left:4px solid var(--warn);padding:.2rem 0 .2rem 1rem}
"""
DRAWING = """
.t{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}
.small{font-size:12px;fill:var(--soft)}.bold{font-weight:600}
.on{fill:#ffffff;font-weight:600}.warn{fill:var(--warn)}
.grid{stroke:var(--rule);stroke-width:1}.truth{stroke:var(--ink);stroke-width:1.5}
.stem{stroke:var(--pale);stroke-width:8}.bar{stroke:var(--other);stroke-width:3}
.dot{fill:var(--blue)}.part{fill:#0072b2}.p1{fill:#2b83b6}
.refused{fill:none;stroke:var(--warn);stroke-width:1.5;stroke-dasharray:5 4}
.limit{stroke:var(--ink);stroke-width:2}
.curve{fill:none;stroke:var(--blue);stroke-width:2}
"""


def _variables(colors: dict[str, str]) -> str:
    return ";".join(f"--{name}:{color}" for name, color in colors.items())


def _table(panel: Panel) -> str:
    d = panel.digits
    rows = "".join(
        f"<tr><td>{escape(row.label)}</td><td>{row.value:,.{d}f}</td>"
        f"<td>{row.low:,.{d}f} to {row.high:,.{d}f}</td>"
        f"<td>{row.truth:,.{d}f}</td></tr>"
        for row in panel.rows
    )
    heads = ("", f"released {panel.unit}", "95 % interval", "truth")
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def cost(asked: Asked) -> str:
    """Return what a question cost, in words."""
    return f"ε = {asked.epsilon:g}" + (f", δ = {asked.delta:g}" if asked.delta else "")


def _section(number: int, asked: Asked) -> str:
    figures = "".join(
        f"<figure>{dots(panel)}<figcaption>{escape(panel.name.capitalize())}, "
        f"protecting every person with all their trips, for {cost(asked)}. The "
        "intervals hold with probability 95&nbsp;% each; they cover the noise."
        "</figcaption>"
        f"</figure><details><summary class=soft>the numbers</summary>{_table(panel)}"
        "</details>"
        for panel in asked.panels
    )
    return (
        f"<h2>{number}. {escape(asked.title)}</h2>"
        f"<p><span class=cost>{cost(asked)}</span> "
        f"<code>{escape(asked.code)}</code></p>"
        f"<p>{escape(asked.remark)}</p>{figures}"
        f"<p class=soft>Receipt: {escape(asked.receipt)}<br>"
        f"Then: {escape(asked.left)}</p>"
    )


def page(
    answers: list[Asked], refusal: str, points: list[tuple[float, float]], whole: str
) -> str:
    """Return the report as HTML."""
    budget = Budget(**BUDGET)
    caught = float(budget.curve().power_at(0.01))
    costs = [(f"{i}", asked.epsilon) for i, asked in enumerate(answers, 1)]
    sections = "".join(_section(i, asked) for i, asked in enumerate(answers, 1))
    dark = _variables(DARK)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>hush: a private look at a town</title>
<style>:root{{{_variables(LIGHT)}}}
@media (prefers-color-scheme:dark){{:root{{{dark}}}}}
{_STYLE}{DRAWING}</style></head><body>
<h1>A private look at a town</h1>
<p>{TRIPS:,} trips of {PEOPLE:,} people were asked {len(answers)} questions. The town is
made up, so the truth can be shown beside each answer; with real data nobody would see
it.</p>
<p><b>What is protected:</b> every person with all their trips (up to {ROWS} are
counted). <b>At what cost:</b> everything on this page together spent at most
ε&nbsp;=&nbsp;{budget.epsilon:g} and δ&nbsp;=&nbsp;{budget.delta:g}. Somebody who
knows all trips of everybody else, reads all of this and accuses the innocent once in a
hundred times of being in the data finds out at most {caught:.0%} of those who are.</p>
{sections}
<h2>{len(answers) + 1}. One question too many</h2>
<p class=stop>{escape(refusal)}</p>
<figure>{spending(costs, BUDGET["epsilon"], answers[1].epsilon)}<figcaption>The
budget after {len(answers)} answers. The same question as number 2 again would need
{answers[1].epsilon:g}; the ledger refuses it before any data is
read.</figcaption></figure>
<h2>What would more budget buy?</h2>
<p>The error of a question is known before it is asked, from public numbers alone.</p>
<figure>{tradeoff(points, answers[0].epsilon, "trips")}<figcaption>Half-width of
the 95&nbsp;% intervals of question 1 for other values of ε; planned, not asked, so it
cost nothing.</figcaption></figure>
<p class=soft>Ledger: {escape(whole)}. The noise is drawn from the operating system's
randomness; run <code>hush demo</code> again and every answer moves. The table has no
person with more than {ROWS} trips; where one has, their trips weigh less, which
intervals do not cover.</p>
</body></html>
"""


# --------------------------------------------------------------------------------------
# Small charts as SVG text; colours are CSS variables, so that a page may be dark.

WIDE = 760
_LABEL, _LEFT, _MIDDLE, _BESIDE, _RIGHT = 96, 108, 352, 420, 452  # columns
_ROW, _TOP, _FOOT = 28, 30, 46


@final
@dataclass(frozen=True)
class Axis:
    """A stretch of numbers on a stretch of the page."""

    low: float
    high: float
    left: float
    right: float

    def at(self, value: float) -> float:
        """Return where a number is drawn."""
        share = (value - self.low) / (self.high - self.low)
        return self.left + share * (self.right - self.left)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round numbers inside, at most so many.

        Example:
            >>> Axis(0, 47, 0, 100).ticks(5)
            [0.0, 10.0, 20.0, 30.0, 40.0]
        """
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


def number(value: float) -> str:
    """Return a number as short as it reads well."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 else f"{value:.3g}"


def signed_text(value: float) -> str:
    """Return a deviation, with its sign."""
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{number(abs(value))}"


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Return one line of text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="t {kind}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return one stroke."""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'class="{kind}"/>'
    )


def dot(x: float, y: float, kind: str = "dot", radius: float = 4) -> str:
    """Return one dot."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{kind}"/>'


def svg(high: float, parts: list[str], label: str) -> str:
    """Return a drawing that scales with the page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high:.0f}" '
        f'role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _grid(
    axis: Axis, bottom: float, name: str, words: Callable[[float], str], most: int
) -> str:
    ticks = axis.ticks(most)
    parts = [line(axis.at(e), _TOP - 4, axis.at(e), bottom, "grid") for e in ticks]
    parts += [
        text(axis.at(each), bottom + 16, words(each), "small", "middle")
        for each in ticks
    ]
    middle = (axis.left + axis.right) / 2
    return "".join(parts) + text(middle, bottom + 34, name, "small", "middle")


def dots(panel: Panel) -> str:
    """Draw released values, and beside them how far they and their ends are off."""
    rows = panel.rows
    bottom = _TOP + _ROW * len(rows)
    high = max(max(row.value, row.truth) for row in rows)
    values = Axis(0, high * 1.06, _LEFT, _MIDDLE)
    reach = max(
        max(abs(row.low - row.truth), abs(row.high - row.truth)) for row in rows
    )
    off = Axis(-reach * 1.08, reach * 1.08, _RIGHT, WIDE - 16)
    parts = [
        text(_LEFT, 16, "released value", "small bold"),
        text(_RIGHT, 16, "its 95 % interval, around the truth at 0", "small bold"),
        _grid(values, bottom, panel.unit, number, 4),
        _grid(off, bottom, f"{panel.unit} above or below the truth", signed_text, 7),
        line(off.at(0), _TOP - 4, off.at(0), bottom, "truth"),
    ]
    for i, row in enumerate(rows):
        y = _TOP + _ROW * (i + 0.5)
        parts += [
            text(_LABEL, y + 4, row.label, anchor="end"),
            line(values.at(0), y, values.at(row.value), y, "stem"),
            dot(values.at(row.value), y),
            text(_BESIDE, y + 4, f"{row.value:,.{panel.digits}f}", anchor="end"),
            line(
                off.at(row.low - row.truth), y, off.at(row.high - row.truth), y, "bar"
            ),
            dot(off.at(row.value - row.truth), y),
        ]
    return svg(bottom + _FOOT, parts, f"{panel.name} with intervals")


def spending(costs: list[tuple[str, float]], limit: float, asked: float) -> str:
    """Draw the budget as one bar: what each answer took, and what did not fit."""
    spent = sum(cost for _, cost in costs)
    axis = Axis(0, max(limit, spent + asked) * 1.02, 16, WIDE - 16)
    top, deep = 34, 30
    parts, at = [], 0.0
    for i, (name, cost) in enumerate(costs):
        left, right = axis.at(at), axis.at(at + cost)
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{right - left - 2:.1f}" '
            f'height="{deep}" class="part p{i % 2}"/>'
        )
        parts.append(text((left + right) / 2 - 1, top + 20, name, "on", "middle"))
        at += cost
    left, right = axis.at(spent), axis.at(spent + asked)
    end = axis.at(limit)
    parts += [
        f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{deep}" '
        'class="refused"/>',
        text((max(left, end) + right) / 2, top + 20, "refused", "warn", "middle"),
        line(end, top - 12, end, top + deep + 8, "limit"),
        text(
            end,
            top - 16,
            f"budget: ε = {limit:g}, of which {limit - spent:g} is left",
            "small",
            "end",
        ),
    ]
    ticks = axis.ticks(8)
    bottom = top + deep + 8
    parts += [line(axis.at(e), bottom - 6, axis.at(e), bottom, "grid") for e in ticks]
    parts += [text(axis.at(e), bottom + 14, f"{e:g}", "small", "middle") for e in ticks]
    parts.append(text(WIDE / 2, bottom + 32, "ε spent", "small", "middle"))
    return svg(bottom + 40, parts, "the budget")


def tradeoff(points: list[tuple[float, float]], used: float, unit: str) -> str:
    """Draw error against ε, both in powers of ten, with a mark at what was used."""
    first, last = (math.log10(points[i][0]) for i in (0, -1))
    x = Axis(first, last, 92, WIDE - 40)
    ends = math.log10(points[-1][1]), math.log10(points[0][1])
    y = Axis(math.floor(ends[0]), math.ceil(ends[1]), 196, 16)
    parts = []
    for power in range(int(y.low), int(y.high) + 1):
        at = y.at(power)
        parts.append(line(x.left, at, x.right, at, "grid"))
        parts.append(
            text(x.left - 8, at + 4, f"± {number(10.0**power)}", "small", "end")
        )
    for power in range(math.ceil(x.low - 1e-9), math.floor(x.high + 1e-9) + 1):
        at = x.at(power)
        parts.append(line(at, y.right, at, y.left, "grid"))
        parts.append(text(at, y.left + 20, f"{10.0**power:g}", "small", "middle"))
    path = " ".join(
        f"{x.at(math.log10(e)):.1f},{y.at(math.log10(w)):.1f}" for e, w in points
    )
    parts.append(f'<polyline points="{path}" class="curve"/>')
    near = min(points, key=lambda p: abs(math.log(p[0] / used)))
    slope = near[1] * near[0] / used  # the error of a count is as 1/ε
    px, py = x.at(math.log10(used)), y.at(math.log10(slope))
    words = f"ε = {used:g}: ± {number(slope)} {unit}"
    parts += [dot(px, py, radius=5), text(px + 10, py - 8, words)]
    middle = (x.left + x.right) / 2
    parts.append(text(middle, y.left + 40, "ε of the question", "small", "middle"))
    return svg(y.left + 50, parts, "error against epsilon")
