"""`python -m hush.cli`."""

from hush.cli import main

main()
