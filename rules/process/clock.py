"""The clock of this process, set to another time. No namespace of the kernel can do this.

A process does not ask the kernel for the time: code that the kernel maps into each process (the vDSO) reads it. A jump
is written over the begin of that code. It leads to code that asks the kernel and adds the seconds. Machines other than
x86-64 keep their clock, and so do machines whose kernel does not allow this write.
"""

from __future__ import annotations

import ctypes
import platform
import struct

from process.child import LIBC

_ADDRESS, _COUNTS = struct.Struct("<Q"), struct.Struct("<HHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC_SYMBOLS = 11
# The number of AT_SYSINFO_EHDR in the auxiliary vector, and the size of an ELF file's header.
_VDSO, _HEADER_BYTES = 33, 64

_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_PAGE = 4096
_FAILED = ctypes.c_void_p(-1).value

# mov rax, CODE; jmp rax
_JUMP = b"\x48\xb8%s\xff\xe0"

# Machine code for each function. It asks the kernel, and adds seconds to a result that is the time of day. The results
# for other clocks stay as they are.
_CODE = {
    b"__vdso_clock_gettime": bytes.fromhex("b8e4000000 0f05 85c0 750b 85ff 7507 488106") + b"%s\xc3",
    b"__vdso_gettimeofday": bytes.fromhex("b860000000 0f05 85c0 750c 4885ff 7407 488107") + b"%s\xc3",
    b"__vdso_time": bytes.fromhex("b8c9000000 0f05 4805") + b"%s" + bytes.fromhex("4885ff 7403 488907 c3"),
}


def shift(seconds: int) -> bool:
    """Moves the clock. Returns whether that was possible."""
    if not seconds or platform.machine() != "x86_64":
        return not seconds
    mapped = _vdso()
    LIBC.mmap.restype = ctypes.c_void_p
    page = LIBC.mmap(None, ctypes.c_size_t(_PAGE), _READ | _WRITE | _EXECUTE, _PRIVATE_ANONYMOUS, -1, 0)
    if mapped is None or page == _FAILED:
        return False
    first, size = mapped
    if LIBC.mprotect(ctypes.c_void_p(first), ctypes.c_size_t(size), _READ | _WRITE | _EXECUTE) != 0:
        return False
    at = page
    for name, offset in _symbols(ctypes.string_at(first, size)).items():
        if name in _CODE:
            code = _CODE[name] % struct.pack("<i", seconds)
            ctypes.memmove(at, code, len(code))
            jump = _JUMP % struct.pack("<Q", at)
            ctypes.memmove(first + offset, jump, len(jump))
            at += len(code)
    return True


def _vdso() -> tuple[int, int] | None:
    """Returns the vDSO's address and its size in whole pages, from the auxiliary vector: /proc may be missing."""
    LIBC.getauxval.restype = ctypes.c_ulong
    first = int(LIBC.getauxval(ctypes.c_ulong(_VDSO)))
    if not first:
        return None
    header = ctypes.string_at(first, _HEADER_BYTES)
    (table,) = _ADDRESS.unpack_from(header, 0x28)
    size, count, _ = _COUNTS.unpack_from(header, 0x3A)
    # The vDSO ends with the table of sections.
    return first, -(-(table + size * count) // _PAGE) * _PAGE


def _symbols(image: bytes) -> dict[bytes, int]:
    """Returns the addresses of an ELF file's dynamic symbols, counted from its start."""
    (table,) = _ADDRESS.unpack_from(image, 0x28)
    size, count, _ = _COUNTS.unpack_from(image, 0x3A)
    sections = [_SECTION.unpack_from(image, table + number * size) for number in range(count)]
    found = {}
    for section in sections:
        if section[1] != _DYNAMIC_SYMBOLS:
            continue
        offset, length, strings = section[4], section[5], sections[section[6]][4]
        for place in range(offset, offset + length, _SYMBOL.size):
            name, _, _, _, value, _ = _SYMBOL.unpack_from(image, place)
            found[image[strings + name : image.index(b"\0", strings + name)]] = value
    return found
