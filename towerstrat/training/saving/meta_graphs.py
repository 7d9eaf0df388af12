"""The ``meta`` file beside a checkpoint: the graph as names, types and attributes, and its collections."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from numbers import Integral, Real
from typing import Any

from google.protobuf import text_format

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.graph import Graph, get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.variables.variables import Variable
from towerstrat.hosts.collectives import COLLECTIVES
from towerstrat.platform import logs, messages
from towerstrat.platform.storage import storage_of

_VERSION = "1.12.3"


def check_debug_info(save_debug_info: bool) -> None:
    """Refuses to write the lines of the program that made the operations, which no reader here would read."""
    if save_debug_info:
        raise UnsupportedError("save_debug_info=True: the lines of a program are not saved. Leave it out.")


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> Any:
    """A graph as a ``MetaGraphDef``, for TensorBoard and other readers; the library reads no graphs back.

    Args:
      filename: where it is written too; None: nowhere.
      meta_info_def: a ``MetaInfoDef`` to start from. graph_def: instead of the graph's own.
      saver_def: the definition of the saver. collection_list: the collections, default all.
      as_text: the file is text. graph: default the default graph.
      export_scope: only what is in this name scope, whose name is left out.
      clear_devices: operations name no device.
      clear_extraneous_savers: the collection of savers is left out.
      strip_default_attrs: changes nothing: attributes are those that the program gave.
      save_debug_info: is refused: no file with the lines of the program is written.

    Raises:
      RuntimeError: operations are executed eagerly: there is no graph.
      UnsupportedError: ``save_debug_info``.
    """
    check_debug_info(save_debug_info)
    graph = graph or get_default_graph()
    if graph.executing_eagerly:
        raise RuntimeError(
            "Exporting/importing meta graphs is not supported when eager execution is enabled. No graph exists when "
            "eager execution is enabled."
        )
    message = messages.MetaGraphDef(meta_info_def=meta_info_def, saver_def=saver_def)
    message.meta_info_def.tensorflow_version = _VERSION
    message.graph_def.CopyFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if export_scope:
        _keep_scope(message.graph_def, export_scope)
    if clear_devices:
        for node in message.graph_def.node:
            node.ClearField("device")
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if not (clear_extraneous_savers and key == "savers"):
            _add_collection(message, graph, key, export_scope)
    if filename is not None:
        COLLECTIVES.on_first_process(lambda: _write(message, filename, as_text))
    return message


def _keep_scope(graph_def: Any, scope: str) -> None:
    """Leaves the operations of a name scope, without its name."""
    start = f"{scope.rstrip('/')}/"
    kept = []
    for node in graph_def.node:
        if node.name.startswith(start):
            copied = type(node).FromString(node.SerializeToString())
            copied.name = node.name.removeprefix(start)
            # A control input begins with "^".
            copied.input[:] = ["^" * name.startswith("^") + name.lstrip("^").removeprefix(start) for name in node.input]
            kept.append(copied)
    del graph_def.node[:]
    graph_def.node.extend(kept)


def _add_collection(message: Any, graph: Graph, key: Hashable, scope: str | None) -> None:
    if not isinstance(key, str):
        logs.warning("Only collections with string type keys will be serialized. This key has %s", type(key))
        return
    values = graph.get_collection(key, f"{scope.rstrip('/')}/" if scope else None)
    if not values:
        return
    collection = message.collection_def[key]
    try:
        _enter(collection, values)
    except (TypeError, ValueError) as error:
        del message.collection_def[key]
        logs.warning("Collection %s is not written: %s", key, error)


def _enter(collection: Any, values: Sequence[Any]) -> None:
    """Enters the values of a collection in the list for their kind. Raises TypeError where there is none."""
    first = values[0]
    if isinstance(first, Variable):
        collection.bytes_list.value.extend(_definition(v).SerializeToString() for v in values)
    elif isinstance(first, Tensor | Operation):
        collection.node_list.value.extend(v.name for v in values)
    elif isinstance(first, str | bytes):
        collection.bytes_list.value.extend(v.encode() if isinstance(v, str) else v for v in values)
    elif isinstance(first, Integral):
        collection.int64_list.value.extend(values)
    elif isinstance(first, Real):
        collection.float_list.value.extend(values)
    elif hasattr(first, "saver_def"):
        built = [saver for saver in values if saver.saver_def is not None]
        collection.bytes_list.value.extend(saver.to_proto().SerializeToString() for saver in built)
    else:
        raise TypeError(f"there is no list of {type(first).__name__}")


def _definition(variable: Variable) -> Any:
    """A variable as a message: the names of its operations."""
    definition = messages.VariableDef(
        variable_name=variable.handle.name,
        initializer_name=variable.initializer.name,
        snapshot_name=variable._snapshot.name,
        initial_value_name=variable.initial_value.name,
        is_resource=True,
        trainable=variable.trainable,
    )
    info = variable._save_slice_info
    if info is not None:
        slice_info = definition.save_slice_info_def
        slice_info.full_name = info.full_name
        slice_info.full_shape.extend(info.full_shape)
        slice_info.var_offset.extend(info.var_offset)
        slice_info.var_shape.extend(info.var_shape)
    return definition


def _write(message: Any, filename: str, as_text: bool) -> None:
    data = text_format.MessageToString(message).encode() if as_text else message.SerializeToString()
    with storage_of(filename).writing(filename) as file:
        file.write(data)


def write_graph(graph_or_graph_def: Graph | messages.GraphDef, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph to a file.

    Args:
      graph_or_graph_def: a ``Graph``, or its ``GraphDef``.
      logdir: the folder, made where it is missing. name: of the file in it.
      as_text: the file is text; False: the bytes of the message.

    Returns:
      The path of the file.
    """
    graph_def = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    path = os.path.join(logdir, name)
    COLLECTIVES.on_first_process(lambda: _write(graph_def, path, as_text))
    return path


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Any:
    """Raises UnsupportedError: graphs are made by the program's code."""
    raise UnsupportedError(
        "tf.train.import_meta_graph is not supported: graphs are not read from files. Build the graph with the "
        "program's code and call tf.train.Saver().restore(session, path)."
    )
