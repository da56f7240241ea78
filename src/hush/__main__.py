"""`python -m hush`: the command line."""

from hush.cli import main

main()
