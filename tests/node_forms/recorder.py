"""Records operations while tests run, each as a graph of its own with inputs and the values that it gives here.

    python -m pytest -p tests.node_forms.recorder -p no:xdist tests/graph/ops --nodes FOLDER
    PYTHON scripts/run_nodes.py FOLDER            # a Python with the original: 1.12.3, 1.15.5 or 2.15.1

Of each type, set of attributes, number of inputs and element type two operations are recorded. Inputs that are
constants keep their value, others are random. What cannot run by itself (handles, regions, values that do not fit the
operation) is left out, and listed in ``FOLDER/left_out.txt``.
"""

import json
from pathlib import Path

import numpy as np

from towerstrat.errors import OpError, UnsupportedError
from towerstrat.graph.ir.constant_folding import constant_value
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import placeholder
from towerstrat.graph.runtime.sessions.session import Session

EACH = 2
_ADD = Graph.add
_RECORDED: dict[tuple, list] = {}


def pytest_addoption(parser):
    parser.addoption("--nodes", metavar="FOLDER", help="write the recorded operations there")


def pytest_configure(config):
    if config.getoption("--nodes"):
        Graph.add = _record


def _record(graph, *args, **kwargs):
    op = _ADD(graph, *args, **kwargs)
    if not graph.executing_eagerly and not op.bodies:
        present = tuple(sorted(name for name, value in op.attrs.items() if value is not None))
        key = op.type, present, len(op.inputs), str(op.inputs[0].dtype) if op.inputs else ""
        examples = _RECORDED.setdefault(key, [])
        if len(examples) < EACH:
            examples.append(op)
    return op


def pytest_sessionfinish(session):
    folder = session.config.getoption("--nodes")
    if not folder:
        return
    Graph.add = _ADD
    Path(folder).mkdir(parents=True, exist_ok=True)
    rng, left_out, number = np.random.RandomState(0), [], 0
    for (type, *_), examples in sorted(_RECORDED.items()):
        for op in examples:
            if not op.outputs or any(t.dtype.name in ("resource", "variant") for t in (*op.inputs, *op.outputs)):
                left_out.append(f"{type}\ta handle, or an effect")
                continue
            try:
                _write(op, Path(folder, f"{number:04d}"), rng)
                number += 1
            except (OpError, UnsupportedError, ValueError, TypeError, AssertionError) as error:
                left_out.append(f"{type}\t{str(error).splitlines()[0][:150] if str(error) else error!r}")
    Path(folder, "left_out.txt").write_text("\n".join(left_out) + "\n")
    print(f"\n{number} operations of {len({k[0] for k in _RECORDED})} types, {len(left_out)} left out")


def _write(op, path, rng):
    graph = Graph()
    with graph.as_default():
        inputs = [placeholder(t.dtype, t.dims) for t in op.inputs]
        made = _ADD(graph, op.type, inputs, dict(op.attrs), "made")
        values = [_value(t, rng) for t in op.inputs]
        with Session(graph=graph) as session:
            results = session.run(list(made.outputs), dict(zip(inputs, values, strict=True)))
    path.with_suffix(".pb").write_bytes(graph.as_graph_def().SerializeToString())
    case = {
        "type": op.type,
        "random": op.definition.random or op.type.startswith("Stateless"),
        "feeds": {t.name: _listed(value) for t, value in zip(inputs, values, strict=True)},
        "results": {t.name: _listed(value) for t, value in zip(made.outputs, results, strict=True)},
    }
    path.with_suffix(".json").write_text(json.dumps(case))


def _value(tensor, rng):
    known = constant_value(tensor)
    if known is not None:
        return np.asarray(known)
    dims = [3 if d is None else d for d in (tensor.dims if tensor.dims is not None else (3, 4))]
    dtype = tensor.dtype
    if dtype.name == "string":
        return np.full(dims, b"a b", object)
    if dtype.name == "bool":
        return rng.rand(*dims) > 0.5
    if dtype.is_integer:
        return np.asarray(rng.randint(0, 2, dims), dtype.np)
    values = rng.rand(*dims) * 0.8 + 0.1
    return np.asarray(values + 1j * rng.rand(*dims) if dtype.is_complex else values, dtype.np)


def _listed(array):
    """(element type, shape, bytes in hexadecimal digits), which each NumPy reads."""
    array = np.asarray(array)
    if array.dtype.kind in "OS":
        texts = [v if isinstance(v, bytes) else str(v).encode() for v in array.ravel().tolist()]
        return "string", array.shape, [text.hex() for text in texts]
    return array.dtype.name, array.shape, array.tobytes().hex()
