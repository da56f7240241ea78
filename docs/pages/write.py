"""Write every page that is made from code: `make pages`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import concepts
import theory

PAGES = {
    theory.DOCS / "theory.md": theory.page,
    concepts.ROOT / "ARCHITECTURE.md": concepts.page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
