"""The ``jax.vjp`` that an evaluation is inside of: with respect to what, and how deep.

Operations on a gradient's path, and whole bodies of branches and loops, are functions that ``jax.vjp`` traces. In there
an evaluation goes otherwise: values count as varying along an axis, state that is written is an auxiliary output, and
reads of a variable are tied to the primal that takes their cotangents.

>>> scope = VjpScope()
>>> inner = scope.fork()
>>> inner.enter({})
>>> scope.active, inner.active, inner.nested
(False, True, False)
>>> again = inner.fork()
>>> again.enter({})
>>> again.nested                    # a derivative of a derivative: rules have to be differentiable themselves
True
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ir.state import StateVariable
from towerstrat.graph.ir.types import Array
from towerstrat.graph.lowering.row_cotangents import Lookups


class VjpScope:
    """The derivative that an evaluation is part of, if any. A fork of the evaluation begins in the same one.

    Attributes:
      active: inside an operation's ``jax.vjp``. Along an axis every value then counts as varying, and state that is
        written is discarded.
      nested: inside a ``jax.vjp`` in another: what is made there needs derivatives of any order.
      variables: state variable -> the primal that gets the cotangents of all its reads, whatever wrote the values that
        they read.
      independent: tensors that the derivative is with respect to: their operations do not overwrite them.
      lookups: inside a differentiated branch or loop, the lookups whose cotangents stay sparse; else None.
    """

    def __init__(self) -> None:
        self.active = False
        self.nested = False
        self.variables: dict[StateVariable, Array] = {}
        self.independent: frozenset[Tensor] = frozenset()
        self.lookups: Lookups | None = None

    def fork(self) -> VjpScope:
        """The scope of an evaluation inside of this one's."""
        scope = VjpScope()
        scope.active, scope.nested = self.active, self.nested
        scope.variables = dict(self.variables)
        scope.independent = self.independent
        scope.lookups = None if self.lookups is None else self.lookups.region()
        return scope

    def enter(self, variables: Mapping[StateVariable, Array], independent: Iterable[Tensor] | None = None) -> None:
        """Begin a ``jax.vjp`` with primals for variables; ``independent`` replaces the tensors, where it is given."""
        self.nested = self.active
        self.active = True
        self.variables |= variables
        if independent is not None:
            self.independent = frozenset(independent)
