"""Input functions over data frames and generators, and what arrays need beyond the original's cases."""

import importlib.machinery
import sys
import types

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from towerstrat.compat.estimator.input_functions import generator_input_fn, numpy_input_fn, pandas_input_fn


def taken(input_fn, limit=20):
    """The batches of an input function, at most ``limit``."""
    found = []
    with tf.Graph().as_default(), tf.Session() as session:
        following = input_fn()
        while len(found) < limit:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
    return found


class Frame:
    """As much of a ``DataFrame`` as input functions look at, where pandas is not installed."""

    def __init__(self, columns, index=None):
        self._columns = {name: Series(values) for name, values in columns.items()}
        self.columns = list(columns)
        self.index = np.arange(len(self)) if index is None else index

    def __len__(self):
        return len(self._columns[self.columns[0]].values)

    def __contains__(self, name):
        return name in self._columns

    def __getitem__(self, name):
        return self._columns[name]


class Series:
    def __init__(self, values):
        self.values = np.asarray(values)
        self.index = np.arange(len(self.values))

    def to_numpy(self, copy):
        return self.values.copy()


@pytest.fixture
def frames(monkeypatch):
    module = types.ModuleType("pandas")
    module.DataFrame, module.__spec__ = Frame, importlib.machinery.ModuleSpec("pandas", None)
    monkeypatch.setitem(sys.modules, "pandas", module)


def test_columns_of_a_frame(frames):
    x = Frame({"a": np.arange(5), "b": np.array(["v", "w", "x", "y", "z"], object)})
    first, second = taken(pandas_input_fn(x, Series(np.arange(5) * 0.5), batch_size=3, shuffle=False))
    assert {name: values.tolist() for name, values in first[0].items()} == {"a": [0, 1, 2], "b": [b"v", b"w", b"x"]}
    np.testing.assert_array_equal(second[1], [1.5, 2.0])
    alone = taken(pandas_input_fn(x, batch_size=5, shuffle=False, num_epochs=None), limit=2)
    assert [batch["a"].tolist() for batch in alone] == [list(range(5))] * 2
    targets = Frame({"p": np.arange(5), "a": -np.arange(5)})
    ((_, found),) = taken(pandas_input_fn(x, targets, shuffle=False))
    assert {name: values.tolist() for name, values in found.items()} == {
        "p": [0, 1, 2, 3, 4],
        "a": [0, -1, -2, -3, -4],
    }


def test_frames_are_copied(frames):
    x = Frame({"a": np.arange(2)})
    input_fn = pandas_input_fn(x, shuffle=True, queue_capacity=None)
    x["a"].values[:] = 7
    assert sorted(taken(input_fn)[0]["a"].tolist()) == [0, 1]


def test_frames_that_do_not_fit(frames):
    x = Frame({"target": np.arange(2)})
    with pytest.raises(ValueError, match="shuffle must be provided"):
        pandas_input_fn(x)
    with pytest.raises(TypeError, match="target_column must be a string type"):
        pandas_input_fn(x, shuffle=True, target_column=3)
    with pytest.raises(ValueError, match="Cannot use name target for target column"):
        pandas_input_fn(x, Series([1, 2]), shuffle=True)
    with pytest.raises(ValueError, match="Index for x and y are mismatched"):
        pandas_input_fn(x, Frame({"a": [1, 2]}, index=np.array([3, 4])), shuffle=True, target_column="b")


def test_without_pandas(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(TypeError, match="without pandas installed"):
        pandas_input_fn(None, shuffle=True)


def test_threads_make_passes_of_their_own():
    """As the original's do, which warns of it."""
    found = taken(numpy_input_fn(np.arange(3), shuffle=False, batch_size=2, num_epochs=2, num_threads=2))
    assert [batch.tolist() for batch in found] == [[0, 1], [2, 0], [1, 2]] * 2


def rows():
    for i in range(4):
        yield {"x": np.full(2, i, np.float32), "y": np.int64(i)}


def test_rows_of_a_generator():
    found = taken(generator_input_fn(rows, "y", batch_size=3, shuffle=False))
    assert [targets.tolist() for _, targets in found] == [[0, 1, 2], [3]]
    assert found[0][0]["x"].tolist() == [[0, 0], [1, 1], [2, 2]]
    ((features, targets),) = taken(generator_input_fn(rows, ["x", "y"], batch_size=4, shuffle=False))
    assert (features, sorted(targets)) == ({}, ["x", "y"])
    shuffled = taken(generator_input_fn(rows, batch_size=8, num_epochs=2))
    assert sorted(shuffled[0]["y"].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_rows_of_different_lengths_are_padded():
    def ragged():
        for i in range(3):
            yield {"x": np.arange(i + 1)}

    (batch,) = taken(generator_input_fn(ragged, batch_size=3, shuffle=False, pad_value=-1))
    assert batch["x"].tolist() == [[0, -1, -1], [0, 1, -1], [0, 1, 2]]
    with pytest.raises(NotImplementedError, match="at the same time"):
        generator_input_fn(ragged, pad_value=-1)()


def test_generators_that_do_not_fit():
    def numbers():
        yield 1

    for wrong, message in (
        (rows(), "x must be generator function"),
        (lambda: 3, r"x\(\) must be generator; got int"),
        (numbers, r"x\(\) must yield dict; got int"),
    ):
        with pytest.raises(TypeError, match=message):
            generator_input_fn(wrong)
    with pytest.raises(TypeError, match="target_key must be str"):
        generator_input_fn(rows, 3)
    with pytest.raises(TypeError, match="Container of str; got int"):
        generator_input_fn(rows, [3])
    with pytest.raises(KeyError, match="target_key not in yielded dict"):
        generator_input_fn(rows, ["z"])
