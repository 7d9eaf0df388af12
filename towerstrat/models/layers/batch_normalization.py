"""Batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.eager.mode import executing_eagerly
from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.shapes import TensorShape, as_shape, size_at
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor
from towerstrat.graph.ir.types import as_dtype
from towerstrat.graph.ops.array import arrays
from towerstrat.graph.ops.math import arithmetic, reductions
from towerstrat.graph.ops.nn import misc
from towerstrat.graph.scopes.initializers import ones_initializer, zeros_initializer
from towerstrat.graph.variables.variables import VariableAggregation, VariableSynchronization
from towerstrat.models.layers import layer_arguments
from towerstrat.models.layers.layer import InputSpec, Layer
from towerstrat.models.layers.training_phase import choose, known
from towerstrat.platform import logs

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
      renorm: batch renormalization (https://arxiv.org/abs/1702.03275). While training, normalized values are
        multiplied by ``r = stddev / renorm_stddev`` and moved by ``d = (mean - renorm_mean) / renorm_stddev``, through
        which no gradient goes: so they are what inference will make of them.
      renorm_clipping: bounds of these corrections, a dict of ``rmin``, ``rmax`` and ``dmax``.
      renorm_momentum: of the statistics that renorm uses.
      virtual_batch_size: the batch is normalized in groups of so many examples, each by its own statistics (ghost
        batch normalization, https://arxiv.org/abs/1705.08741), in inference by the moving ones.
      adjustment: a function of the shape of the inputs (a tensor) that returns a scale and an offset for the normalized
        values, before gamma and beta; while training only.
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
        unknown = set(renorm_clipping or ()) - {"rmin", "rmax", "dmax"}
        if renorm and unknown:
            raise ValueError(f"renorm_clipping takes the keys rmin, rmax and dmax, got {sorted(unknown)}.")
        given = {n: value for n, value in locals().items() if n in _FUNCTIONS}
        super().__init__(trainable, name, **kwargs)
        self.axis: Any = list(axis) if isinstance(axis, list | tuple) else axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        for attribute, value in given.items():
            setattr(self, attribute, getattr(layer_arguments, attribute.rsplit("_", 1)[1])(value))
        self.fused = True if fused is None else fused
        self.renorm = renorm
        self.renorm_clipping = dict(renorm_clipping or {})
        self.renorm_momentum = renorm_momentum
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.supports_masking = True
        self.gamma: Any = None
        self.beta: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None
        self.renorm_mean: Any = None
        self.renorm_mean_weight: Any = None
        self.renorm_stddev: Any = None
        self.renorm_stddev_weight: Any = None

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
        self._check_groups()
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        plain = not self.renorm and self.virtual_batch_size is None and self.adjustment is None
        self.fused = bool(self.fused and plain and rank == 4 and self.axis in ([1], [3]))
        dims = list(sizes.values()) if len(sizes) == 1 else [sizes.get(i, 1) for i in range(rank)]
        if self.virtual_batch_size is not None:
            dims = [1, *(sizes.get(i, 1) for i in range(rank))]
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

    def _check_groups(self) -> None:
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError(
                "virtual_batch_size must be a positive integer that divides the true batch size of the input Tensor, "
                f"got {self.virtual_batch_size}."
            )
        if 0 in self.axis:
            raise ValueError(
                "When using virtual_batch_size, the batch dimension must be 0 and thus axis cannot include 0, got "
                f"{self.axis}."
            )
        if self.adjustment is not None:
            raise ValueError("When using virtual_batch_size, adjustment cannot be specified.")

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
                self._make_statistic(name, dims, kind, getattr(self, f"{name}_initializer"))
            if self.renorm:
                for name in ("renorm_mean", "renorm_stddev"):
                    self._make_statistic(name, dims, kind, zeros_initializer())
                    self._make_statistic(f"{name}_weight", (), kind, zeros_initializer())
        finally:
            if scope is not None:
                scope.set_partitioner(partitioner)

    def _make_statistic(self, name: str, dims: Any, kind: Any, initializer: Any) -> None:
        made = self.add_weight(
            name,
            shape=dims,
            dtype=kind,
            initializer=initializer,
            synchronization=VariableSynchronization.ON_READ,
            trainable=False,
            aggregation=VariableAggregation.MEAN,
        )
        setattr(self, name, made)

    def call(self, inputs: Any, training: Any = False) -> Any:
        inputs = convert_to_tensor(inputs)
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._by_parts(inputs, training)
        shape = arrays.shape(inputs)
        groups = arrays.reshape(inputs, arrays.concat([[self.virtual_batch_size, -1], shape[1:]], 0))
        groups.set_shape([self.virtual_batch_size, None, *inputs.shape[1:]])
        outputs = arrays.reshape(self._by_parts(groups, training), shape)
        outputs.set_shape(inputs.shape)
        return outputs

    # ---- by one operation ------------------------------------------------------------------------------------

    def _fused(self, inputs: Any, training: Any) -> Any:
        scale = self.gamma if self.scale else constant(1.0, self.moving_mean.dtype, self.moving_mean.shape)
        offset = self.beta if self.center else constant(0.0, self.moving_mean.dtype, self.moving_mean.shape)
        layout = "NCHW" if self.axis == [1] else "NHWC"

        def by_batch() -> Any:
            return misc.fused_batch_norm(inputs, scale, offset, epsilon=self.epsilon, data_format=layout)

        def by_moving() -> Any:
            return misc.fused_batch_norm(
                inputs, scale, offset, self.moving_mean, self.moving_variance, self.epsilon, layout, is_training=False
            )

        outputs, mean, variance = choose(training, by_batch, by_moving)
        if known(training) is not False:
            for moving, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                value = self._unless_empty(inputs, value, moving)
                self.add_update(_followed(moving, value, self.momentum, training), inputs=inputs)
        return outputs

    # ---- by parts --------------------------------------------------------------------------------------------

    def _by_parts(self, inputs: Any, training: Any) -> Any:
        rank = inputs.shape.ndims
        groups = () if self.virtual_batch_size is None else (1,)
        kept = (*groups, *(axis + len(groups) for axis in self.axis))
        reduced = [i for i in range(rank) if i not in kept]
        mean, variance = self.moving_mean, self.moving_variance
        scale, offset = (self._shaped(v, reduced, inputs.shape) for v in (self.gamma, self.beta))
        if known(training) is not False:
            if self.adjustment is not None:
                more, further = self.adjustment(arrays.shape(inputs))
                more = choose(training, lambda: more, lambda: arrays.ones_like(more))
                further = choose(training, lambda: further, lambda: arrays.zeros_like(further))
                scale, offset = _composed(more, further, scale, offset)
            (mean, variance), new = self._statistics(inputs, reduced, training)
            if self.renorm:
                r, d, new = self._renormalized(new, inputs, training)
                r, d = (self._shaped(v, reduced, inputs.shape) for v in (r, d))
                scale, offset = _composed(r, d, scale, offset)
            if self.trainable or not executing_eagerly():
                for moving, value in zip((self.moving_mean, self.moving_variance), new, strict=True):
                    value = self._unless_empty(inputs, value, moving)
                    self.add_update(_followed(moving, value, self.momentum, training), inputs=inputs)
        mean, variance = (self._shaped(v, reduced, inputs.shape) for v in (mean, variance))
        mean, variance, offset, scale = (
            None if v is None else arithmetic.cast(v, inputs.dtype) for v in (mean, variance, offset, scale)
        )
        outputs = misc.batch_normalization(inputs, mean, variance, offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _statistics(self, inputs: Any, reduced: list[int], training: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        """Mean and variance that normalize, and those that the moving ones follow."""
        grouped = self.virtual_batch_size is not None
        moving = (self.moving_mean, self.moving_variance)
        used: Any = misc.moments(inputs, reduced, keep_dims=grouped or len(self.axis) > 1)
        if not grouped:
            used = [self._unless_empty(inputs, u, m) for u, m in zip(used, moving, strict=True)]
        used = [arithmetic.cast(u, m.dtype) for u, m in zip(used, moving, strict=True)]
        if known(training) is None:
            batch = used
            used = choose(
                training,
                lambda: [arrays.identity(u) for u in batch],
                lambda: [m + arrays.zeros_like(u) for u, m in zip(batch, moving, strict=True)],
            )
        if not grouped:
            return used, used
        means = [reductions.reduce_mean(u, 1, keepdims=True) for u in used]
        return used, [self._unless_empty(inputs, v, m) for v, m in zip(means, moving, strict=True)]

    def _renormalized(self, moments: Sequence[Any], inputs: Any, training: Any) -> tuple[Any, Any, Sequence[Any]]:
        """Corrections of scale and offset, and (mean, variance) that the moving ones follow.

        Both corrections are made of the statistics that the batches before have left, mixed with the batch's while
        these are few.
        """
        mean, variance = moments
        stddev = arithmetic.sqrt(variance + self.epsilon)
        mixed_mean = self.renorm_mean + (1.0 - self.renorm_mean_weight) * mean
        mixed_stddev = self.renorm_stddev + (1.0 - self.renorm_stddev_weight) * stddev
        r, d = stddev / mixed_stddev, (mean - mixed_mean) / mixed_stddev
        rmin, rmax, dmax = (self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax"))
        r = r if rmin is None else arithmetic.maximum(r, rmin)
        r = r if rmax is None else arithmetic.minimum(r, rmax)
        d = d if dmax is None else arithmetic.minimum(arithmetic.maximum(d, -dmax), dmax)
        r = choose(training, lambda: r, lambda: arrays.ones_like(r))
        d = choose(training, lambda: d, lambda: arrays.zeros_like(d))
        new_mean = self._follow_renorm(self.renorm_mean, self.renorm_mean_weight, mean, inputs, training)
        new_stddev = self._follow_renorm(self.renorm_stddev, self.renorm_stddev_weight, stddev, inputs, training)
        new_variance = arithmetic.square(new_stddev) - self.epsilon
        r, d = arrays.stop_gradient(r, name="renorm_r"), arrays.stop_gradient(d, name="renorm_d")
        return r, d, (new_mean, new_variance)

    def _follow_renorm(self, moving: Any, weight: Any, value: Any, inputs: Any, training: Any) -> Any:
        """Moves a statistic of renorm and its weight; returns the statistic without the bias to its first value, 0."""
        value = self._unless_empty(inputs, value, moving)
        one = self._unless_empty(inputs, constant(1.0, weight.dtype), weight)
        total = _followed(moving, value, self.renorm_momentum, training)
        share = _followed(weight, one, self.renorm_momentum, training)
        return choose(training, lambda: total / share, lambda: arrays.identity(moving))

    def _shaped(self, value: Any, reduced: list[int], shape: TensorShape) -> Any:
        """A statistic or parameter (or None) in a form that broadcasts to inputs of this shape."""
        rank = len(shape)
        if value is None or value.shape.ndims == rank or reduced == list(range(rank - 1)):
            return value
        dims: list[int | None] = [1] * rank
        dims[self.axis[0]] = size_at(shape, self.axis[0])
        return arrays.reshape(value, dims)

    def _unless_empty(self, inputs: Any, value: Any, otherwise: Any) -> Any:
        """``value``, or ``otherwise`` where the batch turns out to be empty."""
        if inputs.shape.num_elements():
            return value
        return arrays.where(arithmetic.greater(arrays.size(inputs), 0), value, arithmetic.cast(otherwise, value.dtype))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return as_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
        names = ["axis", "momentum", "epsilon", "center", "scale"]
        if self.renorm:
            names += ["renorm", "renorm_clipping", "renorm_momentum"]
        if self.virtual_batch_size is not None:
            names.append("virtual_batch_size")
        if self.adjustment is not None:
            logs.warning("The adjustment of layer %s is a function, and is left out of its config.", self.name)
        plain = {n: getattr(self, n) for n in names}
        return super().get_config() | plain | {n: layer_arguments.described(getattr(self, n)) for n in _FUNCTIONS}


def _composed(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """Scale and offset of ``(x * scale + offset) * then_scale + then_offset``; None for no further one."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    return scale, offset if then_offset is None else offset + then_offset


def _followed(variable: Any, value: Any, momentum: float, training: Any) -> Any:
    """A moving statistic after it has moved towards a batch's; where the program is not training it stays."""
    with get_default_graph().name_scope("AssignMovingAvg") as scope:
        decay = choose(training, lambda: constant(1.0 - momentum, name="decay"), lambda: constant(0.0))
        step = (variable - arithmetic.cast(value, variable.dtype)) * arithmetic.cast(decay, variable.dtype)
        return variable.assign_sub(step, name=scope)


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
