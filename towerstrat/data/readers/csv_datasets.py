"""``CsvDataset`` and ``make_csv_dataset``: comma-separated values in files."""

from __future__ import annotations

import csv
import io
import itertools
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from towerstrat.data.api.dataset import AUTOTUNE, Dataset
from towerstrat.data.api.dataset_v1 import DatasetV1
from towerstrat.data.files.record_nodes import Blocks, Files, Records, in_blocks, reads_blocks
from towerstrat.data.parsing.csv_fields import decode_csv
from towerstrat.data.readers.example_datasets import matching, of_files, shuffled_and_repeated
from towerstrat.data.readers.text_and_record_datasets import compression_of, names_of
from towerstrat.graph.ir.tensor_conversion import constant
from towerstrat.graph.ir.types import DType, float32, float64, int32, int64, string
from towerstrat.platform.compressed import opened
from towerstrat.platform.storage import storage_of


@reads_blocks("_blocks")
def _blocks(name: str, position: int, compression: str, header: bool, quotes: bool) -> Blocks:
    return in_blocks(_rows(name, position, compression, header, quotes))


def _rows(name: str, position: int, compression: str, header: bool, quotes: bool) -> Records:
    """The records of a file from a position on, without their ends. In quotes a record may have ends of lines."""
    with opened(name, compression, position) as file:
        skip = header and position == 0
        row = b""
        for line in file:
            position += len(line)
            row += line
            if quotes and row.count(b'"') % 2:
                continue
            if not skip:
                yield row.removesuffix(b"\n").removesuffix(b"\r"), position
            skip, row = False, b""
        if row:
            yield row, position


def _columns(
    kind: type[Dataset], filenames: Any, record_defaults: Sequence[Any], compression: Any, header: Any,
    field_delim: str, use_quote_delim: bool, na_value: str, select_cols: Sequence[int] | None,
) -> Any:  # fmt: skip
    """The dataset of the columns of records."""
    defaults = [constant([], d) if isinstance(d, DType) else d for d in record_defaults]
    arguments = [compression_of(compression), bool(header), bool(use_quote_delim)]
    rows = kind._made(Files(names_of(filenames), _blocks, arguments))
    return rows.map(
        lambda row: tuple(
            decode_csv(row, defaults, field_delim, use_quote_delim, na_value=na_value, select_cols=select_cols)
        )
    )


class CsvDataset(Dataset):
    """The records of csv files as tuples of scalars.

    Args:
      filenames: of the files, one after the other.
      record_defaults: for each column a default as of ``decode_csv``, or an element type: the field is required then.
      compression_type: "", "GZIP" or "ZLIB".
      buffer_size: changes no value.
      header: whether files begin with a line that is no record.
      field_delim, use_quote_delim, na_value: as of ``decode_csv``.
      select_cols: the columns to take, in increasing order; all by default.
      exclude_cols: the columns to leave out.

    Raises (when elements are taken):
      InvalidArgumentError: a record that does not fit. NotFoundError: a file is not there.
    """

    def __init__(
        self, filenames: Any, record_defaults: Sequence[Any], compression_type: Any = None, buffer_size: Any = None,
        header: Any = False, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
        select_cols: Sequence[int] | None = None, exclude_cols: Sequence[int] | None = None,
    ):  # fmt: skip
        if exclude_cols is not None:
            if select_cols is not None:
                raise ValueError("Either select_cols or exclude_cols should be given, not both.")
            count = len(record_defaults) + len(exclude_cols)
            select_cols = [c for c in range(count) if c not in exclude_cols]
        columns = _columns(
            Dataset, filenames, record_defaults, compression_type, header, field_delim, use_quote_delim, na_value,
            select_cols,
        )  # fmt: skip
        super().__init__(columns.node)


