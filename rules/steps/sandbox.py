"""The sandbox that candidate code runs in: namespaces, a read-only tree, a private /tmp, no network.

A forked child enters it before it touches the candidate. Three processes stand in a row then: the one that
made the namespaces and passes the end on, the first process of the new pid namespace, with whose death
the kernel ends all others in it, and the one that goes on, without any privilege. Needs user namespaces.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys

from child import LIBC, die_with_parent, write_all

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_MS_RDONLY = 1
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
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITIES = 64
_CAPABILITY_VERSION_3 = 0x20080522
_NO_CAPABILITY_FOR_ROOT_LOCKED = 0xEF  # all of SECBIT_*, with their locks, but for KEEP_CAPS

_TMP_BYTES = 64 * 2**20
_FILE_BYTES = 64 * 2**20
_NOBODY = 65534  # who root's candidates run as: no file is theirs, and limits on processes hold
_PROCESSES = 64  # beside a few threads for each core, which XLA starts

# Folders that candidate code finds empty, but for what the interpreter needs; only /tmp can be written.
_HIDDEN = ("/tmp", "/var/tmp", "/home", "/root", "/run", "/dev/shm")

# What candidate code finds in its environment.
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"}

# What a report says of the sandbox.
IN_FORCE = {
    "capabilities": "none",
    "environment": sorted(ENVIRONMENT),
    "hidden": list(_HIDDEN),
    "namespaces": ["ipc", "mount", "net", "pid", "user", "uts"],
    "network": "none",
    "tree": "read-only",
}


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


def _mount(
    source: str, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    words = [None if text is None else text.encode() for text in (source, target, kind, options)]
    result = LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3])
    _checked(f"mount {target}", result)


def _make_read_only(path: str) -> None:
    attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    result = LIBC.syscall(
        _SYS_MOUNT_SETATTR, _AT_FDCWD, path.encode(), _AT_RECURSIVE, ctypes.byref(attributes), size
    )
    _checked(f"mount_setattr {path}", result)


def _write_maps(pid: int, uid: int, gid: int, is_root: bool) -> None:
    """Makes `uid` and `gid` the only identities in the user namespace of `pid`."""
    contents = {"uid_map": f"{uid} {uid} 1", "gid_map": f"{gid} {gid} 1"}
    if not is_root:
        contents = {"setgroups": "deny", **contents}
    for name, content in contents.items():
        with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
            file.write(content)


def _new_namespaces(uid: int, gid: int, is_root: bool) -> None:
    """Enters new namespaces; a process that stays outside writes the maps, for only it may."""
    inside = os.getpid()
    read_end, write_end = os.pipe()
    outside = os.fork()
    if outside == 0:
        code = 1
        try:
            die_with_parent()
            os.close(write_end)
            if os.read(read_end, 1):
                _write_maps(inside, uid, gid, is_root)
                code = 0
        finally:
            os._exit(code)
    os.close(read_end)
    flags = (
        _CLONE_NEWUSER
        | _CLONE_NEWNS
        | _CLONE_NEWPID
        | _CLONE_NEWNET
        | _CLONE_NEWIPC
        | _CLONE_NEWUTS
    )
    result = LIBC.unshare(flags)
    error = ctypes.get_errno()
    if result == 0:
        os.write(write_end, b"+")
    os.close(write_end)
    _, status = os.waitpid(outside, 0)
    if result != 0:
        raise SandboxFault(f"unshare: {os.strerror(error)}")
    if status != 0:
        raise SandboxFault(f"/proc/{inside}/uid_map: may not be written")


def _fork_and_stay(keep: int) -> None:
    """Returns in a new process; this one waits and ends as that one ends, by the same signal or code."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        die_with_parent()
        if _is_broken(write_end):  # the parent was gone before it could take this process along
            os._exit(127)
        _fork_and_reap(write_end, keep)
        return
    os.close(write_end)
    os.close(keep)
    told = os.read(read_end, 4)
    _, status = os.waitpid(pid, 0)
    _end_as(int.from_bytes(told, "little") if len(told) == 4 else status)


def _is_broken(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _fork_and_reap(told: int, keep: int) -> None:
    """Returns in a new process; this one, the first of its pid namespace, reaps until that one ends."""
    _enter_mounts()
    LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    pid = os.fork()
    if pid == 0:
        os.close(told)
        return
    os.close(keep)
    status = -1
    while status == -1:
        ended, code = os.wait()
        if ended == pid:
            status = code
    write_all(told, status.to_bytes(4, "little"))
    os._exit(0)


def _end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _interpreter_folders() -> list[str]:
    """What must stay visible below the hidden folders: the interpreter and its packages."""
    packages = [
        path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")
    ]
    paths = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, *packages)}
    hidden = [
        path
        for path in paths
        if os.path.isdir(path) and path.startswith(tuple(h + "/" for h in _HIDDEN))
    ]
    return sorted(hidden)


_shown: list[tuple[str, int]] = []  # what shows through, opened while its owner could


def _enter_mounts() -> None:
    """Makes the tree read-only and hides what is not a kernel's business."""
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _make_read_only("/")
    hidden = [path for path in _HIDDEN if os.path.isdir(path) and not os.path.islink(path)]
    for path in hidden:
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={_TMP_BYTES},mode=1777")
    for path, fd in _shown:
        os.makedirs(path, exist_ok=True)
        _mount(f"/proc/self/fd/{fd}", path, None, _MS_BIND | _MS_REC)
    for path in hidden:
        if path != "/tmp":
            _make_read_only(path)
    _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC | _MS_RDONLY)


class _Capabilities(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint32 * 6)]


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def _drop_privileges() -> None:
    """Gives up every capability for good: with one, the candidate could undo the read-only tree."""
    for capability in range(_CAPABILITIES):
        LIBC.prctl(
            _PR_CAPBSET_DROP, capability, 0, 0, 0
        )  # fails for those that the kernel does not know
    _checked("prctl", LIBC.prctl(_PR_SET_SECUREBITS, _NO_CAPABILITY_FOR_ROOT_LOCKED, 0, 0, 0))
    header = _CapabilityHeader(version=_CAPABILITY_VERSION_3, pid=0)
    _checked("capset", LIBC.capset(ctypes.byref(header), ctypes.byref(_Capabilities())))
    _checked("prctl", LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked("prctl", LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))


def enter(keep: int) -> None:
    """Moves this process into the sandbox; of the open files only 0, 1, 2 and `keep` stay.

    Raises SandboxFault. The tree is read-only, /tmp is private and empty, other people's folders are hidden,
    /proc shows the sandbox alone, there is no network, and no privilege is held or can be gained.
    """
    is_root = os.geteuid() == 0
    uid, gid = (_NOBODY, _NOBODY) if is_root else (os.geteuid(), os.getegid())
    _new_namespaces(uid, gid, is_root)
    _shown[:] = [(path, os.open(path, os.O_PATH)) for path in _interpreter_folders()]
    if is_root:
        os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    die_with_parent()  # a change of identity had cleared it
    _fork_and_stay(keep)
    _drop_privileges()
    if not os.access(os.path.realpath(sys.executable), os.R_OK):
        raise SandboxFault(
            f"{sys.executable}: not readable for every user, as it must be where root runs steps"
        )
    os.setsid()
    os.chdir("/tmp")
    os.umask(0o077)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    processes = _PROCESSES + 8 * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
