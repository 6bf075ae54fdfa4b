"""The sandbox that candidate code runs in: namespaces, a read-only tree, a private /tmp, no network.

Entered by a forked child, before it touches the candidate. Needs user namespaces, or root.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

from child import LIBC, die_with_parent

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_MS_NOSUID = 2
_MS_NODEV = 4
_MS_NOEXEC = 8
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522

_TMP_BYTES = 64 * 2**20

# What candidate code finds in its environment.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"}


class SandboxFault(Exception):
    """This machine cannot make the sandbox."""


class _MountAttributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


def _checked(name: str, result: int) -> None:
    if result != 0:
        raise SandboxFault(f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encode = lambda text: None if text is None else text.encode()  # noqa: E731
    result = LIBC.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(options))
    _checked(f"mount {target}", result)


def _make_tree_read_only() -> None:
    attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY)
    result = LIBC.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        b"/",
        _AT_RECURSIVE,
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _checked("mount_setattr /", result)


def _new_namespaces() -> None:
    uid, gid = os.getuid(), os.getgid()
    flags = _CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    _checked("unshare", LIBC.unshare(flags))
    for name, content in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(content)


def _become_init() -> None:
    """Forks the first process of the new namespace and stays behind to pass its end on."""
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        return
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        # Die the same death, so that whoever waits sees what happened.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _hide_tmp() -> None:
    """Puts an empty /tmp over the real one; the interpreter's own folders, if there, show through."""
    # Under the names that modules are imported by, and under those that links lead to.
    prefixes = (sys.prefix, sys.base_prefix)
    folders = {name for path in prefixes for name in (os.path.abspath(path), os.path.realpath(path))}
    below = sorted(path for path in folders if path.startswith("/tmp/"))
    opened = [(path, os.open(path, os.O_PATH)) for path in below]
    _mount("tmpfs", "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={_TMP_BYTES},mode=1777")
    for path, fd in opened:
        os.makedirs(path)
        _mount(f"/proc/self/fd/{fd}", path, None, _MS_BIND | _MS_REC)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def _drop_capabilities() -> None:
    """Gives up what the new user namespace granted, for good: with it the mounts could be undone."""
    _checked("prctl", LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    capability = 0
    while LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = _CapabilityHeader(version=_CAPABILITY_VERSION_3, pid=0)
    none = (ctypes.c_uint32 * 6)()
    _checked("capset", LIBC.capset(ctypes.byref(header), none))


def enter(keep: int) -> None:
    """Moves this process into the sandbox; of the open files only 0, 1, 2 and `keep` stay.

    Raises SandboxFault. The tree is read-only, /tmp is private and empty, /proc shows the sandbox alone,
    there is no network, and no privilege can be gained.
    """
    _new_namespaces()
    _become_init()
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _make_tree_read_only()
    _hide_tmp()
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _drop_capabilities()
    os.chdir("/tmp")
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
