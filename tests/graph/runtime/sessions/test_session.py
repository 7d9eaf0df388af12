"""Session.run: fetches, feeds, state, random streams, copies, caching, failures."""

import collections
import threading

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.locks import is_free


def aligned(array):
    """A copy of an array at an address that the CPU backend could use without copying."""
    raw = np.empty(array.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    out = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


Pair = collections.namedtuple("Pair", "a b")


def test_fetch_structures():
    a, b = tf.constant(1.0, name="a"), tf.constant([2, 3])
    v = tf.Variable(4.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        got = sess.run({"x": [a, (b, "a:0")], "y": Pair(a.op, v), "z": {}})
        assert got["x"][0] == 1.0
        assert got["x"][1][0].tolist() == [2, 3]
        assert got["x"][1][1] == 1.0
        assert got["y"] == Pair(None, 4.0)
        assert isinstance(got["y"], Pair)
        assert sess.run([]) == []
        for bad in (None, 3, object(), [np.ones(2)]):
            with pytest.raises(TypeError, match="Fetch argument"):
                sess.run(bad)
        with pytest.raises(ValueError, match="cannot be fetched"):
            sess.run("nothing:0")


def test_dictionaries_keep_their_order_and_type_whatever_their_keys():
    a, b = tf.constant(1), tf.constant([2, 3])
    mixed = {"z": a, 2: {"y": (b, a), ("t",): a}, "b": b}
    ordered = collections.OrderedDict([("z", a), ("a", b)])
    with tf.Session() as sess:
        got, again = sess.run([mixed, ordered])
    assert list(got) == ["z", 2, "b"]
    assert list(got[2]) == ["y", ("t",)]
    assert (got["z"], got[2][("t",)], got["b"].tolist()) == (1, 1, [2, 3])
    assert type(again) is collections.OrderedDict
    assert list(again) == ["z", "a"]


def test_a_session_is_entered_once_and_a_graph_with_only_an_iterator_runs():
    with tf.Session() as sess:
        with pytest.raises(RuntimeError, match="graph is empty"):
            sess.run([])
        tf.data.Dataset.range(3).make_one_shot_iterator()
        assert sess.run([]) == []
        with pytest.raises(RuntimeError, match="not re-entrant"):
            sess.__enter__()
        with sess.as_default():
            assert tf.constant(3).eval() == 3
        assert tf.get_default_session() is sess
    assert tf.get_default_session() is None


def test_types_of_fetched_values():
    with tf.Session() as sess:
        for dtype in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.bool, tf.float16):
            value = sess.run(
                tf.placeholder_with_default(tf.cast([1], dtype), [1]) if dtype != tf.bool else tf.constant([True])
            )
            assert value.dtype == dtype.as_numpy_dtype
        assert sess.run(tf.constant("text")) == b"text"
        assert sess.run(tf.constant(2**40, tf.int64) + 1) == 2**40 + 1
        assert isinstance(sess.run(tf.constant(1.0)), np.float32)


def test_feeds():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = x * 2.0
    z = y + 1.0
    with tf.Session() as sess:
        assert sess.run(z, {x: [[1, 2]]}).tolist() == [[3, 5]]
        assert sess.run(z, {"x:0": np.ones((2, 2))}).tolist() == [[3, 3], [3, 3]]
        assert sess.run(z, {y: [[10.0, 10.0]]}).tolist() == [[11, 11]]
        assert sess.run([x, z], {x: np.zeros((0, 2))})[1].shape == (0, 2)
        assert y.eval({x: [[1, 1]]}).tolist() == [[2, 2]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
            sess.run(z)
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor 'x:0'.*test_session.py"):
            sess.run(z, {x: [1.0, 2.0, 3.0]})
        with pytest.raises((TypeError, ValueError), match="Cannot feed"):
            sess.run(z, {x: [["a", "b"]]})
        with pytest.raises(TypeError, match="cannot be a tf.Tensor"):
            sess.run(z, {x: y})
        with pytest.raises(TypeError, match="Cannot interpret feed_dict key"):
            sess.run(z, {"nothing:0": 1})
        tf.get_default_graph().prevent_feeding(y)
        with pytest.raises(ValueError, match="may not be fed"):
            sess.run(z, {y: 1})


def test_a_fed_integer_may_reach_a_shape():
    n = tf.placeholder(tf.int32, [])
    x = tf.reshape(tf.range(12), [n, -1])
    total = tf.reduce_sum(tf.ones([n, 2]))
    with tf.Session() as sess:
        assert sess.run(x, {n: 3}).shape == (3, 4)
        assert sess.run([x, total], {n: 4})[0].shape == (4, 3)
        assert sess.run(total, {n: 5}) == 10
        assert sess.run(tf.range(n), {n: 4}).tolist() == [0, 1, 2, 3]


def test_shapes_that_depend_on_values():
    x = tf.placeholder(tf.float32, [None])
    kept = tf.boolean_mask(x, x > 1.0)
    with tf.Session() as sess:
        assert sess.run(kept, {x: [0, 2, 3]}).tolist() == [2, 3]
        assert sess.run([tf.reduce_sum(kept), tf.shape(kept)], {x: [0, 2, 3]})[1].tolist() == [2]
        assert sess.run(tf.gradients(tf.reduce_sum(kept * kept), x), {x: [0, 2, 3]})[0].tolist() == [0, 4, 6]


def test_sessions_are_independent():
    v = tf.Variable(1.0)
    one, two = tf.Session(), tf.Session()
    one.run(v.initializer)
    two.run(v.assign(5.0))
    assert (one.run(v), two.run(v)) == (1.0, 5.0)
    one.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        one.run(v)
    assert two.run(v) == 5.0


def test_uninitialized_variables_come_with_their_initializer():
    v = tf.Variable(1.0, name="v")
    total = tf.get_variable("total", [], collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with tf.Session() as sess:
        for fetch, kind in ((v, "global"), (v + 1.0, "global"), (total, "local"), (total + 1.0, "local")):
            message = rf"Run its initializer first, for example session.run\(tf.{kind}_variables_initializer"
            with pytest.raises(tf.errors.FailedPreconditionError, match=message) as error:
                sess.run(fetch)
            assert not getattr(error.value, "__notes__", [])


def test_uninitialized_reads_name_the_variable_before_anything_runs():
    a = tf.Variable(1.0, name="a")
    b = tf.Variable(1.0, name="b")
    with tf.Session() as sess:
        sess.run(a.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value b") as error:
            sess.run([a.assign_add(1.0), b + 1.0])
        assert "test_session.py" in str(error.value)
        assert sess.run(a) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value b"):
            sess.run(b)


def test_one_run_may_initialize_and_read():
    a = tf.Variable(2.0)
    with tf.control_dependencies([a.initializer]):
        doubled = a * 2.0
    b = tf.Variable(a.initialized_value() * 3.0)
    with tf.Session() as sess:
        assert sess.run(doubled) == 4.0
        sess.run(b.initializer)
        assert sess.run(b) == 6.0


def test_random_streams_depend_on_nothing_but_themselves():
    tf.set_random_seed(1)
    a = tf.random_uniform([3], seed=5)
    b = tf.random_uniform([3], seed=6)

    def draw(*order):
        with tf.Session() as sess:
            return [sess.run(t) for t in order]

    first, second = draw(a, a)
    assert not np.array_equal(first, second)
    assert np.array_equal(draw(b, a, b, a)[3], second)
    assert np.array_equal(draw(b, a, b, a)[1], first)
    with tf.Session() as sess:
        x, y = sess.run([a, a + 0.0])
        assert np.array_equal(x, y)


def test_a_feed_buffer_may_be_overwritten_at_once():
    v = tf.Variable(tf.zeros([1000]))
    x = tf.placeholder(tf.float32, [1000])
    keep = v.assign(x)
    buffer = aligned(np.ones(1000, np.float32))
    with tf.Session() as sess:
        for i in range(20):
            buffer[:] = i
            sess.run(keep.op, {x: buffer})
            buffer[:] = -1
            assert (sess.run(v) == i).all()


def test_an_initial_value_is_not_the_users_buffer():
    buffer = aligned(np.ones(1000, np.float32))
    v = tf.Variable(buffer)
    with tf.Session() as sess:
        buffer[:] = 5
        sess.run(v.initializer)
        sess.run(v.assign_add(tf.ones([1000])))
        assert (buffer == 5).all()
        assert (sess.run(v) == 2).all()


def test_fetched_values_are_copies():
    v = tf.Variable(tf.zeros([1000]))
    x = tf.placeholder(tf.float32, [1000])
    with tf.Session() as sess:
        sess.run(v.initializer)
        first = sess.run(v)
        fed = aligned(np.ones(1000, np.float32))
        passed = sess.run(tf.identity(x), {x: fed})
        fed[:] = 7
        sess.run(v.assign_add(tf.ones([1000])))
        first[:] = 9
        assert (passed == 1).all()
        assert (sess.run(v) == 1).all()


def test_the_second_run_of_the_same_fetches_traces_nothing():
    v = tf.Variable(0.0)
    add = v.assign_add(1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(add)
        plans = {k: p for k, (_, _, p, _) in sess._plans.items()}
        from jax._src import test_util

        with test_util.count_jit_and_pmap_lowerings() as count:
            for _ in range(3):
                sess.run(add)
        assert count() == 0
        assert plans == {k: p for k, (_, _, p, _) in sess._plans.items()}
        assert sess.run(v) == 4.0


def test_two_variables_may_share_a_value():
    a, b = tf.Variable(tf.ones([10])), tf.Variable(tf.zeros([10]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(b.assign(a))
        sess.run([a.assign_add(tf.ones([10])), b.assign_add(tf.ones([10]))])
        assert (sess.run(a) == 2).all()
        assert (sess.run(b) == 2).all()


def test_make_callable_and_default_sessions():
    x = tf.placeholder(tf.float32)
    with tf.Session() as sess:
        double = sess.make_callable(x * 2.0, [x])
        assert double(3.0) == 6.0
        with pytest.raises(TypeError, match="Expected 1 values"):
            double()
        assert tf.get_default_session() is sess
        assert tf.constant(2.0).eval() == 2.0
    assert tf.get_default_session() is None
    with pytest.raises(ValueError, match="needs a session"):
        tf.constant(1.0).eval()
    interactive = tf.InteractiveSession()
    assert tf.constant(3.0).eval() == 3.0
    interactive.close()
    assert tf.get_default_session() is None


def test_configuration_is_accepted_or_refused_by_name():
    config = tf.ConfigProto(allow_soft_placement=True, inter_op_parallelism_threads=2)
    config.gpu_options.allow_growth = True
    tf.Session(config=config).close()
    config.rpc_options.use_rpc_for_inprocess_master = True
    with pytest.raises(NotImplementedError, match="ConfigProto.rpc_options is not supported: sessions are local"):
        tf.Session(config=config)
    receiving = tf.ConfigProto(graph_options=tf.GraphOptions(enable_recv_scheduling=True))
    with pytest.raises(NotImplementedError, match="graph_options.enable_recv_scheduling is not supported"):
        tf.Session(config=receiving)
    with pytest.raises(NotImplementedError, match="expected '' for this machine"):
        tf.Session("elsewhere")
    with pytest.raises(TypeError, match="ConfigProto"):
        tf.Session(config={})
    with tf.Session() as sess, pytest.raises(NotImplementedError, match="partial_run"):
        sess.partial_run(None, [])


def test_a_result_that_is_too_large_is_a_resource_that_is_exhausted():
    n = tf.placeholder(tf.int32, [])
    with tf.Session() as sess:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Unable to allocate"):
            sess.run(tf.fill([n, n], 1.0), {n: 2**30})
        assert sess.run(n + 1, {n: 1}) == 2


def test_options_of_a_run():
    x = tf.placeholder(tf.float32, [])
    metadata = tf.RunMetadata()
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session() as sess:
        assert sess.run(x + 1.0, {x: 2.0}, options=traced, run_metadata=metadata) == 3.0
        (device,) = metadata.step_stats.dev_stats
        assert device.node_stats[0].all_end_rel_micros > 0
        assert metadata.partition_graphs[0] == tf.get_default_graph().as_graph_def()
        assert sess.run(x, {x: 2.0}, options=tf.RunOptions(), run_metadata=metadata) == 2.0
        assert metadata == tf.RunMetadata()
        assert sess.run(x, {x: 1.0}, options=tf.RunOptions(timeout_in_ms=60000)) == 1.0
        with pytest.raises(TypeError, match=r"options must be a tf.RunOptions, got dict"):
            sess.run(x, {x: 1.0}, options={})
        with pytest.raises(TypeError, match=r"run_metadata must be a tf.RunMetadata, got list"):
            sess.run(x, {x: 1.0}, run_metadata=[])


def test_callables_that_take_options():
    x = tf.placeholder(tf.float32, [])
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        plain, describing = (sess.make_callable(x * 2.0, [x], accept_options=a) for a in (False, True))
        assert plain(2.0) == describing(2.0) == 4.0
        options = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE)
        assert describing(3.0, options=options, run_metadata=metadata) == 6.0
        assert len(metadata.step_stats.dev_stats) == 1
        with pytest.raises(TypeError, match="accept_options=True"):
            plain(2.0, options=options)


def test_names_of_bytes():
    x = tf.constant(3, name="x")
    with tf.Session() as sess:
        assert sess.run([b"x:0", b"x"]) == [3, None]
        assert sess.run(x, {b"x:0": 4}) == 4


def test_the_users_jax_configuration_is_left_alone():
    import jax

    with tf.Session() as sess:
        assert sess.run(tf.constant(1.0, tf.float64) * 3.0).dtype == np.float64
    assert not jax.config.jax_enable_x64
    assert jax.numpy.arange(3).dtype == np.int32


def test_py_func_between_device_programs():
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0)
    y = tf.py_func(lambda a: np.float32(a + 1), [x * v], tf.float32)
    z = y * v
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run(z, {x: 3.0}) == 4.0
        assert sess.run([z, v.assign_add(1.0), y], {x: 3.0}) == [4.0, 2.0, 4.0]


def test_a_device_failure_says_what_was_lost():
    import jax

    v = tf.Variable(1.0, name="v")
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.state.get(v.cell).delete()
        error = sess._device_failure(jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory"))
        assert isinstance(error, tf.errors.ResourceExhaustedError)
        assert "1 variables (v) were lost" in str(error)
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            sess.run(v + 1.0)
        assert "lost when the device failed" in "".join(caught.value.__notes__)


def test_sessions_of_a_server_wait_while_one_of_them_takes_its_state(monkeypatch):
    server = tf.train.Server.create_local_server()
    w = tf.get_variable("w", initializer=1.0)
    with tf.Session(server.target) as first, tf.Session(server.target) as second:
        first.run(w.initializer)
        entered, free = first.server.entered, []
        monkeypatch.setattr(first.server, "entered", lambda s: (free.append(is_free(first.lock)), entered(s)))
        second.state  # noqa: B018  (reading it is what is tested)
        assert free == [False]


def test_checks_of_a_run_are_looked_at_once():
    class Run:
        looks = 0

        def raise_late_errors(self):
            self.looks += 1
            if self.looks > 1:
                raise AssertionError("looked at again")

    with tf.Session() as session:
        run = Run()
        session._late = (run, threading.get_ident())
        session.raise_late_errors()
        session.raise_late_errors()
        assert run.looks == 1
