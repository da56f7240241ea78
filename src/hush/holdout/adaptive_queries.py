"""Adaptive queries about private people: count the question, compute, then draw."""

import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from hush.errors import BudgetExceeded, DrawFailed, InvalidArgument, Withheld
from hush.fork_safety import Owner
from hush.holdout.records import People

# What is done with warnings is the same for all threads: one changes it at a time.
_QUIET = threading.RLock()


class Counter:
    """How many questions are left: a question is used before its answer is computed.

    It counts in the process that made it, and nowhere else.
    """

    def __init__(self, queries: int) -> None:
        self.queries, self._used = queries, 0
        self._lock, self._owner = threading.Lock(), Owner("a holdout")

    def check_process(self) -> None:
        """Refuse to go on in a forked copy, which would not be counted."""
        self._owner.check()

    @property
    def left(self) -> int:
        """Questions that may still be asked."""
        return self.queries - self._used

    def use(self, count: int = 1, *, once: bool = False) -> int:
        """Use up questions and return the number of the first.

        With `once` they are the only ones: a second list is refused, also in a thread
        that asks at the same time.
        """
        self.check_process()
        with self._lock:
            if once and self._used:
                raise InvalidArgument(
                    "a fixed holdout takes one list of questions and has answered it; "
                    "collect new data, or open Holdout(...) for adaptive questions."
                )
            if count > self.left:
                raise BudgetExceeded(
                    f"{count} more of queries={self.queries} were asked for and "
                    f"{self.left} are left. Further answers would not be valid; "
                    "collect new data and open a new holdout."
                )
            self._used += count
            return self._used - count


def total(compute: Callable[[], int]) -> int:
    """Return a private total; a failure does not reveal which record caused it.

    A query or model that fails on some records does not come here (see `People`): what
    is left is what fails as a whole, such as predictions of the wrong shape.
    """
    # A warning of a model, too, may reveal a record.
    with Withheld(), _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compute()
    # Raised out here, the error does not even carry the first one as its context.
    raise DrawFailed(
        "the question failed on the holdout and is used up. Try it on your own data "
        "first: it must give one score or prediction for every row."
    )


def same_size(people: People, predictions: Any) -> None:
    """Refuse predictions of the wrong length before a question is used."""
    sized = hasattr(predictions, "__len__")
    given = len(predictions) if sized else type(predictions).__name__
    if given != people.size:
        raise InvalidArgument(
            f"predictions must have one entry for each of {people.size} records; got "
            f"{given}."
        )
    people.admit(predictions)


def check_query(people: People, query: Any) -> None:
    """Refuse what is no function of one record before a question is used."""
    record = "the pair (row, label)" if people.has_features else "a record"
    if callable(query):
        try:
            inspect.signature(query).bind(None)
        except TypeError:
            pass
        except ValueError:  # a function of C may not say what it takes
            return
        else:
            return
    raise InvalidArgument(
        f"query must be a function of one argument, {record}; got {_kind(query)}. "
        f"Write lambda record: record{'[1] == 1' if people.has_features else ' > 0'}."
    )


def _kind(thing: Any) -> str:
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return "another function" if callable(thing) else f"a {type(thing).__name__}"


# What a model does wrong whatever rows it is given; it is an AttributeError, too, that
# it was never fitted. Other failures may come from there being no rows.
_WRONG = (NameError, AttributeError, ImportError, TypeError)


def _check_predicts(people: People, model: Any) -> None:
    """Refuse what cannot predict at all, as no rows show: no data are in them.

    On people its failure could not be told, and would have the lowest score.
    """
    predict = getattr(model, "predict", model)
    if isinstance(model, type) or not callable(predict):
        raise InvalidArgument(
            f"model must be a fitted model or a function of rows; got {_kind(model)}."
        )
    rows = people.empty_features
    if rows is None:
        return
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predict(rows)
    except _WRONG as error:
        raise InvalidArgument(
            f"model cannot predict, even for no rows ({type(error).__name__}). Fit it "
            "first; it is given rows as the holdout has them, without labels."
        ) from error
    except Exception:  # perhaps because there are no rows: no reason to stop
        return


def check_fits(people: People, model: Any) -> None:
    """Refuse a model of other columns, or none, before a question is used."""
    needs_features(people)
    people.admit()
    wanted, given = getattr(model, "n_features_in_", None), people.columns
    if isinstance(wanted, int) and given is not None and wanted != given:
        raise InvalidArgument(
            f"model was fitted to {wanted} columns; the holdout has {given}. Fit it to "
            "the same columns."
        )
    _check_predicts(people, model)


def needs_features(people: People) -> None:
    """Refuse to score a model where there are labels alone."""
    if not people.has_features:
        raise InvalidArgument(
            "score needs data=(features, labels); with labels alone use submit."
        )


def never_copied() -> NoReturn:
    """Refuse a copy, which would not know what the original was asked."""
    raise InvalidArgument(
        "a holdout is never copied or pickled: its copies could be asked twice. Run "
        "searches with n_jobs=1."
    )
