"""Exit codes: what a script can tell from the number a command ends with."""

from enum import IntEnum

from hush import errors


class Code(IntEnum):
    """How a command ended."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    SPENT = 3
    LEDGER = 4
    FAILED = 5
    FOUND = 6
    INTERNAL = 70
    STOPPED = 130


MEANING = {
    Code.OK: "Done.",
    Code.REFUSED: "Refused: a file, a column, the SQL or a number is not as it must "
    "be. Nothing was charged.",
    Code.USAGE: "The command line itself cannot be read. Nothing was charged.",
    Code.SPENT: "The charge does not fit into what is left. Nothing was charged.",
    Code.LEDGER: "The ledger cannot be reached or trusted, is for other data, or the "
    "key was used for another request. Nothing was released.",
    Code.FAILED: "The draw failed after it was charged. The charge stands and the "
    "reason is not told, because it may depend on the data.",
    Code.FOUND: "A check found what it looks for: `verify` an altered ledger, `audit` "
    "a guarantee that does not hold.",
    Code.INTERNAL: "An error of hush itself; `--debug` shows where.",
    Code.STOPPED: "Interrupted. A charge without an answer is resumed by the same "
    "`--key`.",
}

# The first class that fits decides.
_OF_ERROR: tuple[tuple[type[BaseException], Code], ...] = (
    (errors.BudgetExceeded, Code.SPENT),
    (errors.LedgerError, Code.LEDGER),
    (errors.KeyConflict, Code.LEDGER),
    (errors.LockedOut, Code.LEDGER),
    (errors.DrawFailed, Code.FAILED),
    (errors.HushError, Code.REFUSED),
    (KeyboardInterrupt, Code.STOPPED),
)


def code_of(problem: BaseException) -> Code:
    """Return the exit code of an error.

    Example:
        >>> code_of(errors.BudgetExceeded("no"))
        <Code.SPENT: 3>
    """
    if isinstance(problem, OSError) and problem.filename:
        return Code.REFUSED
    for kind, code in _OF_ERROR:
        if isinstance(problem, kind):
            return code
    return Code.INTERNAL
