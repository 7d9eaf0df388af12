"""``tf.autograph.to_graph`` and ``to_code`` with the arguments of 1.14 and 1.15."""

from __future__ import annotations

from typing import Any

from towerstrat.graph.autograph import api


def to_graph(
    entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None,
    experimental_optional_features: Any = None,
) -> Any:  # fmt: skip
    """The converted form of a function, without a check that a graph is being built.

    Args:
      entity, recursive, experimental_optional_features: as of ``tf.autograph.to_graph`` of 2.x.
      arg_values, arg_types: changes nothing: calls are converted by the values that they are made with.

    Raises:
      ValueError: it cannot be converted; the message says why.
    """
    return api.to_graph(entity, recursive, experimental_optional_features)


def to_code(
    entity: Any, recursive: bool = True, arg_values: Any = None, arg_types: Any = None, indentation: str = "  ",
    experimental_optional_features: Any = None,
) -> str:  # fmt: skip
    """The source of the converted form of a function.

    Args:
      entity, recursive, experimental_optional_features: as of ``tf.autograph.to_code`` of 2.x.
      arg_values, arg_types: changes nothing: calls are converted by the values that they are made with.
      indentation: changes nothing: the source is indented as Python writes it.

    Raises:
      ValueError: it cannot be converted; the message says why.
    """
    return api.to_code(entity, recursive, experimental_optional_features)
