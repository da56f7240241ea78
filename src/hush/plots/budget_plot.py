"""A budget over time: what was left after every charge."""

from typing import Any

from hush.errors import InvalidArgument
from hush.ledger.release import amounts_paid
from hush.plots.style import COLORS, FAINT, INK, check_drawable, new_axes

_CHARGED = ("charge", "reserve", "hold")


def left_after(ledger: Any, account: str) -> list[float]:
    """Return what was left of an account at first and after each charge."""
    limit, used = 0.0, 0.0
    held: dict[str, float] = {}
    found: list[float] = []
    for each in ledger.history():
        if each.kind in _CHARGED and account in each.content["costs"]:
            held[each.key] = float(amounts_paid(each.content)[account][1][0])
            used += held[each.key]
            found.append(limit - used)
        elif each.kind == "void":
            used -= held.pop(each.key, 0.0)
        elif each.kind == "grant" and each.accounts == account:
            limit = each.content["limit"][0] * 10.0 ** each.content["powers"][0]
            if not found:
                found.append(limit)
    return found


def budget(ledger: Any, account: str | None = None, *, axes: Any = None) -> Any:
    """Draw what was left of an account after every charge; return the axes.

    Without a name it is the account with the least left.

    Example:
        >>> from hush import Budget, Ledger
        >>> from hush.privacy import Pure
        >>> ledger = Ledger.open("memory://", budget=Budget(epsilon=1))
        >>> receipt = ledger.charge(Pure(epsilon=0.25))
        >>> budget(ledger).get_ylabel()
        'epsilon left'
    """
    check_drawable(
        ledger,
        "a ledger",
        ("remaining", "history"),
        "Give the ledger of a data set: plots.budget(data.ledger).",
    )
    accounts = {each.account: each for each in ledger.remaining().accounts}
    chosen = account or min(
        accounts, key=lambda n: accounts[n].left_exact[0] / accounts[n].limits[0]
    )
    if not isinstance(chosen, str) or chosen not in accounts:
        raise InvalidArgument(
            f"account must be one of {', '.join(accounts)}; got {account!r}."
        )
    notion = accounts[chosen].notion
    amounts = left_after(ledger, chosen)
    axes = new_axes(axes)
    # The last level goes on for half a step, until the next charge.
    x, y = [*range(len(amounts)), len(amounts) - 0.5], [*amounts, amounts[-1]]
    axes.step(x, y, where="post", color=COLORS[0], linewidth=1.8)
    axes.fill_between(x, y, step="post", color=COLORS[0], alpha=0.12)
    # Beside the picture: within it, small charges would draw the line through it.
    axes.annotate(
        f"{amounts[-1]:.4g} left",
        (x[-1], y[-1]),
        xytext=(5, 0),
        textcoords="offset points",
        ha="left",
        va="center",
        fontsize=9,
        color=INK,
    )
    axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.set(
        xlabel=f"charges to {chosen.replace(':', ' ', 1)}",
        ylabel=f"{'μ²' if notion == 'mu' else notion} left",
        xlim=(0, x[-1]),
        ylim=(0, max(amounts) * 1.15),
    )
    axes.xaxis.get_major_locator().set_params(integer=True)
    return axes
