"""``TPUEstimator``: trains by step loops on all devices, evaluates and predicts on them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from towerstrat.compat.estimator.tpu.host_calls import FetchHook, FinishBeforeSaves, HostCallHook, called
from towerstrat.compat.estimator.tpu.input_modes import PER_HOST_V2, Marked, divided, divided_among_hosts, pipeline_of
from towerstrat.compat.estimator.tpu.package_modules import Base, loaded
from towerstrat.compat.estimator.tpu.placement import EVAL, PREDICT, TRAIN, Placement, TPUContext
from towerstrat.compat.estimator.tpu.row_weights import Rows
from towerstrat.compat.estimator.tpu.tpu_hooks import ExamplesPerSecondHook, TimedStopAtStepHook
from towerstrat.compat.estimator.tpu.training_loop import Trained, trained
from towerstrat.compat.utilities.inspection import fn_args
from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import make_initializable_iterator
from towerstrat.data.iterators.collective_reads import ALIKE, are_surely_alike
from towerstrat.data.iterators.session_iterators import Iterator as DataIterator
from towerstrat.data.pipeline.nodes import DatasetNode
from towerstrat.errors import UnsupportedError
from towerstrat.graph.ir.default_graph import control_dependencies
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array.arrays import identity
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.towers.engine.batch_splitting import share_of
from towerstrat.towers.shards.shard_tracing import inside
from towerstrat.training.base.global_step import get_global_step
from towerstrat.training.base.hparams import HParams
from towerstrat.training.hooks.checkpoint_saver import CheckpointSaverHook
from towerstrat.training.hooks.logging_tensor import LoggingTensorHook
from towerstrat.training.hooks.session_run_hook import SessionRunHook
from towerstrat.training.hooks.stop_at_step import MultiStepStopAtStepHook

_RESERVED = ["batch_size", "context"]


class TPUEstimator(Base):
    """An estimator that trains on all devices of the machine, a tower on each, many steps in one device program.

    The model function describes one tower: it gets its part of the batch, whose size is ``params["batch_size"]``.

    Args:
      model_fn: returns a ``TPUEstimatorSpec``, or an ``EstimatorSpec`` where it is not evaluated on towers.
      model_dir: where checkpoints and events are.
      config: a ``tpu.RunConfig``; its ``tpu_config`` says how many steps a loop makes, and how input is divided.
      params: hyperparameters, for the model and the input functions.
      use_tpu: False: as another estimator, on one device, the batch as a whole.
      train_batch_size, eval_batch_size, predict_batch_size: of all towers together.
      batch_axis: along which dimension each component of an input is divided; default the first.
      eval_on_tpu: whether evaluations use towers.
      export_to_tpu: changes nothing: nothing is exported yet.
      export_to_cpu: changes nothing: nothing is exported yet.
      warm_start_from: a checkpoint, or ``WarmStartSettings``.
      embedding_config_spec: refused.

    Raises:
      ValueError: no ``tpu.RunConfig``, reserved names in ``params``, batch sizes that cannot be divided, more towers
        than devices. UnsupportedError: ``embedding_config_spec``.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Mapping[str, Any] | None = None,
        use_tpu: bool = True,
        train_batch_size: int | None = None,
        eval_batch_size: int | None = None,
        predict_batch_size: int | None = None,
        batch_axis: Sequence[int] | None = None,
        eval_on_tpu: bool = True,
        export_to_tpu: bool = True,
        warm_start_from: Any = None,
        export_to_cpu: bool = True,
        embedding_config_spec: Any = None,
    ):
        if config is None or not isinstance(config, loaded("tpu.tpu_config").RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(key in params for key in _RESERVED):
            raise ValueError(f"{_RESERVED} are reserved keys but existed in params {params}.")
        if embedding_config_spec is not None:
            raise UnsupportedError(
                "TPUEstimator(embedding_config_spec=...): there are no TPU embedding tables; in the model function use "
                "tf.nn.embedding_lookup."
            )
        if config.tpu_config.experimental_feed_hook is not None:
            raise UnsupportedError(
                "TPUConfig(experimental_feed_hook=...): there is no infeed; elements enter the step loop by themselves."
            )
        sizes = {TRAIN: train_batch_size, EVAL: eval_batch_size, PREDICT: predict_batch_size}
        if use_tpu:
            if train_batch_size is None:
                raise ValueError("`train_batch_size` cannot be `None`")
            for mode, name in ((TRAIN, "train_batch_size"), (EVAL, "eval_batch_size"), (PREDICT, "predict_batch_size")):
                if sizes[mode] is not None:
                    loaded("tpu.util").check_positive_integer(sizes[mode], name)
        loaded("estimator")._verify_model_fn_args(model_fn, params)
        self._user_model_fn = model_fn
        self._batch_axis = batch_axis
        self._given_input = False
        # The hooks of the package count one step per run; this class adds its own.
        self._log_every_n_steps = config.log_step_count_steps
        super().__init__(
            model_fn=self._on_towers_or_not, model_dir=model_dir, config=config.replace(log_step_count_steps=None),
            params=params or {}, warm_start_from=warm_start_from,
        )  # fmt: skip
        self._placement = Placement(self._config, sizes, use_tpu, eval_on_tpu)

    # ---- what the package's estimator asks for ----------------------------------------------------------------

    def _convert_train_steps_to_hooks(self, steps: int | None, max_steps: int | None) -> list[SessionRunHook]:
        if not self._placement.on_towers(TRAIN):
            return list(super()._convert_train_steps_to_hooks(steps, max_steps))
        if steps is None and max_steps is None:
            raise ValueError("For TPU training, one of `steps` or `max_steps` must be set. Cannot be both `None`.")
        for value, name in ((steps, "Train steps"), (max_steps, "Train max_steps")):
            if value is not None:
                loaded("tpu.util").check_positive_integer(value, name)
        loop = loaded("tpu.util").parse_iterations_per_loop(self._config.tpu_config.iterations_per_loop)
        if loop.unit == "seconds":
            return [TimedStopAtStepHook(steps, max_steps, loop.value)]
        return [MultiStepStopAtStepHook(steps, max_steps, loop.value)]

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: str, input_context: Any = None) -> Any:
        """What the input function returns; where towers are used a function of ``params["context"]`` that does."""
        takes = fn_args(input_fn)
        if "params" not in takes:
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by TPUEstimator to pass batch size "
                'as params["batch_size"]'
            )
        given: dict[str, Any] = {"params": self.params}
        if "config" in takes:
            given["config"] = self.config
        if "mode" in takes:
            given["mode"] = mode
        self._given_input = True
        size = self._placement.input_batch(mode)
        if size is not None:
            _set(given["params"], "batch_size", size)
        if not self._placement.on_towers(mode):
            return input_fn(**given)

        def call(context: TPUContext) -> Any:
            params = copy.deepcopy(given["params"])
            _set(params, "context", context)
            return input_fn(**{**given, "params": params})

        return call

    def _validate_features_in_predict_input(self, result: Any) -> None:
        """Input is checked where its pipeline is made."""

    def _on_towers_or_not(self, features: Any, labels: Any, mode: str, config: Any, params: Any) -> Any:
        """The model function of the package's estimator; ``features`` may be what ``_call_input_fn`` gave."""
        exporting, self._given_input = not self._given_input, False
        size = self._placement.sizes[mode]
        examples = None
        if size is not None and self._log_every_n_steps is not None:
            examples = ExamplesPerSecondHook(size, self._log_every_n_steps, output_dir=self.model_dir)
        if exporting or not self._placement.on_towers(mode):
            logs.info("Running %s on CPU", mode)
            spec = self._call_user(features, labels, mode, config, params, exporting)
            spec = spec.as_estimator_spec() if isinstance(spec, loaded("model_fn")._TPUEstimatorSpec) else spec
            hooks = (*spec.training_hooks, *([] if examples is None else [examples]))
            return spec._replace(training_hooks=hooks)
        towers = self._placement.towers
        logs.info("Running %s on %d tower%s", mode, towers, "" if towers == 1 else "s")
        node = self._pipeline(features, mode)
        if mode == TRAIN:
            return self._train(node, config, params, examples)
        return self._evaluate(node, config, params) if mode == EVAL else self._predict(node, config, params)

    # ---- the modes on towers ----------------------------------------------------------------------------------

    def _pipeline(self, call: Callable[[TPUContext], Any], mode: str) -> DatasetNode:
        """The elements that towers take: with a part for each where there are several."""
        placement = self._placement
        axis, apart = placement.axis, placement.apart(mode)
        calls = range(placement.towers) if placement.per_call(mode) else [PROCESSES.index if apart else 0]
        nodes = [pipeline_of(call(TPUContext(placement, mode, i))) for i in calls]
        node = nodes[0]
        alike = apart and len(nodes) == 1 and are_surely_alike(node)
        share = None if axis is None or placement.towers == 1 else share_of(axis, apart and not alike)
        if share is not None:
            assert axis is not None
            if alike:
                logs.info(ALIKE, PROCESSES.count)
                node = divided_among_hosts(
                    node, placement.input_mode, axis, self._batch_axis, mode == TRAIN, placement.hosts(mode)
                )
            else:
                if apart and len(nodes) > 1:
                    nodes = [nodes[i] for i in axis.local_indices]
                node = divided(nodes, placement.input_mode, share, self._batch_axis, mode == TRAIN, apart)
        if mode == PREDICT or (mode == EVAL and share is not None):
            whole = mode == PREDICT or (
                placement.input_mode == PER_HOST_V2
                and all(d is not None and None not in d for d in node.structure.dims)
            )
            rows = placement.model_batch(mode) if whole else None
            node = Marked(node, share, rows)
        return node

    def _iterator(self, node: DatasetNode) -> DataIterator:
        iterator: DataIterator = make_initializable_iterator(Dataset._made(node))
        return iterator

    def _train(self, node: DatasetNode, config: Any, params: Any, examples: ExamplesPerSecondHook | None) -> Any:
        iterator = self._iterator(node)

        def model(features: Any, labels: Any) -> Any:
            return _checked_spec(self._call_user(features, labels, TRAIN, config, params))

        made = trained(self._placement.axis, iterator, model)
        hooks: list[SessionRunHook] = [loaded("util")._DatasetInitializerHook(iterator)]
        chief = self._host_call(made)
        listeners = [FinishBeforeSaves(hook) for hook in chief]
        scaffold = _scaffold(made.spec)
        loop = loaded("tpu.util").parse_iterations_per_loop(config.tpu_config.iterations_per_loop)
        each = loop.value if loop.unit == "count" else 1
        every = self._log_every_n_steps
        if every is not None:
            with control_dependencies([made.loss]):
                step = identity(get_global_step())
            values = {"loss": identity(made.loss), "step": step}
            hooks.append(LoggingTensorHook(values, every_n_iter=-(-every // each)))
        if examples is not None:
            examples._set_steps_per_run(each)
            hooks.append(examples)
        hooks.extend(made.spec.training_hooks)
        if config.save_checkpoints_secs or config.save_checkpoints_steps:
            saver = CheckpointSaverHook(
                self.model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps,
                scaffold=scaffold, listeners=listeners,
            )  # fmt: skip
            saver._set_steps_per_run(each)
            chief.append(saver)
        return loaded("model_fn").EstimatorSpec(
            TRAIN, loss=made.loss, train_op=made.train_op, training_chief_hooks=chief, training_hooks=hooks,
            scaffold=scaffold,
        )  # fmt: skip

    def _host_call(self, made: Trained) -> list[Any]:
        if made.host_call is None:
            return []
        function, tensors = made.host_call
        fetches = called("host_call", function, tensors)
        every = self._config.tpu_config.experimental_host_call_every_n_steps
        return [HostCallHook(made.stacks, made.holders, fetches, every)]

    def _evaluate(self, node: DatasetNode, config: Any, params: Any) -> Any:
        spec, rows, iterator = self._one_step(node, EVAL, config, params)
        if not isinstance(spec, loaded("model_fn")._TPUEstimatorSpec):
            raise RuntimeError(
                f"estimator_spec used by TPU evaluation must have type`TPUEstimatorSpec`. Got {type(spec)}"
            )
        metrics = None
        if spec.eval_metrics is not None:
            function, tensors = spec.eval_metrics
            metrics = called("eval_metrics", function, _mapped(rows.together, tensors))
        return loaded("model_fn").EstimatorSpec(
            EVAL, loss=rows.mean(spec.loss), eval_metric_ops=metrics, scaffold=_scaffold(spec),
            evaluation_hooks=(*_each_run(spec, rows, iterator), *spec.evaluation_hooks),
        )  # fmt: skip

    def _predict(self, node: DatasetNode, config: Any, params: Any) -> Any:
        spec, rows, iterator = self._one_step(node, PREDICT, config, params)
        if not isinstance(spec, loaded("model_fn")._TPUEstimatorSpec):
            raise RuntimeError(
                f"estimator_spec used by TPU prediction must have type`TPUEstimatorSpec`. Got {type(spec)}"
            )
        if not isinstance(spec.predictions, dict):
            raise TypeError("TPUEstimatorSpec.predictions must be dict of Tensors.")
        return loaded("model_fn").EstimatorSpec(
            PREDICT, predictions={key: rows.together(tensor) for key, tensor in spec.predictions.items()},
            scaffold=_scaffold(spec),
            prediction_hooks=(*_each_run(spec, rows, iterator), *spec.prediction_hooks),
        )  # fmt: skip

    def _one_step(self, node: DatasetNode, mode: str, config: Any, params: Any) -> tuple[Any, Rows, DataIterator]:
        """A model on the next element: (its spec, the rows that towers have, the iterator)."""
        axis = self._placement.axis if self._placement.towers > 1 else None
        iterator = self._iterator(node)
        components = iterator.components(axis)
        element = iterator.structure.pack(components)
        marked = isinstance(node, Marked)
        (value, numbers) = element if marked else (element, None)
        with inside(axis, self._placement.towers):
            spec = self._call_user(*_features_and_labels(value), mode, config, params)
        rows = node.size if isinstance(node, Marked) else None
        return spec, Rows(axis, numbers, rows), iterator

    def _call_user(
        self, features: Any, labels: Any, mode: str, config: Any, params: Any, exporting: bool = False
    ) -> Any:
        """The model function's spec."""
        function = self._user_model_fn
        takes = fn_args(function)
        if "params" not in takes:
            raise ValueError(
                f"model_fn ({function}) does not include params argument, required by TPUEstimator to pass batch size "
                "as params['batch_size']"
            )
        _check_given("features", features)
        if labels is not None:
            _check_given("labels", labels)
        given: dict[str, Any] = {"params": copy.deepcopy(params)}
        if "labels" in takes:
            given["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        if "mode" in takes:
            given["mode"] = mode
        if "config" in takes:
            given["config"] = copy.deepcopy(config)
        on = not exporting and self._placement.on_towers(mode)
        size = None if exporting else self._placement.model_batch(mode)
        if size is not None:
            _set(given["params"], "batch_size", size)
        _set(given["params"], "use_tpu", on)
        if on:
            _set(given["params"], "context", TPUContext(self._placement, mode))
        assert function is not None
        return function(features=features, **given)


def _set(params: Any, key: str, value: Any) -> None:
    """Sets a hyperparameter, of a dictionary or of ``HParams``."""
    if not isinstance(params, HParams):
        params[key] = value
    elif key in params:
        params.set_hparam(key, value)
    else:
        params.add_hparam(key, value)


def _features_and_labels(value: Any) -> tuple[Any, Any]:
    """What an element has: a pair, or features alone."""
    return value if isinstance(value, tuple) and len(value) == 2 else (value, None)


def _check_given(name: str, value: Any) -> None:
    if not isinstance(value, Tensor | Mapping):
        raise TypeError(
            f"The {name} to the model returned by input_fn must be either a Tensor or a dictionary of Tensors. "
            f"{name}: {value}"
        )


def _checked_spec(spec: Any) -> Any:
    """The spec of a training step. Raises ValueError where it has what is for other estimators."""
    if not isinstance(spec, loaded("model_fn")._TPUEstimatorSpec):
        if spec.training_chief_hooks:
            raise ValueError(
                "training_chief_hooks returned by EstimatorSpec is not supported in TPUEstimator.If you want to pass "
                "training hooks, please pass via training_hooks."
            )
        if spec.scaffold and spec.scaffold != type(spec.scaffold)():
            logs.warning("EstimatorSpec.Scaffold is ignored by TPU train/eval. Please use TPUEstimatorSpec.")
    return spec


def _scaffold(spec: Any) -> Any:
    """What the spec's ``scaffold_fn`` makes."""
    function = getattr(spec, "scaffold_fn", None)
    if function is None:
        return None
    scaffold = function()
    if scaffold is None:
        raise ValueError("TPUEstimatorSpec.scaffold_fn returns None, which is not allowed")
    return scaffold


def _mapped(function: Callable[[Tensor], Tensor], tensors: Any) -> Any:
    """A list or dictionary of tensors through a function."""
    if isinstance(tensors, Mapping):
        return {key: function(tensor) for key, tensor in tensors.items()}
    return [function(tensor) for tensor in tensors]


def _each_run(spec: Any, rows: Rows, iterator: DataIterator) -> Iterator[SessionRunHook]:
    """The hooks of a spec whose runs make one step: that of its input, and of its host call."""
    yield loaded("util")._DatasetInitializerHook(iterator)
    if spec.host_call is not None:
        function, tensors = spec.host_call
        yield FetchHook(called("host_call", function, _mapped(rows.together, tensors)))
