"""The sandbox that candidate code runs in. A forked child enters it before it touches the candidate.

It is like a sandbox of bubblewrap, but is made in a fork instead of an exec, so that imported modules stay imported. It
has namespaces of its own (mounts, processes, network, IPC, host name, users); a read-only root folder that holds only
the interpreter and the system's libraries; an empty /tmp of limited size; no capabilities and no way to gain
privileges; a filter of system calls (libseccomp); and limits on memory, time, threads and files. The project, its state
folder and the judge's files are not there at all. It needs root, or user namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from process import clock
from process.child import LIBC, PR_SET_PDEATHSIG, Ending, Limits, die_with_parent, run_in_child

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUTS = 0x04000000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000
_CLONE_NEWNET = 0x40000000
_CLONE_THREAD = 0x00010000
_MS_NOSUID = 2
_MS_NODEV = 4
_MS_NOEXEC = 8
_MS_BIND = 4096
_MS_REC = 16384
_MS_PRIVATE = 1 << 18
_MNT_DETACH = 2
_SYS_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522
_NOBODY = 65534

_TMP_BYTES = 64 * 2**20
_MOST_THREADS = 256
_MOST_FILES = 256


@dataclass(frozen=True)
class Place:
    """The surroundings that code finds in the sandbox. `home` and `folder`, the current one, are below /tmp.

    `seconds`: the difference between its clock and the machine's.
    """

    user: int = _NOBODY
    host: str = "sandbox"
    home: str = "/tmp"
    folder: str = "/tmp"
    seconds: int = 0
    environment: tuple[tuple[str, str], ...] = (("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin"), ("TMPDIR", "/tmp"))


HERE = Place()

# The paths of the machine that are visible, if they exist. The interpreter's own folders are visible, too.
_FOLDERS = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

_OF_THE_MACHINE = ("cpuinfo", "meminfo")

# System calls that tracing does not need: for other processes, memory that no limit counts, or the kernel itself.
_REFUSED_CALLS = """
    add_key bpf chroot execve execveat fork fsconfig fsmount fsopen init_module finit_module io_uring_enter
    io_uring_register io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl memfd_create memfd_secret
    mount mount_setattr move_mount mq_open msgget name_to_handle_at open_by_handle_at open_tree perf_event_open
    pidfd_getfd pidfd_open pivot_root process_madvise process_vm_readv process_vm_writev ptrace request_key semget
    setns setrlimit shmget socket umount2 unshare userfaultfd vfork
