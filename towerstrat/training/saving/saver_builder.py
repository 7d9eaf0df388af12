"""The operations of a saver in its graph, under the names that programs fetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.tensor_conversion import constant, convert_to_tensor, placeholder_with_default
from towerstrat.graph.ir.types import string
from towerstrat.graph.ops.control.branches import group, with_dependencies
from towerstrat.platform import messages
from towerstrat.training.saving import save_restore_ops  # noqa: F401  (registers what it builds)
from towerstrat.training.saving import saveables as kinds
from towerstrat.training.saving.saveables import assign_restored, saveables_of


class BaseSaverBuilder:
    """Builds what a saver runs. Programs derive from it to save in another way; source: ``saver.py``.

    Args:
      write_version: ``SaverDef.V2``, the format that is written.
    """

    SaveSpec = kinds.SaveSpec
    SaveableObject = kinds.SaveableObject
    VariableSaveable = kinds.VariableSaveable
    ResourceVariableSaveable = kinds.VariableSaveable

    def __init__(self, write_version: int = 2):
        self._write_version = write_version

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[kinds.SaveableObject]) -> Operation:
        """The operation that writes ``saveables`` to a file."""
        names, specs, tensors = [], [], []
        for saveable in saveables:
            for spec in saveable.specs:
                names.append(spec.name)
                specs.append(spec.slice_spec)
                tensors.append(
                    saveable.variable.handle if isinstance(saveable, kinds.VariableSaveable) else spec.tensor
                )
        given = [filename_tensor, constant(names, string, name="SaveV2/tensor_names"),
                 constant(specs, string, name="SaveV2/shape_and_slices")]  # fmt: skip
        return get_default_graph().add("SaveV2", [*given, *map(_input, tensors)], None, "SaveV2")

    def bulk_restore(
        self, filename_tensor: Tensor, saveables: Sequence[kinds.SaveableObject], preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:  # fmt: skip
        """The tensors of all ``saveables``, read from a file.

        ``preferred_shard`` and ``restore_sequentially`` change nothing: arrays are mapped, and read one at a time.
        """
        specs = [spec for saveable in saveables for spec in saveable.specs]
        given = [filename_tensor, constant([s.name for s in specs], string, name="RestoreV2/tensor_names"),
                 constant([s.slice_spec for s in specs], string, name="RestoreV2/shape_and_slices")]  # fmt: skip
        attrs = {"dtypes": [s.dtype.base_dtype for s in specs]}
        return list(get_default_graph().add("RestoreV2", given, attrs, "RestoreV2").outputs)

    def build(
        self, names_to_saveables: Any, reshape: bool = False, sharded: bool = False, max_to_keep: int = 5,
        keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False,
        filename: str = "model",
    ) -> Any:  # fmt: skip
        """Adds the operations that save and restore; a ``SaverDef`` that names them.

        Args:
          names_to_saveables: variables and saveable objects, or a dictionary of them by name.
          reshape: restored values take the shapes of the variables.
          sharded: for the definition; see ``Saver``.
          max_to_keep, keep_checkpoint_every_n_hours: for the definition.
          name: of the scope of the operations, default "save". filename: where it saves when nothing is fed.

        Raises:
          TypeError, ValueError: as ``saveables_of``.
        """
        saveables = saveables_of(names_to_saveables)
        if max_to_keep is None:
            max_to_keep = 0
        with get_default_graph().name_scope(name or "save"):
            path = placeholder_with_default(constant(filename, string, name="filename/input"), (), name="filename")
            path = placeholder_with_default(path, (), name="Const")
            with get_default_graph().outside():
                saved = with_dependencies([self.save_op(path, saveables)], path, name="control_dependency")
            tensors = self.bulk_restore(path, saveables, -1, restore_sequentially)
            restored = []
            plain: list[Any] = []
            for saveable in saveables:
                own, tensors = tensors[: len(saveable.specs)], tensors[len(saveable.specs) :]
                shapes = [spec.tensor.shape.as_list() for spec in saveable.specs] if reshape else None
                if isinstance(saveable, kinds.VariableSaveable):
                    plain.append((saveable.variable, saveable.shaped(own[0], shapes)))
                else:
                    restored.append(saveable.restore(own, shapes))
            if plain:
                restored.append(assign_restored(plain))
            restore = group(*restored, name="restore_all")
        return messages.SaverDef(
            filename_tensor_name=path.name,
            save_tensor_name=saved.name,
            restore_op_name=restore.name,
            max_to_keep=max_to_keep,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )


class BulkSaverBuilder(BaseSaverBuilder):
    """The builder that savers use."""


def _input(tensor: Any) -> Tensor:
    return tensor if isinstance(tensor, Tensor) else convert_to_tensor(tensor)
