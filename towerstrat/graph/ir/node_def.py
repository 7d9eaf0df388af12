"""Convert operations to the original's ``NodeDef``: its input order, attribute names and types.

Most types here have the original's attributes, or attributes that follow from inputs and outputs: how many there are
and of which type (``_types``). The tables say where a type keeps something else: an axis that is an input there and an
attribute here, another order or name. ``original_op_defs`` has the original's signatures.

>>> import towerstrat.compat.v1 as tf
>>> with tf.Graph().as_default():
...     x = tf.concat([tf.zeros([2]), tf.ones([2])], 0)
>>> x.op.type, x.op.get_attr("N"), x.op.get_attr("T").name
('ConcatV2', 2, 'float32')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from towerstrat.graph.ir.original_op_defs import NO_DEFAULT, Argument, Attribute, Definition, definition
from towerstrat.graph.ir.types import DType, HostArray, as_dtype, string
from towerstrat.platform import messages

if TYPE_CHECKING:
    from towerstrat.graph.ir.graph_elements import Operation, Tensor

_HELD = {
    "axis": "axis", "dim": "axis", "dimension": "axis", "fft_length": "fft_length", "l2_regularizer": "l2_regularizer",
    "perm": "perm", "reduction_indices": "axis", "shape": "shape", "split_dim": "axis",
}  # fmt: skip
"""Inputs of the original that are attributes here, in some types or all: the input's name -> the attribute's."""
_HANDLES = {"handle", "table_handle"}
"""Inputs of the original that operations here do without."""
_ORDER = {
    "SparseSoftmaxCrossEntropyWithLogits": ("labels", "features"),
    "TensorArrayScatterV3": ("flow_in", "indices", "value"),
    "TensorArraySplitV3": ("flow_in", "value", "lengths"),
    "TensorArrayWriteV3": ("flow_in", "index", "value"),
}
"""Type -> the names of the original's inputs in the order of ours."""
_UPDATES = ("ResourceApply", "ResourceSparseApply")
"""Types of optimizers: ours end with the gradient and its rows, whatever hyperparameters come before."""
_RENAMED = {
    "adj_x": "transpose_a", "adj_y": "transpose_b", "keep_dims": "keepdims", "ngram_widths": "widths",
    "output_encoding": "encoding", "pad_width": "padding", "preserve_short_sequences": "keep",
    "replacement_char": "replacement", "set_operation": "operation",
}  # fmt: skip
"""The original's attribute -> ours."""
_DEFAULT_SEED = 87654321
_COMPUTED: dict[tuple[str, str], Callable[[Operation], Any]] = {
    ("AccumulateNV2", "shape"): lambda op: op.outputs[0].shape.raw,
    ("ExtractImagePatches", "ksizes"): lambda op: (1, *op.attrs["ksizes"], 1),
    ("ExtractImagePatches", "rates"): lambda op: (1, *op.attrs["rates"], 1),
    ("ExtractImagePatches", "strides"): lambda op: (1, *op.attrs["strides"], 1),
    ("StringNGrams", "left_pad"): lambda op: (op.attrs["pads"] or ("", ""))[0],
    ("StringNGrams", "right_pad"): lambda op: (op.attrs["pads"] or ("", ""))[1],
    ("TensorArrayConcatV3", "element_shape_except0"): lambda op: (op.attrs["_element"].dims or (None,))[1:] or None,
    ("TensorArrayGatherV3", "element_shape"): lambda op: op.attrs["_element"].dims,
    ("TensorArrayV3", "element_shape"): lambda op: op.attrs["_element"].dims,
    ("TensorArrayV3", "dynamic_size"): lambda op: op.attrs["_element"].dynamic,
    ("TensorArrayV3", "identical_element_shapes"): lambda op: op.attrs["_element"].checked,
    ("VarHandleOp", "dtype"): lambda op: op.attrs["cell"].dtype,
    ("VarHandleOp", "shape"): lambda op: op.attrs["cell"].dims,
    ("VarHandleOp", "shared_name"): lambda op: op.attrs["cell"].name,
}
"""(type, attribute) -> its value where neither inputs nor our attributes say it."""
COMPUTED_TYPES = frozenset(type for type, _ in _COMPUTED)
"""The types of such attributes."""


class NoNodesError(ValueError):
    """An operation that the original cannot have as it is."""


