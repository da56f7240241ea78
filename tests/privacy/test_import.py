"""Importing the curves stays light."""

import subprocess
import sys


def test_no_heavy_module_is_loaded():
    heavy = {"scipy.optimize", "scipy.stats", "scipy.integrate", "matplotlib", "mpmath"}
    code = f"import sys, hush.privacy; print(sorted({heavy!r} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
