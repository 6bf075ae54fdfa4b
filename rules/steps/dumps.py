"""libtpu's dumps: which are asked for, and how they are packed without what differs from run to run."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from pathlib import Path

import program

# The dumps that analyze and trace read; without the filter libtpu writes 300 files.
_PASSES = (
    "packed-bundles-post-ra|final_bundles|all-fingerprints|vmem_report|hlo-static-bundle-profile"
)
FILTER = f"--xla_jf_dump_llo_pass_label_regex=^({_PASSES})$"

# <ns time stamp>-<kernel>[-<number>]-<pass>.<kind>; `<late-finalization>` and its like are no kernels.
_NAME = re.compile(
    r"^\d+-(?P<kernel>[^<].*?)(?:-\d\d)?-(?P<stage>[A-Za-z_].*)\.(?P<kind>txt|html)$"
)

_WHOLE_PROGRAM = "TLP"


def take(folder: str) -> dict[str, bytes]:
    """The dumps in a folder by "kernel/pass.kind", in the order they were written; the folder is emptied."""
    found: dict[str, bytes] = {}
    for path in sorted(Path(folder).iterdir()):
        match = _NAME.match(path.name)
        if match:
            found[f"{match['kernel']}/{match['stage']}.{match['kind']}"] = path.read_bytes()
        path.unlink()
    return found


def kernels(found: dict[str, bytes]) -> list[str]:
    """The names of the kernels that were dumped, in that order."""
    names = dict.fromkeys(name.partition("/")[0] for name in found)
    return [name for name in names if name != _WHOLE_PROGRAM]


def fingerprint(found: dict[str, bytes]) -> str | None:
    """libtpu's own fingerprint of the program: equal for programs with the same machine code."""
    content = found.get(f"{_WHOLE_PROGRAM}/all-fingerprints.txt")
    if content is None:
        return None
    return program.digest(b"\n".join(line for line in content.splitlines() if b"<" not in line))


def pack(found: dict[str, bytes]) -> bytes:
    """A gzipped tar with nothing in it that the dumps do not say."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(found):
            entry = tarfile.TarInfo(name)
            entry.size = len(found[name])
            archive.addfile(entry, io.BytesIO(found[name]))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(raw.getvalue())
    return packed.getvalue()
