"""``tf.train.warm_start``: variables that start from a checkpoint, also where vocabularies have changed.

Source: ``tensorflow/python/training/warm_starting_util.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.tensor_conversion import convert_to_tensor
from towerstrat.graph.variables.partitioned import PartitionedVariable, PartitionInfo
from towerstrat.graph.variables.variables import GraphKeys, Variable
from towerstrat.platform import logs
from towerstrat.training.saving.checkpoint_reader import checkpoint_filename
from towerstrat.training.saving.init_from_checkpoint import init_from_checkpoint
from towerstrat.training.saving.object_graph import full_name
from towerstrat.training.saving.vocabulary_remapping import load_and_remap_matrix_initializer


class _Fields(NamedTuple):
    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int
    backup_initializer: Any
    axis: int


class VocabInfo(_Fields):
    """Which word the rows (or columns) of a variable stand for, here and in the checkpoint that it starts from.

    Args:
      new_vocab: a file with a word per line. new_vocab_size: how many of them count.
      num_oov_buckets: how many rows for other words come after those.
      old_vocab, old_vocab_size: the file at the time of the checkpoint; -1: all words of it count.
      backup_initializer: of rows for new words and for the buckets; default zeros.
      axis: 0: words are rows, 1: columns.

    Raises:
      ValueError: another axis.
    """

    def __new__(
        cls,
        new_vocab: str,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: str,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(f"The only supported values for the axis argument are 0 and 1.  Provided axis: {axis}")
        return super().__new__(
            cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis
        )


def warm_start(
    ckpt_to_initialize_from: str,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: Mapping[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: Mapping[str, str] | None = None,
) -> None:
    """Makes the initializers of variables read a checkpoint. Run them after this.

    Args:
      ckpt_to_initialize_from: a checkpoint, or a folder of which the latest is taken.
      vars_to_warm_start: which: a regular expression for the beginning of names of trainable variables; a list of
        variables; a list of regular expressions for names of any; None: only those with vocabularies.
      var_name_to_vocab_info: name of a variable -> ``VocabInfo``.
      var_name_to_prev_var_name: name of a variable -> its name in the checkpoint, where that is another.

    Raises:
      ValueError: a name in the dictionaries is not that of a variable that starts so; something else is given as
        ``vars_to_warm_start``; a name that the checkpoint does not have, or another shape.
    """
    vocabularies = var_name_to_vocab_info or {}
    former = var_name_to_prev_var_name or {}
    logs.info("Warm-starting from: %s", (ckpt_to_initialize_from,))
    found = _grouped(vars_to_warm_start)
    for what, given in (("var_name_to_prev_var_name", former), ("var_name_to_vocab_info", vocabularies)):
        unused = sorted(set(given) - set(found))
        if unused:
            raise ValueError(
                f"You provided the following variables in {what} that were not used: {unused}.  Perhaps you misspelled "
                f"them?  Here is the list of viable variable names: {list(found)}"
            )
    for name, parts in found.items():
        saved = former.get(name, name)
        if name in vocabularies:
            _log_words(name, vocabularies[name], former.get(name))
            _start_by_words(parts, ckpt_to_initialize_from, saved, vocabularies[name])
        elif vars_to_warm_start is not None:
            logs.info("Warm-starting variable: %s; prev_var_name: %s", name, former.get(name) or "Unchanged")
            init_from_checkpoint(ckpt_to_initialize_from, {saved: parts})


def _grouped(given: Any) -> dict[str, list[Variable]]:
    """Name -> the variable, or the parts of one."""
    graph = get_default_graph()
    if given is None or isinstance(given, str):
        variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, given)
    elif isinstance(given, list) and all(isinstance(each, str) for each in given):
        variables = [v for each in given for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, each)]
    elif isinstance(given, list) and all(isinstance(each, Variable | PartitionedVariable) for each in given):
        variables = [v for each in given for v in (each if isinstance(each, PartitionedVariable) else [each])]
    else:
        raise ValueError(
            "vars_to_warm_start must be a regular expression, None, or a list that is all variables or all regular "
            f"expressions, got {given!r}."
        )
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        parts = found.setdefault(full_name(variable), [])
        if not any(variable is part for part in parts):
            parts.append(variable)
    return found


def _log_words(name: str, words: VocabInfo, former: str | None) -> None:
    logs.info(
        "Warm-starting variable: %s; current_vocab: %s current_vocab_size: %s prev_vocab: %s prev_vocab_size: %s "
        "current_oov: %s prev_tensor: %s initializer: %s",
        name, words.new_vocab, words.new_vocab_size, words.old_vocab,
        words.old_vocab_size if words.old_vocab_size > 0 else "All", words.num_oov_buckets, former or "Unchanged",
        words.backup_initializer or "zero-initialized",
    )  # fmt: skip


def _start_by_words(parts: Sequence[Variable], checkpoint: str, saved: str, words: VocabInfo) -> None:
    """Starts a variable from a matrix of which the rows or columns are those of other words."""
    path = checkpoint_filename(checkpoint)
    height = sum(int(part.shape[0]) for part in parts)
    for part in parts:
        shape = part.shape.as_list()
        if len(shape) != 2:
            raise ValueError(f"Variable {part.name} must be a matrix to start by its words, its shape is {shape}.")
        info = part._save_slice_info
        of: dict[str, Any] = {"new_row_vocab_size": words.new_vocab_size, "new_col_vocab_size": shape[1],
              "old_row_vocab_size": words.old_vocab_size, "old_row_vocab_file": words.old_vocab,
              "new_row_vocab_file": words.new_vocab, "num_row_oov_buckets": words.num_oov_buckets}  # fmt: skip
        if words.axis == 1:
            of = {"new_row_vocab_size": height, "new_col_vocab_size": words.new_vocab_size,
                  "old_col_vocab_file": words.old_vocab, "new_col_vocab_file": words.new_vocab,
                  "num_col_oov_buckets": words.num_oov_buckets}  # fmt: skip
        initializer = load_and_remap_matrix_initializer(path, saved, **of, initializer=words.backup_initializer)
        place = None if info is None else PartitionInfo(info.full_shape, info.var_offset)
        part.start_from(convert_to_tensor(initializer(shape, part.dtype, place)))
