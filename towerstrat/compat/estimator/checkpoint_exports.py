"""Exports of estimators: the variables of a checkpoint, in the folder of the SavedModel that would have them.

No SavedModel is written here. So that neither training ends nor the best model is lost to the rotation of checkpoints,
what it would keep of the training is kept where it would be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any

from towerstrat.checkpoints import bundle_writer
from towerstrat.checkpoints.checkpoint_file import opened
from towerstrat.platform import files, logs
from towerstrat.training.saving.latest_checkpoint import latest_checkpoint

_ESTIMATORS = "tensorflow_estimator.python.estimator"
_INSTEAD = (
    "no SavedModel is written, but the variables of the checkpoint, as DIR/NUMBER/variables/variables; restore that or "
    "a checkpoint of the training, and call predict."
)
UNSUPPORTED = {
    f"{_ESTIMATORS}.{name}": _INSTEAD
    for name in (
        "exporter.BestExporter", "exporter.FinalExporter", "exporter.LatestExporter",
        "estimator.Estimator.experimental_export_all_saved_models", "estimator.Estimator.export_saved_model",
        "estimator.Estimator.export_savedmodel",
    )
}  # fmt: skip
"""Module and name of what would write SavedModels -> what it does."""


def take_exports(module: ModuleType) -> None:
    """Lets estimators export in this way."""
    vars(module)["Estimator"]._export_all_saved_models = _export_variables


def _export_variables(
    estimator: Any, export_dir_base: Any, input_receiver_fn_map: Mapping[str, Any],
    assets_extra: Mapping[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
    strip_default_attrs: bool = True,
) -> bytes:  # fmt: skip
    """Writes a checkpoint's variables, and further files, to a new folder of ``export_dir_base``.

    Returns:
      The folder, whose name is a number that grows. What decides the form of a model (``as_text``,
      ``strip_default_attrs``) and the functions of its input change nothing.

    Raises:
      ValueError: there is no checkpoint, or no mode to export.
    """
    if not any(input_receiver_fn_map.values()):
        raise ValueError(f"No valid modes for exporting found. Got {list(input_receiver_fn_map)}.")
    source = _source(estimator, checkpoint_path)
    folder = _new_folder(os.fspath(export_dir_base))
    variables = opened(source)
    target = os.path.join(folder, "variables", "variables")
    files.MakeDirs(os.path.dirname(target))
    bundle_writer.write(
        target, [bundle_writer.Saved(name, partial(variables.read, name)) for name in sorted(variables.entries)]
    )
    for name, path in (assets_extra or {}).items():
        asset = os.path.join(folder, "assets.extra", name)
        files.MakeDirs(os.path.dirname(asset))
        files.Copy(path, asset)
    logs.warning(
        "No SavedModel is written: towerstrat has none yet, so %s is no model that can be served. It has the variables "
        "of %s, in the checkpoint %s.", folder, source, target,
    )  # fmt: skip
    return folder.encode()


def _source(estimator: Any, given: str | None) -> str:
    """The checkpoint to export. Raises ValueError where there is none."""
    found: str | None = given or estimator.latest_checkpoint()
    if not found and estimator._warm_start_settings:
        found = estimator._warm_start_settings.ckpt_to_initialize_from
        found = latest_checkpoint(found) if found and files.IsDirectory(found) else found
    if not found:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    return found


def _new_folder(base: str | bytes) -> str:
    """A folder below another one: seconds since 1970, and more than the numbers of those that are there."""
    base = os.fsdecode(base)
    there = files.ListDirectory(base) if files.IsDirectory(base) else []
    numbers = [int(name.rstrip("/")) for name in there if name.rstrip("/").isdigit()]
    return os.path.join(base, str(max([int(time.time()), *(number + 1 for number in numbers)])))
