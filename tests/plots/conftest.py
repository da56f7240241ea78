"""The registry of mechanisms serves here too: each has HTML."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "mechanisms"))
