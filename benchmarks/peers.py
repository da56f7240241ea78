"""Peers run in environments of their own, so that nothing of theirs enters ours."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent / ".bench"


def environment(name: str, *requirements: str) -> Path:
    """Return the interpreter of a peer environment, made on first use."""
    home = ROOT / name
    python = home / "bin" / "python"
    stamp = home / "requirements"
    wanted = "\n".join(requirements)
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *requirements], check=True
        )
        stamp.write_text(wanted)
    return python


def run(python: Path, code: str, timeout: float = 600) -> Any:
    """Run code that prints one JSON value as its last line; return the value."""
    done = subprocess.run(
        [str(python), "-c", code],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.strip().splitlines()[-1])
