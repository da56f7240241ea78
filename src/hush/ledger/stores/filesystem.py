"""Whether a path lies on a disk of this machine: locks on network disks do not hold."""

import os
import sys
from pathlib import Path

from hush.errors import LedgerError

_NETWORK = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
    "smbfs",
}
_NETWORK_FUSE = ("sshfs", "gcsfuse", "s3fs", "rclone", "glusterfs", "davfs", "blobfuse")


def _unescape(text: str) -> str:
    return text.encode().decode("unicode_escape") if "\\" in text else text


def kind(path: Path, mounts: str) -> str:
    r"""Return the file system type of `path`, from the text of a mountinfo table.

    Example:
        >>> table = "1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / /mnt/far rw - nfs4 s rw"
        >>> kind(Path("/mnt/far/budget.db"), table)
        'nfs4'
    """
    best, found = -1, ""
    for line in mounts.splitlines():
        left, mark, right = line.partition(" - ")
        fields = left.split()
        if not mark or len(fields) < 5:
            continue
        mount = Path(_unescape(fields[4]))
        # A later mount on the same point hides the earlier one.
        if (path == mount or mount in path.parents) and len(mount.parts) >= best:
            best, found = len(mount.parts), right.split()[0]
    return found


def refuse_network(path: Path) -> None:
    """Raise unless `path` is on a local file system, as far as the system says.

    Guarantee: on Linux every network file system known by name is refused; elsewhere
    only Windows shares are recognised.
    """
    place = Path(os.path.realpath(path))
    found = ""
    if str(path).startswith(("\\\\", "//")):
        found = "a network share"
    elif sys.platform == "linux":
        try:
            found = kind(place, Path("/proc/self/mountinfo").read_text())
        except OSError:
            return
    fuse = found.startswith("fuse") and any(name in found for name in _NETWORK_FUSE)
    if found == "a network share" or found in _NETWORK or fuse:
        raise LedgerError(
            f"the ledger file lies on a network file system ({found}), where locks do "
            "not keep two machines from spending the same budget. Put it on a local "
            "disk, or use a postgresql:// address."
        )
