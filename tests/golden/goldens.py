# ruff: noqa: UP031, B905
"""Golden files: the one form that they have, and the cases that ``scripts/golden`` remakes.

A script of this folder names in ``RUNS`` the originals that it wants, and hands its cases to ``make``.
``scripts/golden`` starts it once for each, and enters what came out: ``enter_facts`` and ``enter_arrays``. Python 3.6
runs this too.
"""

import base64
import collections
import io
import json
import math
import os
import re
import sys
import threading
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BOUNDS = {
    "float16": 2e-3, "bfloat16": 1e-2, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-9, "complex128": 1e-9,
}  # fmt: skip
"""Distances at which values of a type are one, relative above 0.1; what has no type counts as float32."""
WIDTH = 120
LEFT_OUT = object()
"""The result of a case that is kept in no file."""
Both = collections.namedtuple("Both", ["facts", "arrays"])
"""A result for two files: what JSON has (or ``LEFT_OUT``), and arrays by name."""
Change = collections.namedtuple("Change", ["kind", "case", "old", "new"])
"""The fate of a case: ``kind`` is changed, added or removed; ``case`` may name a place inside it."""

_DECIMAL = re.compile(r"[-+]?(?:\d+\.\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)")


def make(golden, cases):
    """Runs cases and hands what they give to ``scripts/golden``; ends the process.

    Args:
      golden: the name of the golden file, without ending.
      cases: by name, functions without arguments or results that are there already; areas of cases are dictionaries. A
        result is what JSON has, ``Both``, or ``LEFT_OUT``.
    """
    make_all({golden: cases})


def make_all(goldens):
    """``make`` for several golden files: cases by the name of the file."""
    if "GOLDEN_OUT" not in os.environ:
        sys.exit("goldens are remade by: scripts/golden " + os.path.splitext(os.path.basename(sys.argv[0]))[0])
    chosen = set(json.loads(os.environ["GOLDEN_CASES"]))
    records = []
    arrays = {}
    for golden, cases in goldens.items():
        for path, case in _flat(cases):
            record = {"golden": golden, "path": path}
            if not chosen or chosen & {golden, *path}:
                found = case() if callable(case) else case
                found = found if isinstance(found, Both) else Both(found, {})
                record["made"] = True
                if found.facts is not LEFT_OUT:
                    record["facts"] = found.facts
                arrays.update(("/".join([golden] + path + [key]), value) for key, value in found.arrays.items())
            records.append(record)
    with open(os.path.join(os.environ["GOLDEN_OUT"], "records.json"), "w") as file:
        json.dump(records, file)
    write_arrays(os.path.join(os.environ["GOLDEN_OUT"], "arrays.npz"), arrays)
    sys.stdout.flush()
    os._exit(0)  # threads of the originals may wait for ever


def _flat(cases, path=()):
    for name, case in cases.items():
        if isinstance(case, dict):
            yield from _flat(case, path + (name,))
        else:
            yield list(path + (name,)), case


def use_onednn():
    """Gives 2.15 oneDNN's kernels, before it is imported: without them dilated convolutions have no gradient."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"


def files(*parts):
    """A new folder for files that belong to a case, which is the last part of its place below this folder."""
    folder = os.path.join(os.environ["GOLDEN_OUT"], "files", *parts)
    os.makedirs(folder, exist_ok=True)
    return folder


def timely(function, seconds):
    """The result of a function, or ``{"hangs": True}`` where that takes longer."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else {"hangs": True}


def facts(golden):
    """The content of ``golden``.json."""
    with open(os.path.join(HERE, golden + ".json"), encoding="utf-8") as file:
        return json.load(file)


def arrays(golden):
    """The arrays of ``golden``.npz by name."""
    return read_arrays(os.path.join(HERE, golden + ".npz"))


def text(value, depth=0):
    """JSON with sorted keys, of which what fits into a line, or is a list of numbers, is one."""
    line = json.dumps(value, sort_keys=True, separators=(",", ": "))
    entries = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    inner = isinstance(value, dict) or any(isinstance(entry, (dict, list, str)) for entry in entries)
    if not entries or (depth and (len(line) + depth <= WIDTH or not inner)):
        return line
    names = [json.dumps(name) + ": " for name in sorted(value)] if isinstance(value, dict) else [""] * len(entries)
    entries = [value[name] for name in sorted(value)] if isinstance(value, dict) else entries
    lines = [" " * (depth + 1) + name + text(entry, depth + 1) for name, entry in zip(names, entries)]
    return "%s\n%s\n%s" % (line[0], ",\n".join(lines), " " * depth + line[-1])


def write_arrays(path, arrays):
    """Writes arrays as two, what they are and their bytes in a row: the same bytes at any time."""
    kinds = [[name, arrays[name].dtype.str, list(arrays[name].shape)] for name in sorted(arrays)]
    data = b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name, _, _ in kinds)
    with zipfile.ZipFile(path, "w") as archive:
        for name, value in (("data", np.frombuffer(data, np.uint8)), ("kinds", np.array(json.dumps(kinds)))):
            member = zipfile.ZipInfo(name + ".npy")
            member.compress_type = zipfile.ZIP_DEFLATED
            buffer = io.BytesIO()
            np.save(buffer, value, allow_pickle=False)
            archive.writestr(member, buffer.getvalue())


