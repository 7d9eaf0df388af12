"""The public functions of array mathematics under the original's names, without the rest of the package."""

from types import ModuleType, SimpleNamespace

from towerstrat.graph.ir import tensor_conversion, types
from towerstrat.graph.ops.array import arrays, padding
from towerstrat.graph.ops.indexing import gather_scatter, histograms, segments, slicing
from towerstrat.graph.ops.linalg import decompositions, einsum, products
from towerstrat.graph.ops.math import arithmetic, fourier, reductions
from towerstrat.graph.ops.nn import clipping

_MODULES = (
    tensor_conversion,
    arrays,
    slicing,
    gather_scatter,
    histograms,
    padding,
    segments,
    arithmetic,
    reductions,
    products,
    einsum,
    decompositions,
    clipping,
    fourier,
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
        "adjoint": decompositions.adjoint,
        "logdet": decompositions.logdet,
        "slogdet": decompositions.slogdet,
        "expm": decompositions.expm,
    }
    tf.linalg = SimpleNamespace(**matrix)
    return tf