def attributes(op: Operation) -> dict[str, messages.AttrValue]:
    """The attributes of an operation, by the original's names; by ours where the original has no such type."""
    known = definition(op.type)
    by_name: dict[str, messages.AttrValue] = {}
    if known is not None:
        types = _types(known, op)
        for name, attribute in known.attributes.items():
            value = _value(op, name, attribute, types)
            if value is not NO_DEFAULT:
                by_name[name] = attr_value(attribute.kind, value)
    shown = ((k, v) for k, v in op.attrs.items() if k[0] == "_" or known is None)
    for name, value in shown:
        kind = None if name in op.definition.hidden else _kind(value)
        if kind is not None:
            by_name[name] = attr_value(kind, value)
    if op._colocation:
        by_name["_class"] = attr_value("list(string)", op._colocation)
    return by_name


def attribute(op: Operation, name: str) -> Any:
    """One attribute as ``Operation.get_attr`` gives it: element types as ``DType``, text as bytes, lists as lists.

    Raises:
      ValueError: there is none of that name.
    """
    by_name = attributes(op)
    if name not in by_name:
        known = ", ".join(sorted(by_name)) or "none"
        raise ValueError(f"Operation {op.name} has no attribute {name!r}; it has: {known}.")
    value = by_name[name]
    kind = value.WhichOneof("value")
    if kind != "list":
        return as_dtype(value.type) if kind == "type" else getattr(value, kind)
    filled = value.list.ListFields()
    return [as_dtype(v) if field.name == "type" else v for field, values in filled for v in values]


def _value(op: Operation, name: str, attribute: Attribute, types: Mapping[str, Any]) -> Any:
    """The value of an attribute of the original, or ``NO_DEFAULT``."""
    if (op.type, name) in _COMPUTED:
        return _COMPUTED[op.type, name](op)
    if name in types:
        return types[name]
    if name in ("seed", "seed2") and "seeds" in op.attrs:
        return _seeds(op)[name == "seed2"]
    stored = op.attrs.get(name, op.attrs.get(_RENAMED.get(name, name), NO_DEFAULT))
    if stored is not NO_DEFAULT:
        return stored
    if attribute.default is NO_DEFAULT and attribute.kind == "type":
        return "int32"  # of an input that is an attribute here: an axis
    return attribute.default


def _seeds(op: Operation) -> tuple[int, int]:
    """The two seeds that the original derives from the graph's and the operation's own."""
    graph_seed, op_seed = op.attrs["seeds"]
    if graph_seed is None and op_seed is None:
        return 0, 0
    return _DEFAULT_SEED if graph_seed is None else graph_seed, op.index if op_seed is None else op_seed


def _types(known: Definition, op: Operation) -> dict[str, Any]:
    """Attributes that inputs and outputs determine: numbers of tensors, and element types, by name."""
    types: dict[str, Any] = {}
    for argument, tensors in (*inputs_by_argument(known, op), *_match(known.outputs, op.outputs)):
        if tensors is None:
            continue
        if argument.number:
            types[argument.number] = len(tensors)
        if argument.kind.startswith("*"):
            types[argument.kind[1:]] = [t.dtype for t in tensors]
        elif tensors and argument.kind in known.attributes:
            types.setdefault(argument.kind, tensors[0].dtype)
    return types


def inputs_by_argument(known: Definition, op: Operation) -> list[tuple[Argument, Sequence[Tensor] | None]]:
    """The original's inputs, in its order, with the tensors here; None where one is an attribute here."""
    by_name = {a.name: a for a in known.inputs}
    if op.type in _ORDER:
        ours = {by_name[name]: tensors for name, tensors in zip(_ORDER[op.type], ([t] for t in op.inputs), strict=True)}
        return [(a, ours[a]) for a in known.inputs if a in ours]
    if op.type.startswith(_UPDATES):
        last = [by_name[name] for name in ("grad", "delta", "indices") if name in by_name]
        return [*_match(last, op.inputs[-len(last) :])]
    present = [a for a in known.inputs if a.name not in _HANDLES or len(op.inputs) == len(known.inputs)]
    held = [a for a in present if _HELD.get(a.name) in op.attrs]
    free = [a for a in present if a not in held]
    tensors, from_input = op.inputs, None
    if held and (any(a.many for a in free) or len(tensors) > len(free)) and _is_input(op, held[-1]):
        tensors, from_input = tensors[:-1], tensors[-1:]
    matches = dict(_match(free, tensors))
    if from_input is not None:
        matches[held.pop()] = from_input
    return [(a, matches.get(a)) for a in present]


def _is_input(op: Operation, argument: Argument) -> bool:
    """Whether what may be an attribute is the last input of this operation."""
    return op.attrs[_HELD[argument.name]] is None


