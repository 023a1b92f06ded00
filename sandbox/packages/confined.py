"""Runs a program in another root file system, as Crossplane runs packages: uid and gid 2000, a read-only
root, no privileges.

    python -m sandbox.packages.confined ROOT PROGRAM [ARGUMENT ...]

The program has the machine's network and devices, in a mount namespace of its own. As root, the launcher
really becomes user 2000; for others, a user namespace shows their own user as 2000.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

USER: Final = 2000
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x1, 0x2, 0x20, 0x1000, 0x4000, 0x40000
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: Sequence[str]) -> int:
    """Replace this process by the program. Returns only if the arguments are wrong or the parent has ended.

    Raises:
        OSError: the kernel refuses a step; the message names it.
    """
    if len(arguments) < 2:
        print("usage: python -m sandbox.packages.confined ROOT PROGRAM [ARGUMENT ...]", file=sys.stderr)
        return 2
    _replace_process(Path(arguments[0]), list(arguments[1:]))
    return 1


def _replace_process(root: Path, command: list[str]) -> None:
    parent = os.getppid()
    _enter_namespaces()
    _enter_root(root)
    _give_up_privileges()
    # A change of user cancels the signal that the supervisor asked for.
    _call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606 - the caller's program, without a shell


def _enter_namespaces() -> None:
    if os.geteuid() == 0:
        _call("unshare", _CLONE_NEWNS)
        return
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{USER} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{USER} {group} 1")


def _enter_root(root: Path) -> None:
    """Make `root` the root, read-only, with the machine's devices."""
    _mount("none", "/", _MS_REC | _MS_PRIVATE)
    (root / "dev").mkdir(exist_ok=True)
    _mount(str(root), str(root), _MS_BIND)
    _mount("/dev", str(root / "dev"), _MS_BIND | _MS_REC)
    _mount("none", str(root), _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID)
    os.chroot(root)
    os.chdir("/")


def _give_up_privileges() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _mount(source: str, target: str, flags: int) -> None:
    _call("mount", source.encode(), target.encode(), None, ctypes.c_ulong(flags), None)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
