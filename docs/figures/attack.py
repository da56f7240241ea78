"""Draw the figures of docs/audit.md: `python docs/figures/attack.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

from hush.audit import audit
from hush.audit.attacks.reconstruction import recovered_figure
from hush.mechanisms import Laplace
from hush.noise import Seeded
from hush.privacy import Pure

HERE = Path(__file__).parent
STYLE = {"svg.hashsalt": "hush", "font.size": 9, "svg.fonttype": "none"}


def save(axes, name: str) -> None:
    """Write the figure of some axes."""
    axes.figure.savefig(HERE / name, metadata={"Date": None})


if __name__ == "__main__":
    with plt.rc_context(STYLE):
        save(recovered_figure(source=Seeded(1)), "reconstruction.svg")
        found = audit(Laplace(0.5), 0.0, 1.0, claim=Pure(1.0), source=Seeded(1))
        save(found.plot(), "audit.svg")