def held_attribute(op: Operation, argument: Argument) -> tuple[HostArray, str]:
    """An attribute that is an input of the original: its value and element type.

    Raises:
      NoNodesError: the original computes it when it runs (all axes of a tensor of unknown rank).
    """
    value = op.attrs[_HELD[argument.name]]
    if value is None:
        dims = op.inputs[0].dims
        if dims is None:
            raise NoNodesError(f"{op.name}: {argument.name} is all axes, of a tensor of unknown rank.")
        if argument.name == "fft_length":
            value = _fft_length(op, dims)
        else:
            value = range(len(dims))[:: -1 if argument.name == "perm" else 1]
    kind = argument.kind if argument.kind in ("int32", "int64", "float32", "float64", "string") else "int32"
    return np.asarray(list(value) if isinstance(value, range) else value, as_dtype(kind).np), kind


def _fft_length(op: Operation, dims: Sequence[int | None]) -> list[int]:
    """The sizes of the last dimensions that are transformed: of an inverse transform those of its result."""
    count = {"2D": 2, "3D": 3}.get(op.type[-2:], 1)
    sizes = (op.outputs[0].dims if op.type.startswith("I") else dims) or ()
    last = [size for size in sizes[-count:] if size is not None]
    if len(last) < count:
        raise NoNodesError(f"{op.name}: the size of a transformed dimension is not known.")
    return last


def _match(arguments: Sequence[Argument], tensors: Sequence[Tensor]) -> list[tuple[Argument, Sequence[Tensor]]]:
    """Match arguments to tensors in order. Lists share equally the tensors that single arguments leave."""
    lists = sum(a.many for a in arguments)
    each = (len(tensors) - (len(arguments) - lists)) // lists if lists else 0
    matches, start = [], 0
    for argument in arguments:
        stop = start + (each if argument.many else 1)
        matches.append((argument, tensors[start:stop]))
        start = stop
    return matches


# ---- values of attributes ------------------------------------------------------------------------------------------


def _kind(value: object) -> str | None:
    """The kind of one of our own attributes; None where no message holds it."""
    if isinstance(value, list | tuple):
        kinds = {_kind(v) for v in value}
        kind = kinds.pop() if len(kinds) == 1 else None
        return f"list({kind})" if kind in _FIELDS else None
    for types, kind in ((bool, "bool"), (int, "int"), (float, "float"), (str | bytes, "string"), (DType, "type")):
        if isinstance(value, types):
            return kind
    return None


def attr_value(kind: str, value: Any) -> messages.AttrValue:
    """A value as a message; ``kind`` as in the original's definitions, such as ``"int"`` or ``"list(type)"``."""
    message = messages.AttrValue()
    if kind.startswith("list("):
        message.list.SetInParent()
        for item in value:
            _add(message.list, kind[5:-1], item, many=True)
    else:
        _add(message, kind, value, many=False)
    return message


def _add(message: Any, kind: str, value: Any, many: bool) -> None:
    """Sets, or appends to, the field of ``message`` that holds values of ``kind``."""
    if kind in ("shape", "tensor"):
        proto = shape_proto(value) if kind == "shape" else tensor_proto(value)
        (getattr(message, kind).add() if many else getattr(message, kind)).CopyFrom(proto)
        return
    field, convert = _FIELDS[kind]
    if many:
        getattr(message, field).append(convert(value))
    else:
        setattr(message, field, convert(value))


_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "int": ("i", int),
    "float": ("f", float),
    "bool": ("b", bool),
    "string": ("s", lambda text: text.encode() if isinstance(text, str) else text),
    "type": ("type", lambda kind: as_dtype(kind).as_datatype_enum),
}


def shape_proto(dims: Sequence[int | None] | None) -> messages.TensorShapeProto:
    """A static shape as a message: -1 for unknown sizes."""
    if dims is None:
        return messages.TensorShapeProto(unknown_rank=True)
    return messages.TensorShapeProto(dim=[messages.TensorShapeProto.Dim(size=-1 if d is None else d) for d in dims])


_SCALAR_FIELDS = {
    "float32": "float_val", "float64": "double_val", "int8": "int_val", "int16": "int_val", "int32": "int_val",
    "uint8": "int_val", "uint16": "int_val", "int64": "int64_val", "bool": "bool_val", "uint32": "uint32_val",
    "uint64": "uint64_val",
}  # fmt: skip


def tensor_proto(array: HostArray) -> messages.TensorProto:
    """An array as a message: a single number in a field of its type, more of them as bytes."""
    array = np.asarray(array)
    kind = string if array.dtype == object else as_dtype(array.dtype)
    proto = messages.TensorProto(dtype=kind.as_datatype_enum, tensor_shape=shape_proto(array.shape))
    if kind is string:
        proto.string_val.extend(array.ravel().tolist())
    elif array.size == 1 and kind.name in _SCALAR_FIELDS:
        getattr(proto, _SCALAR_FIELDS[kind.name]).append(array.item())
    else:
        proto.tensor_content = array.tobytes()
    return proto
