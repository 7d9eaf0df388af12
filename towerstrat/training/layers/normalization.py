"""Batch normalization."""

from __future__ import annotations

from typing import Any

from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.convert import constant, convert_to_tensor
from towerstrat.graph.ir.core import get_default_graph
from towerstrat.graph.ir.shapes import TensorShape, as_shape, size_at
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops import array, math, nn
from towerstrat.graph.scopes.initializers import ones_initializer, zeros_initializer
from towerstrat.graph.variables.variables import VariableAggregation, VariableSynchronization
from towerstrat.training.layers import identifiers
from towerstrat.training.layers.base import InputSpec, Layer
from towerstrat.training.layers.training import choose, known

_FUNCTIONS = ("beta_initializer", "gamma_initializer", "moving_mean_initializer", "moving_variance_initializer",
              "beta_regularizer", "gamma_regularizer", "beta_constraint", "gamma_constraint")  # fmt: skip


class BatchNormalization(Layer):
    """``(inputs - mean) / sqrt(variance + epsilon) * gamma + beta``, per index along ``axis``.

    While training, mean and variance are the batch's, and the moving ones follow them by operations in
    ``GraphKeys.UPDATE_OPS``, which the training step has to run; else they are the moving ones. An empty batch leaves
    the moving ones as they are. Under a strategy each tower keeps moving ones of its own; read outside, they are the
    mean over the towers.

    Args:
      axis: the dimension (or dimensions) that keeps its statistics apart.
      momentum: of the moving statistics.
      epsilon: added to the variance.
      center, scale: whether there is a beta, a gamma.
      beta_initializer, ...: functions, or None.
      fused: None or True computes four-dimensional inputs by one operation, whose moving variance is the unbiased one.
      renorm, virtual_batch_size, adjustment: not supported.
    """

    def __init__(
        self, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
        beta_initializer: Any = zeros_initializer(), gamma_initializer: Any = ones_initializer(),
        moving_mean_initializer: Any = zeros_initializer(), moving_variance_initializer: Any = ones_initializer(),
        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
        gamma_constraint: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: float = 0.99,
        fused: bool | None = None, trainable: bool = True, virtual_batch_size: int | None = None,
        adjustment: Any = None, name: str | None = None, **kwargs: Any,
    ):  # fmt: skip
        for argument, value in (
            ("renorm", renorm),
            ("virtual_batch_size", virtual_batch_size),
            ("adjustment", adjustment),
        ):
            if value:
                raise UnsupportedError(
                    f"BatchNormalization({argument}={value!r}) is not supported; leave it out (plain normalization)."
                )
        given = {n: value for n, value in locals().items() if n in _FUNCTIONS}
        super().__init__(trainable, name, **kwargs)
        self.axis: Any = list(axis) if isinstance(axis, list | tuple) else axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        for attribute, value in given.items():
            setattr(self, attribute, getattr(identifiers, attribute.rsplit("_", 1)[1])(value))
        self.fused = True if fused is None else fused
        self.renorm = False
        self.virtual_batch_size = None
        self.adjustment = None
        self.supports_masking = True
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: Any) -> None:
        shape = as_shape(input_shape)
        if not shape.ndims:
            raise ValueError(
                f"Batch normalization needs inputs of known rank above 0, got {shape} (layer {self.name})."
            )
        rank = shape.ndims
        self.axis = self._axes(rank)
        sizes = {axis: size_at(shape, axis) for axis in self.axis}
        if None in sizes.values():
            raise ValueError(
                f"Dimensions {self.axis} of the inputs must be known, got {shape} (layer {self.name}). Use set_shape."
            )
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        self.fused = bool(self.fused and rank == 4 and self.axis in ([1], [3]))
        dims = list(sizes.values()) if len(sizes) == 1 else [sizes.get(i, 1) for i in range(rank)]
        kind = as_dtype(self.dtype or "float32")
        kind = as_dtype("float32") if kind.name in ("float16", "bfloat16") else kind
        if self.scale:
            self.gamma = self._parameter("gamma", dims, kind)
        if self.center:
            self.beta = self._parameter("beta", dims, kind)
        self._make_moving(dims, kind)
        self.built = True

    def _axes(self, rank: int) -> list[int]:
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        if not isinstance(axes, list) or not all(isinstance(a, int) for a in axes):
            raise TypeError(f"axis must be int or list of ints, got {self.axis!r}.")
        found = [a + rank if a < 0 else a for a in axes]
        if any(a < 0 or a >= rank for a in found):
            raise ValueError(f"Invalid axis: {self.axis} for inputs of rank {rank}.")
        if len(set(found)) != len(found):
            raise ValueError(f"Duplicate axis: {self.axis}.")
        return found

    def _parameter(self, name: str, dims: Any, kind: Any) -> Any:
        return self.add_weight(
            name,
            shape=dims,
            dtype=kind,
            initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"),
            trainable=True,
        )

    def _make_moving(self, dims: Any, kind: Any) -> None:
        """The moving statistics: one per tower, whole even where other variables are partitioned."""
        scope = self._scope
        partitioner = None if scope is None else scope.partitioner
        if scope is not None:
            scope.set_partitioner(None)
        try:
            for name in ("moving_mean", "moving_variance"):
                made = self.add_weight(
                    name,
                    shape=dims,
                    dtype=kind,
                    initializer=getattr(self, f"{name}_initializer"),
                    synchronization=VariableSynchronization.ON_READ,
                    trainable=False,
                    aggregation=VariableAggregation.MEAN,
                )
                setattr(self, name, made)
        finally:
            if scope is not None:
                scope.set_partitioner(partitioner)

    def call(self, inputs: Any, training: Any = False) -> Any:
        inputs = convert_to_tensor(inputs)
        return self._fused(inputs, training) if self.fused else self._by_parts(inputs, training)

    # ---- by one operation ------------------------------------------------------------------------------------

    def _fused(self, inputs: Any, training: Any) -> Any:
        scale = self.gamma if self.scale else constant(1.0, self.moving_mean.dtype, self.moving_mean.shape)
        offset = self.beta if self.center else constant(0.0, self.moving_mean.dtype, self.moving_mean.shape)
        layout = "NCHW" if self.axis == [1] else "NHWC"

        def by_batch() -> Any:
            return nn.fused_batch_norm(inputs, scale, offset, epsilon=self.epsilon, data_format=layout)

        def by_moving() -> Any:
            return nn.fused_batch_norm(
                inputs, scale, offset, self.moving_mean, self.moving_variance, self.epsilon, layout, is_training=False
            )

        outputs, mean, variance = choose(training, by_batch, by_moving)
        static = known(training)
        if static is not False:
            momentum = (
                self.momentum if static else choose(training, lambda: constant(self.momentum), lambda: constant(1.0))
            )
            for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                self._follow(moving, self._unless_empty(inputs, value, moving), momentum, inputs)
        return outputs

    # ---- by parts --------------------------------------------------------------------------------------------

    def _by_parts(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        reduced = [i for i in range(rank) if i not in self.axis]
        static = known(training)
        if static is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            moving = (self.moving_mean, self.moving_variance)
            of_batch = nn.moments(inputs, reduced, keep_dims=len(self.axis) > 1)
            used = [self._unless_empty(inputs, b, m) for b, m in zip(of_batch, moving, strict=True)]
            if static is None:
                used = choose(
                    training,
                    lambda: [math.cast(u, m.dtype) for u, m in zip(used, moving, strict=True)],
                    lambda: [array.identity(m) for m in moving],
                )
            mean, variance = used
            self._follow(self.moving_mean, mean, self.momentum, inputs)
            self._follow(self.moving_variance, variance, self.momentum, inputs)
        mean, variance, offset, scale = (
            self._shaped(v, reduced, inputs) for v in (mean, variance, self.beta, self.gamma)
        )
        outputs = nn.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _shaped(self, value: Any, reduced: list[int], inputs: Any) -> Any:
        """A statistic or parameter, of the inputs' type, in a shape that broadcasts to theirs."""
        if value is None:
            return None
        rank = inputs.shape.ndims
        value = math.cast(value, inputs.dtype)
        if value.shape.ndims == rank or reduced == list(range(rank - 1)):
            return value
        dims: list[int | None] = [1] * rank
        dims[self.axis[0]] = size_at(inputs.shape, self.axis[0])
        return array.reshape(value, dims)

    def _unless_empty(self, inputs: Any, value: Any, otherwise: Any) -> Any:
        """``value``, or ``otherwise`` where the batch turns out to be empty."""
        if inputs.shape.num_elements():
            return value
        return array.where(math.greater(array.size(inputs), 0), value, math.cast(otherwise, value.dtype))

    def _follow(self, variable: Any, value: Any, momentum: Any, inputs: Any) -> None:
        """Moves a moving statistic towards the batch's, by an update."""
        with get_default_graph().name_scope("AssignMovingAvg") as scope:
            decay = math.cast(convert_to_tensor(1.0 - momentum, name="decay"), variable.dtype)
            step = math.multiply(math.subtract(variable, math.cast(value, variable.dtype)), decay)
            update = variable.assign_sub(step, name=scope)
        self.add_update(update, inputs=inputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        plain = {n: getattr(self, n) for n in ("axis", "momentum", "epsilon", "center", "scale")}
        return super().get_config() | plain | {n: identifiers.described(getattr(self, n)) for n in _FUNCTIONS}


def batch_normalization(
    inputs: Any, axis: Any = -1, momentum: float = 0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True,
    beta_initializer: Any = zeros_initializer(), gamma_initializer: Any = ones_initializer(),
    moving_mean_initializer: Any = zeros_initializer(), moving_variance_initializer: Any = ones_initializer(),
    beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
    gamma_constraint: Any = None, training: Any = False, trainable: bool = True, name: str | None = None,
    reuse: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: float = 0.99,
    fused: bool | None = None, virtual_batch_size: int | None = None, adjustment: Any = None,
) -> Any:  # fmt: skip
    """The output of a ``BatchNormalization`` layer; ``training`` is a bool or a scalar bool tensor.

    The moving statistics are updated by operations in ``GraphKeys.UPDATE_OPS``: run them with each training step.
    """
    given = dict(locals())
    inputs, training, reuse = (given.pop(n) for n in ("inputs", "training", "reuse"))
    return BatchNormalization(**given, _reuse=reuse, _scope=name).apply(inputs, training=training)
