"""What a disk holds when the power fails: only what was synchronised, and no more.

A trace of system calls is replayed on a model of a folder in which a write is lost
until its file is synchronised, and a created or removed name until its folder is.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ledger.faults import environment

_CALLS = "openat,write,pwrite64,fsync,fdatasync,unlink,ftruncate"
_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += +(-?\d+)")
_PATH = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def trace(script: Path, folder: Path, *arguments: object) -> list[str] | None:
    """Run a script under strace; None where that is not possible."""
    strace = shutil.which("strace")
    if strace is None:
        return None
    out = folder / "trace"
    command = [strace, "-f", "-y", "-xx", "-s", "100000", "-e", f"trace={_CALLS}"]
    command += ["-o", out, sys.executable, script, *arguments]
    done = subprocess.run(
        list(map(str, command)), env=environment(), capture_output=True, timeout=120
    )
    if done.returncode != 0:
        return None if b"ptrace" in done.stderr else [done.stderr.decode()]
    return out.read_text().splitlines()


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


class Disk:
    """Files of one folder: as the system sees them, and as they would survive."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.folder = folder
        self.seen = {name: (folder / name).read_bytes() for name in names}
        self.kept = dict(self.seen)  # contents that reached the disk
        self.names = set(names)  # directory entries that reached the disk

    def apply(self, call: str, arguments: str, result: int) -> bytes | None:
        """Follow one call; return what it wrote to a file that is not ours."""
        paths = [_bytes(each).decode() for each in _PATH.findall(arguments)]
        texts = [_bytes(each) for each in _TEXT.findall(arguments)]
        if call in ("openat", "unlink") and result >= 0:
            path = Path(texts[0].decode())
            if path.parent == self.folder and call == "unlink":
                self.seen.pop(path.name, None)
            elif path.parent == self.folder and "O_CREAT" in arguments:
                self.seen.setdefault(path.name, b"")
            return None
        path = Path(paths[0]) if paths else Path()
        if path == self.folder and call in ("fsync", "fdatasync"):
            self.names = set(self.seen)
            for name in set(self.kept) - self.names:
                del self.kept[name]
        elif path.parent == self.folder and path.name in self.seen:
            self._file(call, path.name, arguments, texts)
        elif call == "write":
            return texts[0]
        return None

    def _file(self, call: str, name: str, arguments: str, texts: list[bytes]) -> None:
        old = self.seen[name]
        if call == "pwrite64":
            offset = int(arguments.rsplit(",", 1)[1])
            old = old.ljust(offset, b"\0")
            self.seen[name] = old[:offset] + texts[0] + old[offset + len(texts[0]) :]
        elif call == "write":
            self.seen[name] = old + texts[0]
        elif call == "ftruncate":
            size = int(arguments.rsplit(",", 1)[1])
            self.seen[name] = old[:size].ljust(size, b"\0")
        else:
            self.kept[name] = old

    def after_power_loss(self, folder: Path) -> None:
        """Write what survives into an empty folder."""
        for name in self.names:
            (folder / name).write_bytes(self.kept.get(name, b""))


def crashes(lines: list[str], disk: Disk) -> Iterator[list[str]]:
    """Yield, after every call, what had been reported before the power failed."""
    reported: list[str] = []
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        written = disk.apply(found[1], found[2], int(found[3]))
        if written is not None and written.startswith(b"release "):
            reported.append(written.decode().strip())
        yield reported
