"""Write every page that is made from code: `make pages`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import decisions
import modules
import theory

PAGES = {
    theory.DOCS / "theory.md": theory.page,
    theory.DOCS / "modules.md": modules.page,
    decisions.FOLDER / "index.md": decisions.page,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
