"""``tf.einsum``: sums of products by named dimensions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from towerstrat.graph.ir import shapes
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.op_registry import Attrs, Signature, define_op
from towerstrat.graph.ir.shapes import Dims
from towerstrat.graph.ops.array.arrays import together
from towerstrat.graph.ops.building import numpy_kernels
from towerstrat.graph.ops.building.op_builder import add_op, reserve_name
from towerstrat.graph.ops.math.elementwise import check_kind

_OPTIMIZE = ("greedy", "optimal", "branch-2", "branch-all", "auto")


def _result(equation: str, operands: Sequence[Dims]) -> Dims:
    """The shape of the result for operands of these shapes; None stands for an unknown rank or size.

    Raises:
      ValueError: a rank does not fit its term, a label has two sizes (a size of 1 does not broadcast, but under an
        ellipsis), or dimensions under an ellipsis are missing in the result.
    """
    terms, result = equation.split("->")
    sizes: dict[str, int | None] = {}
    covered: Dims = ()
    for term, dims in zip(terms.split(","), operands, strict=True):
        before, ellipsis, after = term.partition("...")
        if dims is None:
            covered = None if ellipsis else covered
            continue
        named = len(before) + len(after)
        if len(dims) < named or (len(dims) > named and not ellipsis):
            least = "at least " if ellipsis else ""
            raise ValueError(
                f"Expected rank {least}{named} for '{term}' in {equation}, got {shapes.TensorShape(dims)}."
            )
        end = len(dims) - len(after)
        if ellipsis:
            covered = shapes.broadcast(covered, dims[len(before) : end])
        for label, dim in zip(before + after, dims[: len(before)] + dims[end:], strict=True):
            known = sizes.get(label)
            if None not in (known, dim) and known != dim:
                raise ValueError(f"Dimension '{label}' of {equation} is both {known} and {dim}.")
            sizes[label] = dim if known is None else known
    before, ellipsis, after = result.partition("...")
    if covered and not ellipsis:
        raise ValueError(
            f"The result of {equation} has no ellipsis for the dimensions {shapes.TensorShape(covered)} that those of "
            "the inputs stand for."
        )
    if ellipsis and covered is None:
        return None
    middle = covered if ellipsis and covered is not None else ()
    return (*(sizes.get(label) for label in before), *middle, *(sizes.get(label) for label in after))


def _rule(inputs: Sequence[Tensor], attrs: Attrs) -> list[Signature]:
    check_kind(inputs, "number")
    return [Signature(inputs[0].dtype, _result(attrs["equation"], [t.dims for t in inputs]))]


def _einsum(*xs: Any, equation: str, optimize: str) -> Any:
    _result(equation, [x.shape for x in xs])  # jnp and np would broadcast sizes of 1.
    return jnp.einsum(equation, *xs, optimize=optimize)


def _on_host(*xs: Any, equation: str, optimize: str) -> Any:
    _result(equation, [x.shape for x in xs])
    return np.einsum(equation, *xs, optimize="optimal" if optimize == "optimal" else "greedy")


define_op("Einsum", _rule, _einsum, numpy=numpy_kernels.form(_on_host), derivative="bilinear")


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """A sum of products by named dimensions: ``"ij,jk->ik"`` is the matrix product.

    A label that the result lacks is summed over; one that a term has twice takes the diagonal. An ellipsis stands for
    all dimensions that are not named, which are broadcast. Without ``->`` the result has the ellipsis, then the labels
    that occur once, in the order of their codes.

    Args:
      name: of the operation.
      optimize: how the order of more than two inputs is chosen: "greedy" (default), "optimal", "branch-2",
        "branch-all" or "auto".

    Raises:
      ValueError: the equation is not of that form, or does not fit the tensors.
    """
    name = kwargs.pop("name", None)
    optimize = kwargs.pop("optimize", "greedy")
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    if optimize not in _OPTIMIZE:
        raise ValueError(f"optimize must be one of {', '.join(_OPTIMIZE)}, got {optimize!r}.")
    complete = _complete(equation)
    expected = complete.count(",") + 1
    if expected != len(inputs):
        raise ValueError(f'Got {len(inputs)} arguments for equation "{equation}", expecting {expected}')
    name = reserve_name(get_default_graph(), name or "einsum")
    return add_op("Einsum", together(inputs, name), {"equation": complete, "optimize": optimize}, name)


def _complete(equation: str) -> str:
    """An equation without spaces, with its right side. Raises ValueError where it is not one."""
    equation = equation.replace(" ", "")
    match = re.match(r"^((?:[a-zA-Z,]|\.\.\.)*)(->(?:[a-zA-Z]|\.\.\.)*)?$", equation)
    if not match:
        raise ValueError(f"Indices have incorrect format: {equation}")
    left, right = match.groups()
    if any(term.count("...") > 1 for term in left.split(",")):
        raise ValueError(f"A term of {equation} has more than one ellipsis.")
    labels = left.replace(",", "").replace("...", "")
    if right is None:
        ellipsis = "..." if "..." in left else ""
        return f"{left}->{ellipsis}{''.join(sorted(c for c in set(labels) if labels.count(c) == 1))}"
    result = right[2:].replace("...", "", 1)
    if "." in result or len(set(result)) != len(result):
        raise ValueError(f"The result of {equation} has a label or an ellipsis more than once.")
    if set(result) - set(labels) or ("..." in right and "..." not in left):
        raise ValueError(f"Invalid equation: {equation} has labels in its result that no term has.")
    return left + right
