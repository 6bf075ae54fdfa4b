"""Bundles that must be refused: evil_bundles.py GOOD FOLDER FLIPS.

It writes copies of a good bundle with one changed bit, copies that are cut off, and archives with a valid seal that
are wrong inside. Next to FOLDER it writes one bundle that is accepted (orders.evolve). evil_bundles.py --forge GOOD
FOLDER makes bundles that are accepted, but whose judge must not run unasked. FOLDER-NAME.why holds the reason for each
refusal.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pathlib
import random
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from typing import Any

CHUNK = 1 << 16
FORMAT = "evolve-bundle-2"


def sealed(body: bytes) -> bytes:
    """Returns the body with the frame that engine/world/seal.h describes."""
    digests = [hashlib.sha256(body[at : at + CHUNK]).hexdigest() for at in range(0, len(body), CHUNK)]
    text = json.dumps(
        {"chunk": CHUNK, "format": FORMAT, "sha256": digests, "size": len(body)}, separators=(",", ":")
    ).encode()
    whole = 8 + len(text) + 13
    return body + struct.pack("<II", 0x184D2A5E, whole - 8) + text + f"{whole:>12}\n".encode()


def archive(members: list[tuple[str, bytes, dict[str, object]]]) -> bytes:
    """Returns a sealed tar.gz; the last item of a member overrides fields of its header."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content, fields in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for field, value in fields.items():
                setattr(entry, field, value)
            tar.addfile(entry, io.BytesIO(content))
    return sealed(gzip.compress(raw.getvalue(), mtime=0))


def bundle(
    files: dict[str, bytes],
    index_changes: dict[str, object] | None = None,
    extra: list[tuple[str, bytes, dict[str, object]]] | None = None,
) -> bytes:
    """Returns a bundle whose index describes `files`, with the errors that the other arguments add."""
    listed = {
        name: {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "executable": False}
        for name, content in files.items()
    }
    index = {"format": FORMAT, "campaign": "evil", "round": 0, "files": listed} | (index_changes or {})
    members: list[tuple[str, bytes, dict[str, object]]] = [("index.json", json.dumps(index).encode(), {})]
    members += [(name, content, {}) for name, content in files.items()]
    return archive(members + (extra or []))


def records(
    *sources: list[str], steps: list[object] | None = None, selection: str | None = None, recorded: str = ""
) -> bytes:
    text = {"format": "evolve-record-2", "toolchain": "", "sources": list(sources), "steps": steps or []}
    round_0 = {"round": 0, "recorded": recorded, "text": json.dumps(text), "selection": selection}
    return json.dumps([round_0]).encode()


def with_selection(text: str) -> bytes:
    return bundle({"records.json": records(selection=text), "results.json": b"[]"})


def odd_selections() -> dict[str, bytes]:
    """Returns rounds whose selection cannot be shown."""
    odd = {
        "no-json": "{",
        "number": "5",
        "list": "[]",
        "deep": "[" * 200_000 + "]" * 200_000,
        "deep-note": '{"round": 0, "best": {"note": ' + "[" * 200 + "]" * 200 + "}}",
        "best-text": '{"round": 0, "best": "v0001"}',
        "score-text": '{"round": 0, "best": {"variant": "v0001", "score": "much"}}',
        "survivors-object": '{"round": 0, "survivors": {"a": 1}}',
        "row-number": '{"round": 0, "ranking": [1]}',
        "parameters-list": '{"round": 0, "survivors": [{"variant": "v0001", "parameters": [1]}]}',
        "round-text": '{"round": "0"}',
        "model-list": '{"round": 0, "model": []}',
    }
    return {f"selection-{name}": with_selection(text) for name, text in odd.items()}


def digest_of(content: bytes) -> str:
    """Returns the name of a blob in the store: the first half of its SHA-256."""
    return hashlib.sha256(content).hexdigest()[:32]


def orders() -> bytes:
    """Returns a round that is accepted, but whose texts are control sequences for a terminal."""
    name = "\x1b[2J\x9b2J\u202e\nv0002"
    rows = [{"variant": name, "reason": name, "step": name, "kind": name, "score": 1.0}]
    selection = json.dumps({"round": 1, "best": rows[0], "survivors": rows, "rejected": rows})
    digest = digest_of(selection.encode())
    step = {
        "step": "select",
        "subject": "round-1",
        "class": "pure",
        "key": "0" * 32,
        "outputs": [["$work/round-1/selection.json", digest]],
    }
    rounds = json.loads(records()) + json.loads(records(steps=[step], selection=selection))
    rounds[1]["round"] = 1
    files = {"records.json": json.dumps(rounds).encode(), "results.json": b"[]"}
    return bundle(files | {f"blobs/{digest}": selection.encode()}, {"campaign": "small"})


