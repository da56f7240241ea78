"""Run every benchmark of this folder, one after the other."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_BENCHMARKS = {"run.py", "peers.py"}

if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    for script in sorted(HERE.glob("*.py")):
        if script.name not in NOT_BENCHMARKS:
            print(f"\n## {script.stem}\n", flush=True)
            runpy.run_path(str(script), run_name="__main__")
