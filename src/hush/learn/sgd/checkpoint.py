"""Checkpoints: a run's public state on disk, written whole or not at all.

The invariant: *at most one noisy sum of each step is ever seen.* A state is written
before anybody sees it; what was drawn after the last written state was seen by nobody,
and is drawn afresh when the run resumes; a written state is never drawn again, because
a run is charged together with the name of its checkpoint, and a checkpoint that was
lost cannot be replaced under the same charge. A copy put back in its place can: keep
checkpoints where only the run writes.

A checkpoint holds nothing about the data but the `version` that the user calls them by:
a hash of them would be theirs, and public. So it cannot tell other data from the same.
"""

import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import jax
import numpy as np

from hush.errors import InvalidArgument
from hush.learn.sgd.program import State

_FORMAT = 1


@final
@dataclass(frozen=True)
class Checkpoint:
    """One file: the name of a run, the plan it belongs to, and its last state."""

    path: Path
    name: str
    plan: str
    version: str = ""

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], plan: str, start: State, version: str = ""
    ) -> "Checkpoint":
        """Return the checkpoint at `path`, made anew where there is none."""
        place = Path(path)
        if place.exists():
            head, _ = _read(place)
            known = head.get("version", "")
            if known != version:
                raise InvalidArgument(
                    f"checkpoint {place} was begun on data of version {known!r}, and "
                    f"these are version={version!r}. Resume it with the data it was "
                    "begun on, or name another file."
                )
            if head["plan"] != plan:
                raise InvalidArgument(
                    f"checkpoint {place} belongs to another plan; resume it with the "
                    "same arguments, or name another file."
                )
            return cls(place, head["name"], plan, version)
        found = cls(place, secrets.token_hex(16), plan, version)
        found.save(start)
        return found

    def load(self, like: State) -> State:
        """Return the last state, in the form of `like`."""
        head, arrays = _read(self.path)
        if head["name"] != self.name:
            raise InvalidArgument(f"checkpoint {self.path} was exchanged; start anew.")
        leaves, tree = jax.tree.flatten(like)
        if len(leaves) != len(arrays):
            raise InvalidArgument(f"checkpoint {self.path} holds another optimizer.")
        return State(*jax.tree.unflatten(tree, arrays))

    def save(self, state: State) -> None:
        """Write a state in place of the last one, durably and all at once."""
        arrays = {
            f"a{i:05d}": np.asarray(leaf)
            for i, leaf in enumerate(jax.tree.leaves(state))
        }
        head = json.dumps(
            {
                "format": _FORMAT,
                "name": self.name,
                "plan": self.plan,
                "version": self.version,
            }
        )
        beside = self.path.with_name(self.path.name + ".new")
        with beside.open("wb") as file:
            np.savez(file, head=np.array(head), **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep other processes from running the same steps."""
        import fcntl

        with self.path.with_name(self.path.name + ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InvalidArgument(
                    f"checkpoint {self.path} is in use by another process."
                ) from None
            yield


def _read(path: Path) -> tuple[dict[str, Any], list[Any]]:
    strange = InvalidArgument(
        f"{path} is not a checkpoint of hush. Name another file, or one that does not "
        "exist yet."
    )
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            head = json.loads(str(found["head"]))
            arrays = [found[name] for name in sorted(found.files) if name != "head"]
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        # What NumPy says of other files would be bad advice.
        raise strange from None
    if not isinstance(head, dict) or not {"name", "plan"} <= head.keys():
        raise strange
    if head.get("format") != _FORMAT:
        raise InvalidArgument(f"{path} is a checkpoint of another version of hush.")
    return head, arrays
