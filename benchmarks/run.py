"""Run every benchmark of this folder, one after the other, each in a new process.

A process that has grown would lend its size to the memory of all that it starts.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_BENCHMARKS = {"run.py", "peers.py"}

if __name__ == "__main__":
    for script in sorted(HERE.glob("*.py")):
        if script.name not in NOT_BENCHMARKS:
            print(f"\n## {script.stem}\n", flush=True)
            subprocess.run([sys.executable, script], check=True)
