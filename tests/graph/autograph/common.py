"""Running programs through the conversion: ``tf.function`` in small, over a plain graph and a session."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from tests.graph.control_flow_namespace import namespace
from towerstrat.graph.autograph import api
from towerstrat.graph.ir import nest
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.graph_elements import Tensor, has_effect


def make_tf():
    tf = namespace()
    tf.autograph = SimpleNamespace(
        experimental=SimpleNamespace(set_loop_options=api.set_loop_options, do_not_convert=api.do_not_convert)
    )
    tf.name_scope = nullcontext
    return tf


tf = make_tf()


def array(value):
    found = np.asarray(value)
    return found.astype({"float64": "float32", "int64": "int32"}.get(found.dtype.name, found.dtype))


def run(program, *args, shapes=None, options=api.Feature.EQUALITY_OPERATORS):
    """What a converted program returns for arguments; every operation with an effect runs.

    ``shapes``: what is known of the arguments' shapes, by default everything.
    """
    values = [array(a) for a in args]
    with Graph().as_default() as graph, tf.Session() as session:
        shapes = [v.shape for v in values] if shapes is None else shapes
        feeds = [tf.placeholder(v.dtype, s) for v, s in zip(values, shapes, strict=True)]
        result = api.converted(program, optional_features=options)(*feeds)
        initializers = [v.initializer for v in graph.get_collection("variables")]
        session.run(initializers)
        tensors = [t for t in nest.flatten(result) if isinstance(t, Tensor)]
        effects = [op for op in graph.root.ops if has_effect(op) and op not in initializers]
        fetched = iter(session.run([tensors, effects], dict(zip(feeds, values, strict=True)))[0])
        leaves = [next(fetched) if isinstance(leaf, Tensor) else leaf for leaf in nest.flatten(result)]
        return nest.pack_sequence_as(result, leaves)
