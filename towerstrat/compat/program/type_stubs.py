"""Stub files of ``tensorflow``: by them type checkers and editors know the names and arguments that programs use.

A program's ``import tensorflow`` means nothing to a type checker, and our modules of that name are made as they are
asked for. The stubs hold no signatures: each name is imported from where its object is, whose annotations are read
there (``py.typed``), so that a stub is never behind the library. In ``tensorflow/nn/__init__.pyi`` stands

    from towerstrat.graph.ops.nn.convolution import conv2d as _conv2d
    conv2d = _conv2d

Names of packages (keras, tensorflow-estimator, tf-slim) are imported from those, where they are installed. A name that
is not here is in no stub: the checker says so, as ``towerstrat check`` does. Modules of the original's inside, and of
Keras, take every name (``__getattr__``).

Source: PEP 484 and PEP 561 on stub files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towerstrat.compat.importer import later
from towerstrat.compat.names import keras_modules, name_file, tf_slim
from towerstrat.compat.names.lazy_names import Joined, LazyName, Packaged, held
from towerstrat.compat.names.namespace import Namespace, build, place, tree
from towerstrat.compat.names.public_names import Symbol

ROOT = "tensorflow"
_HEADER = "# mypy: ignore-errors\nfrom typing import Any\n"
_EVERY_NAME = "def __getattr__(name: str) -> Any: ...\n"


def write(folder: Path, api: int) -> int:
    """Writes the stubs of a ``tensorflow`` into a folder, and returns how many files they are.

    Args:
      folder: of stubs, such as ``typings``; stubs of ours that are there are taken away.
      api: whose names ``tensorflow`` has: 1 or 2. Those of the other one are below ``tensorflow.compat``.

    Raises:
      OSError: a file cannot be written.
    """
    texts = stubs(api)
    for file in (folder / ROOT).rglob("__init__.pyi"):  # those of the other namespace would stay
        if file.read_text(encoding="utf-8").startswith(_HEADER):
            file.unlink()
    for path, text in texts.items():
        file = folder.joinpath(*path.split("."), "__init__.pyi")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return len(texts)


def stubs(api: int) -> Mapping[str, str]:
    """Dotted path of each module, ``tensorflow`` first, to the text of its stub file; ``api`` as of ``write``."""
    roots = [ROOT if own == api else f"{ROOT}.compat.v{own}" for own in (1, 2)]
    texts: dict[str, str] = {}
    for root in build(roots[0], roots[1], nullcontext, later):
        texts |= {module.__name__: _text(module) for module in tree(root)}
    texts[f"{ROOT}.compat.v{api}"] = f"{_HEADER}from {ROOT} import *\n"
    for path in _open_modules(api):
        parent, _, last = path.rpartition(".")
        texts.setdefault(path, _HEADER + _EVERY_NAME)
        texts[parent] = texts.get(parent, _HEADER + _EVERY_NAME)
        if (line := f"from . import {last} as {last}\n") not in texts[parent]:
            texts[parent] += line
    return texts


def _text(module: Namespace) -> str:
    public, api, _ = place(module)
    own = held(module)
    lines = [line for name, value in sorted((own | own["_deferred"]).items()) for line in _lines(module, name, value)]
    for name in sorted(tf_slim.members(public)) if api == 1 else ():
        lines += _imported(name, *tf_slim.NAMES[f"{public}.{name}"])
    return _HEADER + "".join(f"{line}\n" for line in lines)


def _lines(module: Namespace, name: str, value: Any) -> Iterator[str]:
    """The lines that define a name of a module."""
    match value:
        case Symbol(LazyName() as lazy) | (LazyName() as lazy):
            yield from _imported(name, lazy.module, lazy.name)
        case Packaged(source, attribute, _):
            yield from _imported(name, source, attribute)
        case Joined(ours, base):
            yield from _imported(f"_{name}_ours", ours.module, ours.name)
            yield from _imported(f"_{name}_base", base.module, base.name)
            yield f"class {name}(_{name}_ours, _{name}_base): ..."
        case keras_modules.Served() if value.path != "keras":
            yield f"{name}: Any"
        case Namespace() if value.__name__ == f"{module.__name__}.{name}":
            yield f"from . import {name} as {name}"
        case Namespace():
            yield f"import {value.__name__} as _{name}\n{name} = _{name}"
        case bool() | int() | str() if not name.startswith("_") or name.endswith("version__"):
            yield f"{name}: {type(value).__name__}"


def _imported(name: str, module: str, attribute: str) -> list[str]:
    """Imports an object by a name. Only ``X as X`` and assignments are a stub's own names to a type checker."""
    if not attribute:
        return [f"import {module} as _{name}", f"{name} = _{name}"]
    first, *rest = attribute.split(".")
    return [f"from {module} import {first} as _{name}", f"{name} = {'.'.join([f'_{name}', *rest])}"]


def _open_modules(api: int) -> Iterator[str]:
    """The modules whose names are not listed: those inside the original, and those that the package keras serves."""
    for path in sorted(name_file.inside()):
        parts = path.split(".")
        yield from (".".join((ROOT, *parts[: i + 1])) for i in range(len(parts)))
    for path in sorted(tf_slim.PATHS) if api == 1 else ():
        parts = path.split(".")
        yield from (".".join((ROOT, *parts[: i + 1])) for i in range(len(parts)))
    found = find_spec(keras_modules.NAME)
    for root in (found.submodule_search_locations or ()) if found is not None else ():
        for mount, own in ((ROOT, api), (f"{ROOT}.compat.v1", 1), (f"{ROOT}.compat.v2", 2)):
            top = Path(root, "api", f"_v{own}", "keras")
            for file in sorted(top.rglob("__init__.py")):
                yield ".".join((mount, "keras", *file.parent.relative_to(top).parts))
