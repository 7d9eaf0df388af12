"""Damaged checkpoints, by chance: each must be refused by its name, or read right, in bounded memory and time.

    python -m tests.checkpoints.damaged_files [--count 1000] [--seed 0]

Prints how many files were refused and how many read right, by file and by damage.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.fuzz.mutations import MUTATIONS
from towerstrat import errors
from towerstrat.checkpoints import checkpoint_state, sorted_tables
from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.platform import messages
from towerstrat.platform.local_storage import LOCAL

GOLDEN = Path(__file__).parents[1] / "golden" / "checkpoints"
FILES = [
    *("plain.index", "plain.data-00000-of-00001", "parts.index", "parts.data-00000-of-00001"),
    *("sharded.index", "sharded.data-00000-of-00002", "sharded.data-00001-of-00002", "first", "checkpoint"),
]
STATE = """model_checkpoint_path: "plain"
all_model_checkpoint_paths: "first"
all_model_checkpoint_paths: "plain"
all_model_checkpoint_timestamps: 1600000000.25
all_model_checkpoint_timestamps: 1600000001.5
"""
MEMORY = 300 << 20
"""Bytes that a process may take beyond those it has when it begins to read."""


LARGE = [-1, -(2**62), 2**31, 2**40, 2**62, 2**63 - 1]


def absurd(random, path):
    """Gives one array of an index, or of the first format, a place or a shape of no sense, with the right checksums."""
    items = list(sorted_tables.Table(LOCAL.ranges(str(path))).items())
    large = LARGE[random.randint(len(LARGE))]
    if path.name == "first":
        place = 0
        message = messages.SavedTensorSlices.FromString(items[0][1])
        array = message.meta.tensor[random.randint(len(message.meta.tensor))]
        extents = array.slice
    else:
        place = random.randint(len(items) - 1) + 1
        message = array = messages.BundleEntryProto.FromString(items[place][1])
        extents = array.slices
    field = random.randint(6)
    if field in (0, 1, 2) and path.name != "first":
        setattr(
            array, ("size", "offset", "shard_id")[field], max(-(2**31), min(large, 2**31 - 1)) if field == 2 else large
        )
    elif field == 3:
        array.shape.dim.add(size=0)
        array.shape.dim.add(size=large)
    elif field == 4:
        extent = extents.add().extent.add()
        extent.start, extent.length = large, LARGE[random.randint(len(LARGE))]
    else:
        for _ in range(random.randint(1, 40)):
            array.shape.dim.add(size=large)
    items[place] = items[place][0], message.SerializeToString()
    path.write_bytes(sorted_tables.encode(items))


# ---- what must hold ------------------------------------------------------------------------------------------------


def values(version: str) -> dict[str, np.ndarray]:
    """What is in the checkpoints of a version, by name."""
    kept = json.loads((GOLDEN / version / "values.json").read_text())
    found = {n: np.frombuffer(bytes.fromhex(raw), dtype).reshape(shape) for n, (dtype, shape, raw) in kept.items()}
    parts = np.arange(60, dtype=np.float32).reshape(10, 6)
    strings = np.array([[b"", b"a"], [b"\x00\xff", b"long" * 100]], object)
    others = {"strings": strings, "über/名": np.float32([1.5]), "parts/rows": parts, "parts/columns": parts}
    return found | others


def refusals(where: Path, name: str, wanted: dict[str, np.ndarray]) -> Iterator[str]:
    """The messages with which a checkpoint, of which file ``name`` is damaged, is refused.

    Raises:
      AssertionError: something was read wrong, or is refused by another name. Others: what must not come.
    """
    if name == "checkpoint":
        yield from _state_refusals(where)
        return
    try:
        found = opened(str(where / name.partition(".")[0]))
    except (errors.DataLossError, errors.NotFoundError) as error:
        yield _naming(error, name)
        return
    for key in found.entries:
        try:
            array = found.read(key)
        except (errors.DataLossError, errors.UnimplementedError) as error:
            yield _naming(error, name.partition(".")[0], key)
        else:
            assert array.dtype == wanted[key].dtype, key
            if array.size or wanted[key].size:  # nothing else says which shape an empty one has
                np.testing.assert_array_equal(array, wanted[key], key)


def _naming(error: errors.OpError, *words: str) -> str:
    assert all(word in error.message for word in words), error.message
    return error.message


def _state_refusals(where: Path) -> Iterator[str]:
    try:
        state = checkpoint_state.read_state(str(where))
        latest = checkpoint_state.latest(str(where))
    except errors.DataLossError as error:
        yield _naming(error, "checkpoint")
        return
    if state is None or latest is None:
        yield "no checkpoint"


@contextmanager
def bounded_memory(extra: int) -> Iterator[None]:
    """Inside, the process gets ``extra`` bytes of addresses more at most."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def run(count: int, seed: int, where: Path) -> dict[tuple[str, str], list[int]]:
    """(file, damage) -> [damaged files, those that were refused]."""
    found = collections.defaultdict(lambda: [0, 0])
    kinds = [*MUTATIONS, absurd]
    wanted = {version: values(version) for version in ("1.12", "2.15")}
    for number in range(count):
        random = np.random.RandomState([seed, number])
        version = ("1.12", "2.15")[number // 2 % 2]
        name = FILES[number % len(FILES)]
        damage = kinds[number // len(FILES) % len(kinds)]
        for file in FILES:
            (where / file).unlink(missing_ok=True)
        for file in FILES[:-1]:
            shutil.copy(GOLDEN / version / file, where)
        (where / "checkpoint").write_text(STATE)
        if damage is absurd:
            name = "plain.index" if name == "checkpoint" else re.sub("data-.*", "index", name)
            damage(random, where / name)
        else:
            data = bytearray((where / name).read_bytes())
            damage(random, data)
            (where / name).unlink()
            (where / name).write_bytes(data)
        try:
            refused = [*refusals(where, name, wanted[version])]
        except BaseException as error:
            error.add_note(f"number {number} of seed {seed}: {name} of {version}, {damage.__name__}")
            raise
        found[name, damage.__name__][0] += 1
        found[name, damage.__name__][1] += bool(refused)
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as where, bounded_memory(MEMORY):
        found = run(args.count, args.seed, Path(where))
    for (name, damage), (files, refused) in sorted(found.items()):
        print(f"{name:30} {damage:10} {files:5} damaged, {refused:5} refused, {files - refused:3} read right")
    files, refused = (sum(row[i] for row in found.values()) for i in (0, 1))
    print(f"{files} damaged files: {refused} refused by name, {files - refused} read right")


if __name__ == "__main__":
    main()
