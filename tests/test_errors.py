"""Errors leave a process and are copied as other exceptions are."""

import copy
import multiprocessing
import pickle

import pytest

import towerstrat.compat.v1 as tf
from towerstrat import errors

NAMED = [getattr(tf.errors, name) for name in dir(tf.errors)]
CODED = [kind for kind in NAMED if isinstance(kind, type) and issubclass(kind, tf.errors.OpError)]


@pytest.mark.parametrize("kind", [k for k in CODED if k is not tf.errors.OpError], ids=lambda k: k.__name__)
def test_every_error_survives_pickling_and_copying(kind):
    error = kind(None, None, "what happened")
    error.add_note("a note")
    for made in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(made) is kind
        assert (made.message, str(made), made.args) == ("what happened", "what happened", ("what happened",))
        assert made.error_code == error.error_code != 0
        assert made.__notes__ == ["a note"]


class Own(errors.OpError):
    def __init__(self, where):
        super().__init__(None, None, f"failed at {where}", 3)
        self.where = where


def test_derived_errors_need_no_constructor_of_that_kind():
    made = pickle.loads(pickle.dumps(Own("home")))
    assert (type(made), made.where, str(made), made.error_code) == (Own, "home", "failed at home", 3)


def test_other_errors_survive_too():
    general = errors.OpError(None, None, "general", 77)
    eager = errors.EagerArgumentError(None, None, "does not fit")
    for error in (general, eager, errors.UnsupportedError("not here"), errors.UnknownSymbolError("no such name")):
        made = pickle.loads(pickle.dumps(error))
        assert (type(made), str(made)) == (type(error), str(error))
    assert isinstance(pickle.loads(pickle.dumps(eager)), ValueError)


def failed_run(bad):
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(tf.check_numerics(x, "bad"), {x: bad})
    return caught.value


def test_the_operation_stays_in_the_text_and_in_copies():
    error = failed_run(float("nan"))
    made = pickle.loads(pickle.dumps(error))
    assert made.op is None
    assert "CheckNumerics" in str(made) == str(error)
    assert "test_errors.py" in str(made)
    assert copy.copy(error).op is error.op is copy.deepcopy(error).op is not None


def fails(k):
    raise tf.errors.InvalidArgumentError(None, None, f"worker {k} says no")


def test_an_error_of_a_worker_reaches_the_parent():
    with multiprocessing.get_context("spawn").Pool(1) as pool, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        pool.map(fails, [1])
    assert caught.value.message == "worker 1 says no"
