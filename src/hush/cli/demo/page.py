"""The demo's report: one page that needs nothing else, light or dark."""

from html import escape

from hush.cli.demo import chart
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
        f"<figure>{chart.dots(panel)}<figcaption>{escape(panel.name.capitalize())}, "
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
<figure>{chart.spending(costs, BUDGET["epsilon"], answers[1].epsilon)}<figcaption>The
budget after {len(answers)} answers. The same question as number 2 again would need
{answers[1].epsilon:g}; the ledger refuses it before any data is
read.</figcaption></figure>
<h2>What would more budget buy?</h2>
<p>The error of a question is known before it is asked, from public numbers alone.</p>
<figure>{chart.tradeoff(points, answers[0].epsilon, "trips")}<figcaption>Half-width of
the 95&nbsp;% intervals of question 1 for other values of ε; planned, not asked, so it
cost nothing.</figcaption></figure>
<p class=soft>Ledger: {escape(whole)}. The noise is drawn from the operating system's
randomness; run <code>hush demo</code> again and every answer moves. The table has no
person with more than {ROWS} trips; where one has, their trips weigh less, which
intervals do not cover.</p>
</body></html>
"""
