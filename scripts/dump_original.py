"""Writes the public interface of an installed TensorFlow 1.15 or 2.x as JSON; run it with the Python that has it.

    PYTHON_OF_TENSORFLOW scripts/dump_original.py OUT.json [tf.contrib.MODULE ...]

Each public name is mapped to its kind and arguments, as ``scripts/original_api.py`` reads them. Names of
``tf.compat.v1`` carry that prefix; ``same`` lists the names of the 2.x tree that are the same object.
"""

import functools
import inspect
import json
import sys
import types
from collections import defaultdict

import tensorflow as tf

V1 = "tf.compat.v1"
SKIPPED = ("tf.compat.v2", "tf.compat.v1.compat.v", "tf.raw_ops.", "tf.compat.v1.raw_ops.")
TRACING = {"cast", "flatten", "from_tensors", "to_tensors", "placeholder_value", "experimental_as_proto",
           "experimental_from_proto", "experimental_type_proto"}  # fmt: skip
"""Members of types by which the original's tracing takes values apart."""
NOT_API = {"absolute_import", "division", "print_function"}
OF_THE_API = ("._api.", ".api.", "tensorflow.compat", "tensorboard.summary", "tensorflow.python.platform.flags")
"""What the names of modules have that are made for the public interface; others are the implementation's."""


def walk(module, name, found):
    """Adds what is public in a module and the modules below it."""
    for last in sorted(dir(module)):
        public = f"{name}.{last}"
        if last.startswith("_") or last in NOT_API or public.startswith(SKIPPED):
            continue
        try:
            value = getattr(module, last)
        except (AttributeError, ImportError):
            continue
        if isinstance(value, types.ModuleType):
            if any(part in value.__name__ for part in OF_THE_API):
                walk(value, public, found)
        else:
            found[public] = value


def arguments(function):
    """Parameters as they are written: ``axis=None``. None where Python cannot tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [written(p) for p in parameters]


def written(parameter):
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    shown = repr(parameter.default)
    return f"{parameter.name}={type(parameter.default).__name__ if ' at 0x' in shown else shown}"


def described(value):
    if inspect.isclass(value):
        members = {}
        for name in dir(value):
            member = inspect.getattr_static(value, name)
            made_in = getattr(getattr(member, "fget", getattr(member, "__func__", member)), "__module__", None) or ""
            if (name.startswith("_") and name != "__call__") or not made_in.startswith(("tensorflow", "keras")):
                continue
            if name in TRACING:
                continue
            if isinstance(member, property):
                members[name] = "property"
            elif callable(getattr(member, "__func__", member)):
                members[name] = arguments(getattr(member, "__func__", member)) or []
        return {"kind": "class", "init": arguments(value.__init__), "members": members}
    if callable(value) and not isinstance(value, tf.DType):
        return {"kind": "function", "args": arguments(value)}
    return {"kind": "value", "type": type(value).__name__}


def main():
    found = {}
    walk(tf, "tf", found)
    for name in sys.argv[2:]:
        walk(functools.reduce(getattr, name.split(".")[1:], tf), name, found)
    names = defaultdict(list)
    for name, value in found.items():
        if not name.startswith(V1) and (callable(value) or isinstance(value, tf.DType)):
            names[id(value)].append(name)
    entries = {name: {**described(value), "same": names[id(value)]} for name, value in found.items()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(entries, file, indent=0, sort_keys=True)
    print(f"{len(entries)} names of {tf.__version__}")


if __name__ == "__main__":
    main()