"""
_SECCOMP_ALLOW = 0x7FFF0000
_SECCOMP_ERRNO = 0x00050000
_SECCOMP_NOT_EQUAL = 1
_SECCOMP_EQUAL = 4
_SECCOMP_MASKED_EQUAL = 7


class SandboxFault(Exception):
    """This machine cannot make the sandbox."""


class _MountAttributes(ctypes.Structure):
    _fields_ = [
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    ]


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = [
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    ]


def _checked(name: str, result: int) -> None:
    if result != 0:
        raise SandboxFault(f"{name}: {os.strerror(ctypes.get_errno())}")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    encode = lambda text: None if text is None else text.encode()  # noqa: E731
    result = LIBC.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), encode(options))
    _checked(f"mount {target}", result)


def _set_attributes(folder: str, flags: int, attributes: _MountAttributes) -> None:
    result = LIBC.syscall(
        _SYS_MOUNT_SETATTR,
        _AT_FDCWD,
        folder.encode(),
        flags,
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _checked(f"mount_setattr {folder}", result)


def _map_user(uid: int, gid: int, inside: int) -> None:
    """Makes this process the user `inside` of its new user namespace, which has no other users."""
    for name, content in (("setgroups", "deny"), ("uid_map", f"{inside} {uid} 1"), ("gid_map", f"{inside} {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(content)


def _new_namespaces(place: Place) -> None:
    """Moves this process into new namespaces, and into one of users, too, if the others require that."""
    # The ids are read first, because in a new user namespace they are nobody's until they are mapped.
    uid, gid = os.getuid(), os.getgid()
    flags = _CLONE_NEWNS | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    if os.geteuid() == 0 and LIBC.unshare(flags) == 0:
        return
    if LIBC.unshare(flags | _CLONE_NEWUSER) != 0:
        why = os.strerror(ctypes.get_errno())
        raise SandboxFault(
            f"unshare: {why}\n"
            "hint: the sandbox needs user namespaces, or root; for kernels that you trust, --unsafe-no-sandbox"
        )
    _map_user(uid, gid, place.user)


def _become_init() -> None:
    """Forks the first process of the new namespace. The parent stays behind to pass on how that process ends."""
    pid = 0

    def end_it(*_: Any) -> None:
        if pid == 0:
            os._exit(1)
        os.kill(pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end_it)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # The process gets a session of its own. Otherwise a signal to its group would reach the process that stays
        # behind, too, if both belong to one user.
        os.setsid()
        die_with_parent()
        return
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        # This process ends by the same signal, so that the waiting process sees it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _visible() -> list[str]:
    """Returns the visible paths of the machine, none of them below another. Links among the folders are recreated."""
    # The interpreter's folders are visible by the names that modules are imported by, and by the names that links lead
    # to.
    prefixes = {name(path) for path in (sys.prefix, sys.base_prefix) for name in (os.path.abspath, os.path.realpath)}
    visible: list[str] = []
    for path in sorted(prefixes.union(folder for folder in _FOLDERS if not os.path.islink(folder))):
        if os.path.exists(path) and not any(path.startswith(above + "/") for above in visible):
            visible.append(path)
    return [*visible, *(path for path in _DEVICES if os.path.exists(path))]


def _change_root() -> None:
    """Gives the process a root folder that holds only the visible paths."""
    opened = [(path, os.open(path, os.O_PATH)) for path in _visible()]
    links = [(path, os.readlink(path)) for path in _FOLDERS if os.path.islink(path)]
    root = "/tmp"
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for folder in ("/tmp", "/proc", "/old"):
        os.mkdir(root + folder)
    _mount("tmpfs", root + "/tmp", "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={_TMP_BYTES},mode=1777")
    for path, fd in opened:
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(f"/proc/self/fd/{fd}"):
            os.makedirs(target, exist_ok=True)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        _mount(f"/proc/self/fd/{fd}", target, None, _MS_BIND | _MS_REC)
        os.close(fd)
    for path, leads_to in links:
        os.symlink(leads_to, root + path)
    # All of the root becomes read-only, then /tmp writable again; mounts below /tmp stay as they are.
    _set_attributes(root, _AT_RECURSIVE, _MountAttributes(set=_MOUNT_ATTR_RDONLY))
    _set_attributes(root + "/tmp", 0, _MountAttributes(clear=_MOUNT_ATTR_RDONLY))
    _mount_proc(root + "/proc")
    os.chdir(root)
    _checked("pivot_root", LIBC.pivot_root(b".", b"old"))
    os.chdir("/")
    _checked("umount", LIBC.umount2(b"/old", _MNT_DETACH))
    os.chdir("/tmp")


def _mount_proc(target: str) -> None:
    """Mounts a /proc of the new processes.

    The kernel refuses that in a container whose own /proc is masked. The container's own /proc is not used, because it
    shows other processes. So /proc then holds only the files about the machine by which XLA chooses its code.
    """
    try:
        _mount("proc", target, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    except SandboxFault:
        _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
        for name in _OF_THE_MACHINE:
            os.close(os.open(f"{target}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
            _mount(f"/proc/{name}", f"{target}/{name}", None, _MS_BIND)
        _set_attributes(target, _AT_RECURSIVE, _MountAttributes(set=_MOUNT_ATTR_RDONLY))


def _become_nobody(place: Place) -> None:
    """Gives up root, to which limits on processes do not apply; in a user namespace, they count only this sandbox."""
    if os.getuid() != 0:
        return
    # Where no user namespace can be made, a candidate sees this user. So another place has another user. A place.user
    # other than 'nobody' may be a real user of the machine, so it is not taken.
    nobody = _NOBODY if place.user == _NOBODY else _NOBODY - 1
    os.setgroups([])
    os.setresgid(nobody, nobody, nobody)
    os.setresuid(nobody, nobody, nobody)
    if not os.access(os.__file__, os.R_OK):
        raise SandboxFault(f"candidates run as the user 'nobody', who cannot read {os.__file__}")
    # A process that changed its user is not dumpable. Its /proc belongs to root, so _map_user could not write there.
    _checked("prctl", LIBC.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))
    if LIBC.unshare(_CLONE_NEWUSER) == 0:
        _map_user(nobody, nobody, place.user)


def _drop_capabilities() -> None:
    """Gives up the capabilities that namespaces granted, because with them the mounts could be undone."""
    _checked("prctl", LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    capability = 0
    while LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:
        capability += 1
    header = _CapabilityHeader(version=_CAPABILITY_VERSION_3, pid=0)
    none = (ctypes.c_uint32 * 6)()
    _checked("capset", LIBC.capset(ctypes.byref(header), none))


def _filter_calls(seccomp: ctypes.CDLL) -> None:
    """Refuses the system calls above, new processes, and a change of the parent-death signal. Threads are allowed."""
    seccomp.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_SECCOMP_ALLOW)))

    def refuse(name: str, number: int, *comparisons: _Comparison) -> None:
        call = seccomp.seccomp_syscall_resolve_name(name.encode())
        # Names that this machine's libseccomp or its architecture lacks are skipped.
        if call >= 0:
            array = (_Comparison * max(1, len(comparisons)))(*comparisons)
            action = ctypes.c_uint32(_SECCOMP_ERRNO | number)
            if seccomp.seccomp_rule_add_array(rules, action, call, len(comparisons), array) != 0:
                raise SandboxFault(f"seccomp: no rule for {name}")

    for name in _REFUSED_CALLS.split():
        refuse(name, errno.EPERM)
    refuse("clone", errno.EPERM, _Comparison(0, _SECCOMP_MASKED_EQUAL, _CLONE_THREAD, 0))
    # The flags of clone3 are in memory, out of a filter's sight. After ENOSYS a caller uses clone instead.
    refuse("clone3", errno.ENOSYS)
    # Only setting limits is refused: prlimit64 reads them, too.
    refuse("prlimit64", errno.EPERM, _Comparison(2, _SECCOMP_NOT_EQUAL, 0))
    refuse("prctl", errno.EPERM, _Comparison(0, _SECCOMP_EQUAL, PR_SET_PDEATHSIG, 0))
    if seccomp.seccomp_load(rules) != 0:
        raise SandboxFault("seccomp: the kernel takes no filter")
    seccomp.seccomp_release(rules)


def _load_seccomp() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libseccomp.so.2")
    except OSError as error:
        raise SandboxFault(f"{error}\nhint: apt-get install libseccomp2") from error


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_NPROC, _MOST_THREADS),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_FSIZE, _TMP_BYTES),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(what, (most, most))


def _stop(pid: int) -> None:
    """Asks the process that stayed behind to end the first one of its namespace, and with it all others."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def run(function: Callable[[], bytes], limits: Limits, is_trusted: bool = True, place: Place = HERE) -> Ending:
    """Runs `run_in_child` in the sandbox, or without it if the limits say so."""
    if not limits.is_sandboxed:
        return run_in_child(function, limits, is_trusted=is_trusted)
    return run_in_child(function, limits, lambda keep: enter(keep, place), is_trusted, _stop)


def enter(keep: int, place: Place = HERE) -> None:
    """Moves this process into the sandbox; only the descriptors 0, 1, 2 and `keep` stay open.

    Raises SandboxFault, or OSError, where the machine cannot make the sandbox.
    """
    seccomp = _load_seccomp()
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    _new_namespaces(place)
    socket.sethostname(place.host)
    _become_init()
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    _change_root()
    _become_nobody(place)
    # A change of the user clears the parent-death signal, so it is set again.
    die_with_parent()
    _drop_capabilities()
    os.environ.clear()
    os.environ.update(place.environment, HOME=place.home)
    time.tzset()
    for folder in (place.home, place.folder):
        os.makedirs(folder, exist_ok=True)
    os.chdir(place.folder)
    clock.shift(place.seconds)
    _limit()
    _filter_calls(seccomp)