def wrong_inside() -> dict[str, bytes]:
    """Returns archives with a valid seal that are wrong inside."""
    empty: dict[str, bytes] = {"records.json": records(), "results.json": b"[]"}
    lone = "0" * 32
    return {
        "no-index": archive([("records.json", records(), {})]),
        "index-no-json": archive([("index.json", b"{", {})]),
        "index-other-format": bundle(empty, {"format": "evolve-bundle-3"}),
        "index-campaign-path": bundle(empty, {"campaign": "../../up"}),
        "index-files-list": bundle(empty, {"files": []}),
        "index-size-text": bundle(empty, {"files": {"records.json": {"size": "1"}}}),
        "not-listed": bundle(empty, extra=[("blobs/" + lone, b"x", {})]),
        "twice": bundle(empty, extra=[("records.json", records(), {})]),
        "listed-and-absent": bundle(empty, {"files": {"records.json": {"size": 1, "sha256": "", "executable": False}}}),
        "path-up": bundle(empty | {"blobs/../../../escaped": b"x"}),
        "path-absolute": bundle(empty | {"/tmp/escaped": b"x"}),
        "blob-of-other-bytes": bundle(empty | {"blobs/" + lone: b"x"}),
        "blob-upper-case": bundle(empty | {"blobs/" + "A" * 32: b"x"}),
        "symlink": bundle(empty, extra=[("blobs/" + lone, b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})]),
        "hard-link": bundle(empty, extra=[("blobs/" + lone, b"", {"type": tarfile.LNKTYPE, "linkname": "index.json"})]),
        "device": bundle(empty, extra=[("blobs/" + lone, b"", {"type": tarfile.CHRTYPE})]),
        "folder": bundle(empty, extra=[("blobs", b"", {"type": tarfile.DIRTYPE})]),
        "records-absent": bundle({"results.json": b"[]"}),
        "records-no-json": bundle(empty | {"records.json": b"]"}),
        "records-number": bundle(empty | {"records.json": records().replace(b'"round": 0', b'"round": 7')}),
        "record-path-up": bundle(empty | {"records.json": records(["../up", lone])}),
        "record-path-absolute": bundle(empty | {"records.json": records(["/etc/passwd", lone])}),
        "record-source-in-work": bundle(empty | {"records.json": records(["$work/rules/argparse.py", lone])}),
        "record-needs-blob": bundle(empty | {"records.json": records(["a", lone])}),
        "record-step-empty": bundle(empty | {"records.json": records(steps=[{}])}),
        "results-no-json": bundle(empty | {"results.json": b"{"}),
        "results-of-no-step": bundle(empty | {"results.json": json.dumps([[lone, "{}"]]).encode()}),
        "index-campaign-escape": bundle(empty, {"campaign": "a\x1b[2J"}),
        "index-campaign-c1": bundle(empty, {"campaign": "a\x9b2J"}),
        "record-date-escape": bundle(empty | {"records.json": records(recorded="\x9b2J")}),
        "record-path-turned": bundle(empty | {"records.json": records(["a\u202eyp.b", lone])}),
        "no-archive": sealed(b"text"),
        "nothing": sealed(b""),
        "no-seal": gzip.compress(b"text"),
        "empty": b"",
    }


