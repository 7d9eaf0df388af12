"""Whole models in ``.h5`` files, as graphs of 1.x save them: 1.12 can read what it has too.

The package writes what 2.15 knows of layers and optimizers, and 1.12 refuses what it does not know. An argument that
1.12 had not is left out where it has its default, what is only called otherwise has its name of that time, and the
state of an optimizer has the length that 1.12 expects. 2.15 reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

_LATER: dict[str, Any] = {
    "groups": 1, "time_major": False, "ragged": False, "keepdims": False, "interpolation": "nearest",
    "output_padding": None,
}  # fmt: skip
"""Arguments of layers since 1.12, with the values that change nothing."""
_LATER_OF: dict[str, dict[str, Any]] = {
    **{name: {"seed": None} for name in ("AlphaDropout", "GaussianDropout", "GaussianNoise")},
    **{
        f"{name}Pooling1D": {"data_format": "channels_last"}
        for name in ("Average", "Max", "GlobalAverage", "GlobalMax")
    },
}
"""The same by class, of arguments that other classes had in 1.12."""
_SCALING: dict[str, dict[str, Any]] = {
    f"{name}{end}": {"scale": scale, "mode": "fan_in", "distribution": distribution}
    for name, scale in (("He", 2.0), ("Lecun", 1.0))
    for end, distribution in (("Normal", "truncated_normal"), ("Uniform", "uniform"))
}
"""Initializers that were no classes of their own."""
_LATER_OF_OPTIMIZERS: dict[str, dict[str, Any]] = {
    "RMSprop": {"centered": False, "momentum": 0.0},
    "Adagrad": {"initial_accumulator_value": 0.1},
}
_UNCOUNTED = ("Adadelta", "Adagrad", "RMSprop")
"""Optimizers of 1.12 whose state has no count of steps, which is used with ``decay`` alone."""


def model_config(config: Any) -> Any:
    """What describes a model, a layer, an initializer or a regularizer, and all in it."""
    if isinstance(config, list | tuple):
        return [model_config(each) for each in config]
    if not isinstance(config, dict):
        return config
    found = {key: model_config(value) for key, value in config.items()}
    name, inner = found.get("class_name"), found.get("config")
    if isinstance(name, str) and isinstance(inner, dict):
        if name in _SCALING:
            return {**found, "class_name": "VarianceScaling", "config": {**_SCALING[name], "seed": inner.get("seed")}}
        if name in ("L1", "L2"):
            return {**found, "class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.0, **inner}}
        if name == "Functional":
            found["class_name"] = "Model"
        found["config"] = _without(inner, {**_LATER, **_LATER_OF.get(name, {})})
    return found


def optimizer_config(config: dict[str, Any]) -> dict[str, Any]:
    """What describes an optimizer; one whose learning rate is a schedule stays as it is."""
    name, inner = config["class_name"], dict(config["config"])
    if isinstance(inner.get("learning_rate", {}), dict):
        return config
    inner["lr"] = inner.pop("learning_rate")
    inner.pop("name", None)
    if name == "Nadam":
        inner["schedule_decay"] = inner.pop("decay")
    return {**config, "config": _without(inner, _LATER_OF_OPTIMIZERS.get(name, {}))}


def _without(config: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if not (key in defaults and value == defaults[key])}


def translate_configs(module: ModuleType) -> None:
    """Lets ``saving_utils`` of the package describe models of graphs in this way."""
    described: Callable[..., dict[str, Any]] = module.__dict__["model_metadata"]

    def model_metadata(model: Any, include_optimizer: bool = True, require_config: bool = True) -> dict[str, Any]:
        found = described(model, include_optimizer, require_config)
        if module.__dict__["version_utils"].is_v1_layer_or_model(model):
            found["model_config"] = model_config(found["model_config"])
            training = found.get("training_config")
            if training is not None:
                training["optimizer_config"] = optimizer_config(training["optimizer_config"])
        return found

    module.__dict__["model_metadata"] = model_metadata


def translate_states(module: ModuleType) -> None:
    """Lets ``hdf5_format`` of the package write the state of graphs' optimizers as long as 1.12 has it."""
    written: Callable[..., None] = module.__dict__["save_optimizer_weights_to_hdf5_group"]

    def save_optimizer_weights_to_hdf5_group(hdf5_group: Any, optimizer: Any) -> None:
        written(hdf5_group, optimizer)
        if "optimizer_weights" in hdf5_group and not module.__dict__["tf"].executing_eagerly():
            _resize(hdf5_group["optimizer_weights"], optimizer)

    module.__dict__["save_optimizer_weights_to_hdf5_group"] = save_optimizer_weights_to_hdf5_group


def _resize(group: Any, optimizer: Any) -> None:
    """Leaves out the count of steps that 1.12 did not keep, where nothing needs it; adds what its Adam has unused."""
    kind, config = type(optimizer).__name__, optimizer.get_config()
    names = [str(each.name).encode() for each in optimizer.weights]
    if len(names) == 1 or "weight_names" not in group.attrs:
        return
    if kind in _UNCOUNTED and not config.get("decay"):
        del group[names.pop(0)]
    elif kind == "Adam" and not config.get("amsgrad"):
        for i in range(len(names) // 2):
            name = f"unused_{i}"
            group.create_dataset(name, (1,), dtype="float32", data=[0.0])
            names.append(name.encode())
    group.attrs["weight_names"] = names
