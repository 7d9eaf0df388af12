"""Datasets of parsed ``Example`` messages: ``parse_example_dataset``, ``make_batched_features_dataset``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from towerstrat.data.api.dataset import AUTOTUNE, Dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.api.transforms_v1 import Transformation
from towerstrat.data.parsing.examples import parse_example
from towerstrat.data.parsing.feature_specs import Features
from towerstrat.data.readers.text_and_record_datasets import TFRecordDataset, TFRecordDatasetV1
from towerstrat.graph.ir.types import string
from towerstrat.platform.files import Glob


def matching(file_pattern: Any) -> list[str]:
    """The names of the files that match a pattern, or a list of them, sorted. Raises ValueError where none does."""
    if isinstance(file_pattern, list) and not file_pattern:
        raise ValueError("File pattern is empty.")
    patterns = file_pattern if isinstance(file_pattern, list) else [file_pattern]
    names = [name for pattern in patterns for name in Glob(pattern)]
    if not names:
        raise ValueError(f"No files match {file_pattern}.")
    return sorted(names)


def of_files(
    kind: type[Dataset], names: Sequence[str], read: Callable[[Any], Dataset], shuffle: bool, seed: Any, cycle: Any
) -> Any:
    """The elements of files, ``cycle`` of them in turn, in the order of their names or a random one.

    Args:
      kind: ``Dataset`` or ``DatasetV1``. read: the name of a file -> a dataset.
    """
    files = kind.from_tensor_slices(list(names))
    return (files.shuffle(len(names), seed) if shuffle else files).interleave(read, cycle)


def shuffled_and_repeated(dataset: Any, epochs: Any, shuffle: bool, buffer_size: Any, seed: Any) -> Any:
    dataset = dataset.shuffle(buffer_size, seed) if shuffle else dataset
    return dataset if epochs == 1 else dataset.repeat(epochs)


def parse_example_dataset(
    features: Features, num_parallel_calls: Any = 1, deterministic: Any = None
) -> Transformation:  # fmt: skip
    """Parses batches of serialized ``Example`` messages: ``map`` of ``parse_example``.

    ``num_parallel_calls`` and ``deterministic`` change no value.

    Raises:
      ValueError: no features. TypeError, where it is applied: the elements are no vectors of strings.
    """
    if features is None:
        raise ValueError("Missing: features was None.")

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.node.structure
        if structure.dtypes != (string,) or structure.dims[0] is None or len(structure.dims[0]) != 1:
            raise TypeError(
                "Input dataset should be a dataset of vectors of strings, got "
                f"{structure.types} of shape {structure.shapes}."
            )
        return dataset.map(lambda serialized: parse_example(serialized, features))

    return apply


def parse_example_dataset_v1(features: Features, num_parallel_calls: Any = 1) -> Transformation:
    """``parse_example_dataset`` with the arguments of 1.x."""
    return parse_example_dataset(features, num_parallel_calls)


def make_batched_features_dataset(
    file_pattern: Any, batch_size: Any, features: Features, reader: Callable[..., Dataset] | None = None,
    label_key: str | None = None, reader_args: Sequence[Any] | None = None, num_epochs: Any = None,
    shuffle: bool = True, shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = None, reader_num_threads: Any = None, parser_num_threads: Any = None,
    sloppy_ordering: bool = False, drop_final_batch: bool = False,
) -> Any:  # fmt: skip
    """Batches of the features of ``Example`` messages in files, as dictionaries.

    Args:
      file_pattern: a pattern of names of files, or a list of them.
      features: as of ``parse_example``.
      reader: called with the name of a file and ``reader_args``, gives a dataset of serialized messages; by default
        ``TFRecordDataset``.
      label_key: the feature that is taken out: elements are then (features, label).
      num_epochs: how often the files are gone through; None: without end, in full batches.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how elements are shuffled.
      prefetch_buffer_size: batches made ahead; by default as many as pay.
      reader_num_threads: from so many files messages are taken in turn; default 1.
      parser_num_threads, sloppy_ordering: change no value.
      drop_final_batch: leave out a smaller last batch.

    Raises:
      ValueError: no file matches, or ``label_key`` is no feature.
    """
    return _batched(
        Dataset, matching(file_pattern), batch_size, features, reader or TFRecordDataset, label_key, reader_args,
        num_epochs, shuffle, shuffle_buffer_size, shuffle_seed, prefetch_buffer_size, reader_num_threads,
        drop_final_batch,
    )  # fmt: skip


def make_batched_features_dataset_v1(
    file_pattern: Any, batch_size: Any, features: Features, reader: Callable[..., Dataset] = TFRecordDatasetV1,
    label_key: str | None = None, reader_args: Sequence[Any] | None = None, num_epochs: Any = None,
    shuffle: bool = True, shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None,
    prefetch_buffer_size: Any = AUTOTUNE, reader_num_threads: Any = 1, parser_num_threads: Any = 2,
    sloppy_ordering: bool = False, drop_final_batch: bool = False,
) -> Any:  # fmt: skip
    """``make_batched_features_dataset`` of 1.x, whose elements are read by its datasets."""
    return _batched(
        DatasetV1, matching(file_pattern), batch_size, features, reader, label_key, reader_args, num_epochs, shuffle,
        shuffle_buffer_size, shuffle_seed, prefetch_buffer_size, reader_num_threads, drop_final_batch,
    )  # fmt: skip


def _batched(
    kind: type[Dataset], names: Sequence[str], batch_size: Any, features: Features, reader: Callable[..., Dataset],
    label_key: str | None, reader_args: Sequence[Any] | None, num_epochs: Any, shuffle: bool, buffer_size: Any,
    seed: Any, prefetch_buffer_size: Any, cycle: Any, drop_final_batch: bool,
) -> Any:  # fmt: skip
    if label_key and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
    dataset = of_files(kind, names, lambda name: reader(name, *(reader_args or ())), shuffle, seed, cycle or 1)
    if dataset.node.structure.dtypes == (string, string):
        dataset = dataset.map(lambda key, value: value)
    dataset = shuffled_and_repeated(dataset, num_epochs, shuffle, buffer_size, seed)
    dataset = dataset.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    dataset = parse_example_dataset(features)(dataset)
    if label_key:
        dataset = dataset.map(lambda found: ({k: v for k, v in found.items() if k != label_key}, found[label_key]))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def read_batch_features(
    file_pattern: Any, batch_size: Any, features: Features, reader: Callable[..., Dataset] = TFRecordDatasetV1,
    reader_args: Sequence[Any] | None = None, randomize_input: bool = True, num_epochs: Any = None,
    capacity: Any = 10000,
) -> Any:  # fmt: skip
    """The tensors of the next batch of ``make_batched_features_dataset``, from an iterator of its own.

    Args:
      randomize_input: whether elements are shuffled. capacity: the size of the buffer for it.
    """
    dataset = make_batched_features_dataset_v1(
        file_pattern, batch_size, features, reader, None, reader_args, num_epochs, randomize_input, capacity
    )
    return dataset.make_one_shot_iterator().get_next()