def read_arrays(path):
    """Arrays by name of a file that ``write_arrays`` wrote."""
    with np.load(path) as stored:
        kinds, data = json.loads(str(stored["kinds"])), stored["data"].tobytes()
    found = {}
    start = 0
    for name, kind, shape in kinds:
        end = start + int(np.prod(shape)) * np.dtype(kind).itemsize
        found[name] = np.frombuffer(data[start:end], kind).reshape(shape)
        start = end
    return found


def owner_of(name, cases):
    """The case that an array belongs to, or None: the longest of ``cases`` before a ``/`` in its name."""
    parts = name.split("/")
    return next((case for case in ("/".join(parts[:n]) for n in range(len(parts), 0, -1)) if case in cases), None)


def enter_facts(old, records, whole):
    """The JSON that a golden file has after its cases were made, and a list of ``Change``.

    Values that differ within the bounds stay as they were.

    Args:
      old: what the file has. It is changed.
      records: as ``make`` hands them out, of all runs.
      whole: whether cases that are no more are removed.
    """
    changes = []
    left = {}  # for each area, the cases that are still there
    for record in records:
        area = old
        for depth, name in enumerate(record["path"]):
            left.setdefault(tuple(record["path"][:depth]), set()).add(name)
            if depth + 1 < len(record["path"]):
                area = area.setdefault(name, {})
        case = "/".join(record["path"])
        if "facts" in record and name in area:
            area[name] = _merged(area[name], record["facts"], BOUNDS["float32"], case, changes)
        elif "facts" in record:
            area[name] = record["facts"]
            changes.append(Change("added", case, None, record["facts"]))
        elif "made" in record and name in area:
            changes.append(Change("removed", case, area.pop(name), None))
    for path, names in left.items() if whole else ():
        area = old
        for name in path:
            area = area.get(name, {})
        for name in sorted(set(area) - names):
            changes.append(Change("removed", "/".join(path + (name,)), area.pop(name), None))
    return changes


def enter_arrays(old, records, made, whole):
    """``enter_facts`` for arrays by name; those of a case have its name before theirs."""
    changes = []
    cases = {"/".join(record["path"]): "made" in record for record in records}
    for name in sorted(set(old) | set(made)):
        owner = owner_of(name, cases)
        if name not in made:
            if whole if owner is None else cases[owner]:
                changes.append(Change("removed", name, old.pop(name), None))
        elif name not in old:
            changes.append(Change("added", name, None, made[name]))
            old[name] = made[name]
        elif not _same_arrays(old[name], made[name]):
            changes.append(Change("changed", name, old[name], made[name]))
            old[name] = made[name]
    return changes


def _merged(old, new, bound, where, changes):
    """The old value with what differs from it beyond the bound."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.get("dtype") == new.get("dtype") and isinstance(new.get("data"), str):
            return old if _same_packed(old, new) else _changed(old, new, where, changes)
        bound = BOUNDS.get(str(new.get("dtype")), bound)
        for name in sorted(set(old) - set(new)):
            _changed(old[name], None, where + "/" + name, changes)
        for name in sorted(set(new) - set(old)):
            _changed(None, new[name], where + "/" + name, changes)
        places = {name: "%s/%s" % (where, name) for name in new}
        return {n: _merged(old[n], v, bound, places[n], changes) if n in old else v for n, v in new.items()}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        if old and isinstance(old[0], str) and old[0] == new[0]:
            bound = BOUNDS.get(old[0], bound)
        return [_merged(a, b, bound, "%s/%d" % (where, i), changes) for i, (a, b) in enumerate(zip(old, new))]
    if isinstance(old, str) and isinstance(new, str):
        same = _same_words(old, new)
    elif isinstance(old, float) and isinstance(new, float):
        same = _same_numbers(old, new, bound)
    else:
        same = type(old) is type(new) and old == new
    return old if same else _changed(old, new, where, changes)


def _changed(old, new, where, changes):
    changes.append(Change("changed", where, old, new))
    return new


def _same_numbers(old, new, bound):
    return old == new or (math.isnan(old) and math.isnan(new)) or abs(old - new) <= bound * max(0.1, abs(old))


def _same_words(old, new):
    """Whether two texts differ in decimal fractions alone, within the bound."""
    if _DECIMAL.sub("#", old) != _DECIMAL.sub("#", new):
        return False
    pairs = zip(map(float, _DECIMAL.findall(old)), map(float, _DECIMAL.findall(new)))
    return all(_same_numbers(a, b, BOUNDS["float32"]) for a, b in pairs)


def _same_packed(old, new):
    def unpacked(value):
        return np.frombuffer(base64.b64decode(value["data"]), value["dtype"]).reshape(value["shape"])

    return old["shape"] == new["shape"] and _same_arrays(unpacked(old), unpacked(new))


def _same_arrays(old, new):
    """Whether arrays are of one type and shape, and numbers within the bound."""
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return False
    bound = BOUNDS.get(old.dtype.name)
    if bound is None:
        return bool(np.array_equal(old, new))
    with np.errstate(invalid="ignore"):
        near = np.abs(old - new) <= bound * np.maximum(0.1, np.abs(old))
    return bool(np.all((old == new) | (old != old) & (new != new) | near))
