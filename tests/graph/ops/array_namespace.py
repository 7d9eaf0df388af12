"""The public functions of array mathematics under the original's names, without the rest of the package."""

from types import ModuleType, SimpleNamespace

from towerstrat.graph.ir import convert, types
from towerstrat.graph.ops import (
    array,
    clip,
    counting,
    einsum,
    indexing,
    linalg,
    math,
    matrices,
    reductions,
    segments,
    slicing,
    spatial,
    spectral,
)

_MODULES = (
    convert,
    array,
    slicing,
    indexing,
    counting,
    spatial,
    segments,
    math,
    reductions,
    linalg,
    einsum,
    matrices,
    clip,
    spectral,
)


def _public(module: ModuleType) -> dict[str, object]:
    return {k: v for k, v in vars(module).items() if not k.startswith("_")}


def namespace() -> SimpleNamespace:
    names: dict[str, object] = {t.name: t for t in types.ALL}
    for module in _MODULES:
        own = {k: v for k, v in _public(module).items() if getattr(v, "__module__", module.__name__) == module.__name__}
        names |= own
    tf = SimpleNamespace(**names)
    tf.newaxis = None
    tf.math = tf.bitwise = tf.spectral = tf
    matrix = {
        "adjoint": matrices.adjoint,
        "logdet": matrices.logdet,
        "slogdet": matrices.slogdet,
        "expm": matrices.expm,
    }
    tf.linalg = SimpleNamespace(**matrix)
    return tf
