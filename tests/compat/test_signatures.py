"""What is exported takes the arguments of the original: names, order and defaults.

The golden file is written by ``scripts/original_api.py``.
"""

import inspect
from functools import cache
from pathlib import Path

import pytest

from towerstrat.compat import names
from towerstrat.data.options import Options
from towerstrat.graph.variables import Variable, _by_name

GOLDEN = Path(__file__).parents[1] / "golden" / "signatures.txt"

DEVIATIONS = {
    "tf.DType": "programs take the types that are there",
    "tf.dtypes.DType": "programs take the types that are there",
    "tf.Operation": "Graph.add makes operations",
    "tf.Tensor": "operations make tensors, with their static shape",
    "tf.Variable": "calls go through the creators in scope (see test_variables_take_the_same_arguments)",
    "tf.contrib.data.RandomDataset": "a function that returns a Dataset",
    "tf.data.experimental.RandomDataset": "a function that returns a Dataset",
    "tf.contrib.distribute.TPUStrategy": "steps_per_run may be left out, as most programs do",
    "tf.contrib.framework.nest.map_structure": "its one keyword by name",
    "tf.contrib.opt.MovingAverageOptimizer.get_slot": "passed on to the optimizer inside",
    "tf.contrib.opt.MovingAverageOptimizer.get_slot_names": "passed on to the optimizer inside",
    "tf.data.Dataset": "the constructors are its class methods",
    "tf.layers.Layer.call": "a layer may take more than one positional argument",
}  # fmt: skip
"""A name, or a name and a member, whose arguments differ, and why."""

NO_PROTO = "there are no protocol buffers of graphs"
NO_NODES = "layers keep no record of their calls"
ONE_MACHINE = "a cluster is one machine"
MISSING = {
    "tf.Graph.as_graph_def": NO_PROTO,
    "tf.Graph.create_op": "functions make operations",
    "tf.Graph.graph_def_versions": NO_PROTO,
    "tf.Graph.switch_to_thread_local": "default graphs are per thread",
    "tf.Session.graph_def": NO_PROTO,
    "tf.InteractiveSession.graph_def": NO_PROTO,
    "tf.Operation.traceback_with_start_lines": "traceback has the program's line",
    "tf.TensorShape.as_proto": NO_PROTO,
    "tf.Variable.SaveSliceInfo": "made by partitioned variables",
    "tf.Variable.count_up_to": "tf.count_up_to is there",
    "tf.test.TestCase.assertDeviceEqual": "placement is the compiler's",
    "tf.test.TestCase.assertProtoEquals": NO_PROTO,
    "tf.test.TestCase.assertProtoEqualsVersion": NO_PROTO,
    "tf.test.TestCase.captureWritesToStream": "pytest and contextlib have it",
    "tf.test.TestCase.checkedThread": "sessions run on the thread that calls",
    "tf.train.ClusterSpec.as_cluster_def": NO_PROTO,
    "tf.train.ClusterSpec.job_tasks": ONE_MACHINE,
    "tf.train.ClusterSpec.task_address": ONE_MACHINE,
    "tf.train.ClusterSpec.task_indices": ONE_MACHINE,
    **{f"Layer.{member}": NO_NODES for member in (
        "get_input_at", "get_input_mask_at", "get_input_shape_at", "get_output_at", "get_output_mask_at",
        "get_output_shape_at", "inbound_nodes", "input", "input_mask", "input_shape", "outbound_nodes", "output",
        "output_mask", "output_shape")},
}  # fmt: skip
"""Members of exported classes that are not there, and why; those of every layer under ``Layer``."""


def read():
    """``(name, arguments)`` and, for members, ``(name, member, arguments or 'property')``."""
    symbols, members = [], []
    for line in GOLDEN.read_text().splitlines():
        head, _, arguments = line.removesuffix(")").partition("(")
        listed = arguments.split("; ") if arguments else []
        if line.startswith("    "):
            name, _, kind = head.strip().partition(": ")
            members.append((symbols[-1][0], name, kind or listed))
        else:
            symbols.append((head.removeprefix("class "), listed))
    return symbols, members


SYMBOLS, MEMBERS = read()
TABLE = names.table()
MEMBERS = [(name, member, kind) for name, member, kind in MEMBERS if inspect.isclass(TABLE[name])]


def shown(parameter):
    """A parameter in the golden file's way of writing."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    if parameter.default is parameter.empty:
        return parameter.name
    default = parameter.default
    written = type(default).__name__ if " object at 0x" in repr(default) else repr(default)
    return f"{parameter.name}={written}"


def parameters(function):
    return [shown(p) for p in inspect.signature(function).parameters.values()]


def constructor(cls):
    """The arguments of making an instance, ``self`` first."""
    return parameters(cls.__init__)


@cache
def source_of(cls):
    return inspect.getsource(cls)


def has(cls, member):
    """Whether instances have it: of the class, or set when one is made."""
    sources = (source_of(c) for c in cls.__mro__ if c.__module__.startswith("towerstrat"))
    if cls is Options:
        return hasattr(Options(), member)
    return hasattr(cls, member) or any(f"self.{member} = " in source for source in sources)


def is_free(arguments):
    """Whether the original took anything: wrapped functions and protocol messages."""
    return [a for a in arguments if a != "self"] in (["*args", "**kwargs"], ["*args", "**kwds"])


@pytest.mark.parametrize(("name", "arguments"), SYMBOLS, ids=[name for name, _ in SYMBOLS])
def test_arguments(name, arguments):
    if is_free(arguments):
        return
    value = TABLE[name]
    found = constructor(value) if inspect.isclass(value) else parameters(value)
    if name in DEVIATIONS:
        assert found != arguments, f"{name} agrees: take it off the list"
    else:
        assert found == arguments


def test_variables_take_the_same_arguments():
    arguments = dict(SYMBOLS)["tf.Variable"][1:]
    order = [argument.partition("=")[0] for argument in arguments]
    assert list(_by_name(order, {})) == order
    defaults = {p.name: p for p in inspect.signature(Variable.__init__).parameters.values()}
    for argument, name in zip(arguments, order, strict=True):
        assert name == "use_resource" or shown(defaults[name]) == argument


def test_members_are_there():
    missing = {
        f"{'Layer' if name.startswith('tf.layers.') else name}.{member}"
        for name, member, _ in MEMBERS
        if not has(TABLE[name], member)
    }
    assert missing == set(MISSING)


def test_members_take_the_same_arguments():
    wrong = {}
    for name, member, arguments in MEMBERS:
        value = inspect.getattr_static(TABLE[name], member, None)
        if value is None or f"{name}.{member}" in DEVIATIONS:
            continue
        if arguments == "property":
            if callable(value) and not isinstance(value, type):
                wrong[f"{name}.{member}"] = "expected a property, got a method"
            continue
        if is_free(arguments):
            continue
        function = getattr(value, "__func__", value)
        found = parameters(function) if callable(function) else "a property"
        if found != arguments:
            wrong[f"{name}.{member}"] = f"expected {arguments}, got {found}"
    assert wrong == {}


def test_the_golden_file_covers_the_table():
    covered = {name for name, _ in SYMBOLS}
    functions = {n for n, v in TABLE.items() if inspect.isfunction(v) or inspect.isclass(v)}
    assert {n for n in functions - covered if not n.startswith(("tf.flags.", "tf.app.flags."))} == set()