def forged(good: bytes) -> dict[str, tuple[bytes, str]]:
    """Returns copies of a good bundle with a different judge, and the reason why each copy is refused."""
    body = good[: len(good) - int(good[-13:])]
    inside = subprocess.run(["zstd", "-dcq"], input=body, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(inside)) as tar:
        files = {entry.name: (tar.extractfile(entry).read(), entry.mode & 0o777) for entry in tar}
    index = json.loads(files.pop("index.json")[0])
    rounds = json.loads(files["records.json"][0])

    def made(change: Callable[[dict[str, Any]], None], **blobs: bytes) -> bytes:
        """Returns the bundle with the first round's record changed, and with these blobs added."""
        record = json.loads(rounds[0]["text"])
        change(record)
        records = [record, *(json.loads(one["text"]) for one in rounds[1:])]
        text = json.dumps([rounds[0] | {"text": json.dumps(record)}, *rounds[1:]]).encode()
        keys = {step["key"] for one in records for step in one["steps"]}
        results = json.dumps([one for one in json.loads(files["results.json"][0]) if one[0] in keys]).encode()
        its = files | {"records.json": (text, 0o644), "results.json": (results, 0o644)}
        its = its | {f"blobs/{digest_of(b)}": (b, 0o644) for b in blobs.values()}
        listed = {
            name: {"size": len(b), "sha256": hashlib.sha256(b).hexdigest(), "executable": bool(mode & 0o100)}
            for name, (b, mode) in its.items()
        }
        members = [("index.json", json.dumps(index | {"files": listed}).encode(), {})]
        return archive(members + [(name, b, {"mode": mode}) for name, (b, mode) in its.items()])

    def with_source(path: str, content: bytes) -> bytes:
        return made(lambda record: record["sources"].append([path, digest_of(content)]), content=content)

    def with_commands(record: dict[str, Any]) -> None:
        [source] = [one for one in record["sources"] if one[0] == "$work/rounds.ninja"]
        source[1] = digest_of(commands)

    [rounds_ninja] = [d for path, d in json.loads(rounds[0]["text"])["sources"] if path == "$work/rounds.ninja"]
    commands = files[f"blobs/{rounds_ninja}"][0] + b"\nrule check\n  command = true\n"

    def with_class(record: dict[str, Any]) -> None:
        for step in record["steps"]:
            if step["step"] == "check":
                step["class"] = "measured"

    def with_step(record: dict[str, Any]) -> None:
        [secret] = [step for step in record["steps"] if step["step"] == "secret"]
        place = "$work/rules/reports/verdict/__init__.py"
        outputs = [[place, digest_of(commands)]]
        record["steps"].append(secret | {"step": "recorded", "subject": "more", "outputs": outputs})

    def with_output_less(record: dict[str, Any]) -> None:
        for step in record["steps"]:
            if step["step"] == "lower":
                step["outputs"] = step["outputs"][:1]

    return {
        "commands": (made(with_commands, commands=commands), "its commands differ from those that this version writes"),
        "program": (
            with_source("$rules/steps/argparse.py", b"x = 1\n"),
            "its judge differs from this version's: .*argparse",
        ),
        "over-a-program": (with_source("steps/select", b"true\n"), "its judge differs from this version's: .*select"),
        "state": (with_source(".evolve/memo.db", b"x"), "lies in the state folder of the replay"),
        "without-steps": (made(lambda record: record.update(steps=[])), "does not match its commands: .* is missing"),
        "one-step-more": (
            made(with_step, commands=commands),
            "does not match its commands: no command for recorded more",
        ),
        "output-less": (made(with_output_less), "does not match its commands: lower .* differs from the record"),
        "class": (made(with_class), "the record does not match its commands: check .* is pure, not measured"),
    }


def main() -> None:
    if sys.argv[1] == "--forge":
        folder = pathlib.Path(sys.argv[3])
        folder.mkdir()
        for name, (content, why) in forged(pathlib.Path(sys.argv[2]).read_bytes()).items():
            (folder / name).write_bytes(content)
            (folder.parent / f"{folder.name}-{name}.why").write_text(why)
        return
    good = pathlib.Path(sys.argv[1]).read_bytes()
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    (folder.parent / "orders.evolve").write_bytes(orders())
    for name, content in (wrong_inside() | odd_selections()).items():
        (folder / name).write_bytes(content)
    chance = random.Random(1)
    seal = len(good) - int(good[-13:])
    places = chance.sample(range(seal), int(sys.argv[3])) + chance.sample(range(seal, len(good)), 60)
    places += [0, 1, seal - 1, seal, seal + 4, len(good) - 13, len(good) - 1]
    for place in places:
        flipped = bytearray(good)
        flipped[place] ^= 1 << chance.randrange(8)
        (folder / f"flip-{place}").write_bytes(flipped)
    for place in chance.sample(range(len(good)), 10):
        (folder / f"cut-{place}").write_bytes(good[:place])
    (folder / "longer").write_bytes(good + b"x")


if __name__ == "__main__":
    main()
