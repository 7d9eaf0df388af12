"""Things without a value of their own that a change would show, with the reasons: no row can be for them."""

from __future__ import annotations

from collections.abc import Mapping

_REASONS: Mapping[str, Mapping[str, str]] = {
    "operation": {
        "a run or a region gives it its value": "LoopVariable Placeholder PositionInput StepInput",
        "an object that other operations act on": "Accumulator Queue Reader VarHandleOp",
        "nothing is computed": "NoOp",
        "an array that nothing is written to": "Blank",
        "the operations of a step have values, and a stage of the run repeats them": "StepLoop",
        "a merge computes its branches in another place, where it is not": "Switch",
    },
    "gradient": {
        "the gradient is 0": "Sign",
        "it is refused": "Switch",
        "a function of the program gives it": "CustomGradient",
        "a run or a region gives it its value": "Placeholder PositionInput",
        "nothing that has a gradient goes in": "Blank Const MakeIterator NoOp VarHandleOp",
    },
    "layer": {"derived classes define it": "models.layers.layer.Layer.call"},
    "cell": {
        "derived classes define it": "models.rnn.cells.LayerRNNCell.call models.rnn.cells.RNNCell.call",
        "a check": "models.rnn.cells.assert_like_rnncell",
    },
    "metric": {"a variable, which has no value yet": "models.metrics.streaming_metric.metric_variable"},
    "loss": {
        "what is in a collection": """
            models.losses.add_loss models.losses.get_regularization_losses""",
    },
    "distribution": {"it is not defined: NaN": "models.distributions.positive_support.Exponential._mode"},
    "initializer": {"derived classes define it": "compat.v2_functions.initializers.Later.__call__"},
    "dataset": {
        "it describes elements": """
            data.api.dataset.Dataset.element_spec data.api.dataset.Dataset.options data.api.dataset.Dataset.spec_of
            data.api.dataset.DatasetSpec.element_spec data.api.dataset.DatasetSpec.value_type
            data.api.dataset.DatasetSpec.from_value data.api.graph_defs.batching
            data.api.dataset.DatasetSpec.is_compatible_with data.api.dataset.DatasetSpec.is_subtype_of
            data.api.dataset.DatasetSpec.most_specific_common_supertype
            data.api.dataset.DatasetSpec.most_specific_compatible_type data.api.dataset_v1.DatasetV1.output_classes
            data.api.dataset_v1.DatasetV1.output_shapes data.api.dataset_v1.DatasetV1.output_types
            data.api.dataset_v1.get_output_classes data.api.dataset_v1.get_output_shapes
            data.api.dataset_v1.get_output_types data.api.transforms_v2.get_structure""",
        "an object that gives elements later": """
            data.api.dataset.Dataset.as_numpy_iterator data.api.dataset.Dataset.handle
            data.api.dataset_v1.DatasetV1.make_initializable_iterator
            data.api.dataset_v1.DatasetV1.make_one_shot_iterator data.api.dataset_v1.make_initializable_iterator
            data.api.dataset_v1.make_one_shot_iterator data.api.transforms_v2.to_variant""",
    },
    "strategy": {
        "it is refused": """
            towers.distribute.default_strategy.DefaultExtended.parameter_devices
            towers.distribute.default_strategy.DefaultExtended.worker_devices""",
        "there is none": "towers.distribute.strategy._Base.cluster_resolver",
        "derived classes define it": """
            towers.contrib.distribution_strategy.DistributionStrategy.between_graph
            towers.contrib.distribution_strategy.DistributionStrategy.should_checkpoint
            towers.contrib.distribution_strategy.DistributionStrategy.should_init
            towers.contrib.distribution_strategy.DistributionStrategy.should_save_summary
            towers.distribute.cross_device_ops.CrossDeviceOps.batch_reduce_implementation
            towers.distribute.cross_device_ops.CrossDeviceOps.reduce_implementation""",
    },
}

EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    kind: {name: reason for reason, names in reasons.items() for name in names.split()}
    for kind, reasons in _REASONS.items()
}
"""By kind the names of things, and the reason."""