class CsvDatasetV1(DatasetV1):
    """The records of csv files as tuples of scalars. See ``CsvDataset``."""

    def __init__(
        self, filenames: Any, record_defaults: Sequence[Any], compression_type: Any = None, buffer_size: Any = None,
        header: Any = False, field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "",
        select_cols: Sequence[int] | None = None,
    ):  # fmt: skip
        columns = _columns(
            DatasetV1, filenames, record_defaults, compression_type, header, field_delim, use_quote_delim, na_value,
            select_cols,
        )  # fmt: skip
        super().__init__(columns.node)


# ---- batches with names ----------------------------------------------------------------------------------------------


def make_csv_dataset(
    file_pattern: Any, batch_size: Any, column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
    select_columns: Sequence[Any] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", header: bool = True, num_epochs: Any = None, shuffle: bool = True,
    shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
    compression_type: Any = None, ignore_errors: bool = False, encoding: str = "utf-8",
) -> Any:  # fmt: skip
    """Batches of records of csv files, as dictionaries of columns.

    Args:
      file_pattern: a pattern of names of files, or a list of them.
      column_names: of all columns; by default the first line of the files.
      column_defaults: for each selected column, as of ``CsvDataset``; by default types are inferred from the records,
        and empty fields are 0 or the empty string.
      label_name: the column that is taken out: elements are then (features, label).
      select_columns: names or places of the columns to take.
      header: whether files begin with a line of names.
      num_epochs: how often the files are gone through; None: without end, in full batches.
      shuffle, shuffle_buffer_size, shuffle_seed: whether and how records are shuffled.
      prefetch_buffer_size: batches made ahead; by default as many as pay.
      num_parallel_reads: from so many files records are taken in turn; default 1.
      sloppy: changes no value.
      num_rows_for_inference: so many records tell the types; None: all.
      field_delim, use_quote_delim, na_value, compression_type: as of ``CsvDataset``.
      ignore_errors: leave out records that do not fit.
      encoding: of the files, where names and types are read from them.

    Raises:
      ValueError: no file matches, or arguments that do not fit each other or the files.
    """
    return _named(
        Dataset, matching(file_pattern), batch_size, column_names, column_defaults, label_name, select_columns,
        field_delim, use_quote_delim, na_value, header, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed,
        prefetch_buffer_size, num_parallel_reads, num_rows_for_inference, compression_type, ignore_errors, encoding,
    )  # fmt: skip


def make_csv_dataset_v1(
    file_pattern: Any, batch_size: Any, column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
    select_columns: Sequence[Any] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", header: bool = True, num_epochs: Any = None, shuffle: bool = True,
    shuffle_buffer_size: Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
    compression_type: Any = None, ignore_errors: bool = False,
) -> Any:  # fmt: skip
    """``make_csv_dataset`` of 1.x."""
    return _named(
        DatasetV1, matching(file_pattern), batch_size, column_names, column_defaults, label_name, select_columns,
        field_delim, use_quote_delim, na_value, header, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed,
        prefetch_buffer_size, num_parallel_reads, num_rows_for_inference, compression_type, ignore_errors, "utf-8",
    )  # fmt: skip


def _named(
    kind: type[Dataset], files: Sequence[str], batch_size: Any, names: Sequence[str] | None,
    defaults: Sequence[Any] | None, label: str | None, select: Sequence[Any] | None, delimiter: str, quotes: bool,
    na_value: str, header: bool, epochs: Any, shuffle: bool, buffer_size: Any, seed: Any, prefetch: Any, cycle: Any,
    inferred_from: int | None, compression: Any, ignore_errors: bool, encoding: str,
) -> Any:  # fmt: skip
    form = _Form(delimiter, quotes, encoding)
    names, chosen = _chosen(files, names, select, header, form)
    if defaults is None:
        rows = _python_rows(files, len(names), form, header)
        columns = range(len(names)) if chosen is None else chosen
        defaults = _inferred(itertools.islice(rows, inferred_from), columns, na_value)
    if chosen is not None:
        if len(defaults) != len(chosen):
            raise ValueError("If specified, column_defaults and select_columns must have same length.")
        names = [names[i] for i in chosen]
    if label is not None and label not in names:
        raise ValueError("`label_name` provided must be one of the columns.")

    def read(name: Any) -> Any:
        return _columns(kind, name, defaults, compression, header, delimiter, quotes, na_value, chosen)

    def with_names(*columns: Any) -> Any:
        features = OrderedDict(zip(names, columns, strict=True))
        return features if label is None else (features, features.pop(label))

    dataset = of_files(kind, files, read, shuffle, seed, cycle or 1)
    dataset = dataset.ignore_errors() if ignore_errors else dataset
    dataset = shuffled_and_repeated(dataset, epochs, shuffle, buffer_size, seed)
    dataset = dataset.batch(batch_size, drop_remainder=epochs is None).map(with_names)
    return dataset.prefetch(AUTOTUNE if prefetch is None else prefetch)


