"""``StreamingFilesDataset`` of ``tensorflow/contrib/tpu/python/tpu/datasets.py``: records of many files, in turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from towerstrat.data.api.dataset import Dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.api.transforms_v1 import parallel_interleave
from towerstrat.data.readers.text_and_record_datasets import TextLineDatasetV1, TFRecordDatasetV1

_READERS: dict[str, Callable[..., Dataset]] = {
    "tfrecord": TFRecordDatasetV1,
    "textline": TextLineDatasetV1,
    "text": TextLineDatasetV1,
}


def StreamingFilesDataset(
    files: str | Dataset,
    filetype: str | Callable[..., Dataset] | None = None,
    file_reader_job: str | None = None,
    worker_job: str | None = None,
    num_epochs: int | None = None,
    filename_shuffle_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    batch_transfer_size: int | None = None,
    sloppy: bool | None = None,
) -> Any:
    """The records of files, from several files in turns.

    Args:
      files: a pattern of file names, or a dataset of names.
      filetype: "tfrecord" (the default), "textline", or a function that makes a dataset of a file's name.
      num_epochs: how often the files are read; None: forever.
      filename_shuffle_buffer_size: the names are shuffled through a buffer of this size, 4096 by default; 0 or False:
        they keep their order.
      num_parallel_reads: the number of files that records are taken from in turns; default 8.
      sloppy: allows another order, which is not used: the order is always the same.
      file_reader_job, worker_job, batch_transfer_size: changes nothing: files are read where the program runs.

    Returns:
      A dataset. An epoch ends before the next one begins, as in 1.15.

    Raises:
      ValueError: ``files`` or ``filetype`` is something else.
    """
    if isinstance(filetype, str) and filetype not in _READERS:
        raise ValueError(f"Unexpected filetype: {filetype}. Expected one of {sorted(_READERS)}, or a function.")
    reader = _READERS[filetype or "tfrecord"] if filetype is None or isinstance(filetype, str) else filetype
    if not callable(reader):
        raise ValueError(f"filetype should be a string or a callable, got {filetype!r}.")
    if not isinstance(files, str | Dataset):
        raise ValueError(f"files was not a string or a dataset: {files!r}")
    names = DatasetV1.list_files(files) if isinstance(files, str) else files
    buffer = 4096 if filename_shuffle_buffer_size is None else filename_shuffle_buffer_size
    if buffer:
        names = names.shuffle(buffer)
    return names.apply(parallel_interleave(reader, num_parallel_reads or 8)).repeat(num_epochs)
