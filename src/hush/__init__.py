"""hush: learn about a population, and prove that nobody in it was exposed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("hush")
except PackageNotFoundError:  # running from a source tree that is not installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