def _chosen(
    files: Sequence[str], names: Sequence[str] | None, select: Sequence[Any] | None, header: bool, form: _Form
) -> tuple[Sequence[str], list[int] | None]:  # fmt: skip
    """The names of all columns, and the places of those that are selected, None where all are."""
    if names is None:
        if not header:
            raise ValueError("Cannot infer column names without a header line.")
        names = _names_in(files, form)
    if len(names) != len(set(names)):
        raise ValueError("Cannot have duplicate column names.")
    if select is None:
        return names, None
    places = [_place(column, names) for column in select]
    if len(places) != len(set(places)):
        raise ValueError("select_columns contains duplicate columns")
    return names, sorted(places)


def _place(column: Any, names: Sequence[str]) -> int:
    if isinstance(column, int):
        if not 0 <= column < len(names):
            raise ValueError(f"Column index {column} specified in select_columns out of valid range.")
        return column
    if column not in names:
        raise ValueError(f"Value '{column}' specified in select_columns not a valid column index or name.")
    return list(names).index(column)


# ---- names and types that files tell ---------------------------------------------------------------------------------


class _Form(NamedTuple):
    """How csv files are written."""

    delimiter: str
    quotes: bool
    encoding: str

    def rows(self, name: str) -> Iterator[list[str]]:
        """The rows of a file, read by Python's ``csv``."""
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        with storage_of(name).open(name, "rb") as file:
            lines = io.TextIOWrapper(file, self.encoding, newline="")
            yield from csv.reader(lines, delimiter=self.delimiter, quoting=quoting)


def _names_in(files: Sequence[str], form: _Form) -> list[str]:
    found: list[str] | None = None
    for name in files:
        names = next(form.rows(name), None)
        if names is None:
            raise ValueError(f"Received StopIteration when reading the header line of {name}.  Empty file?")
        if found is not None and names != found:
            raise ValueError("Files have different column names in the header row.")
        found = names
    return found or []


def _python_rows(
    files: Sequence[str], count: int, form: _Form, header: bool
) -> Iterator[list[str]]:  # fmt: skip
    for name in files:
        for row in itertools.islice(form.rows(name), int(header), None):
            if len(row) != count:
                raise ValueError("Problem inferring types: CSV row has different number of fields than expected.")
            yield row


def _inferred(rows: Iterator[list[str]], columns: Sequence[int], na_value: str) -> list[Any]:
    """Defaults of the narrowest types that hold all values of columns: 0 or the empty string."""
    levels = [-1] * len(columns)
    for row in rows:
        for i, column in enumerate(columns):
            if row[column] not in ("", na_value):
                levels[i] = max(levels[i], _level(row[column]))
    types = [_WIDENING[level] if level >= 0 else string for level in levels]
    return [constant(["" if dtype is string else 0], dtype) for dtype in types]


_WIDENING = (int32, int64, float32, float64, string)


def _level(text: str) -> int:
    """The place in ``_WIDENING`` of the narrowest type that holds a value."""
    for level, dtype in enumerate(_WIDENING[:-1]):
        try:
            if dtype.is_integer:
                if dtype.min <= int(text) <= dtype.max:
                    return level
            elif dtype.np.type(text) < np.inf:
                return level
        except ValueError:
            continue
    return len(_WIDENING) - 1
