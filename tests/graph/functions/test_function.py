"""``tf.function``: caching, signatures, structures, variables, effects, errors. Meaning as in 2.15."""

import dataclasses
import functools
import gc
import weakref

import numpy as np
import pytest

import towerstrat.compat.v1 as tf1
import towerstrat.compat.v2 as tf
from towerstrat.graph.functions.eagerly import run_functions_eagerly


@pytest.fixture(autouse=True)
def as_in_2x(later_behavior):
    """Eagerly, and == compares values."""


def counted(function=None, **options):
    """A tf.function that counts its traces."""
    if function is None:
        return functools.partial(counted, **options)
    traces = []

    @functools.wraps(function)
    def inner(*args, **kwargs):
        traces.append(args)
        return function(*args, **kwargs)

    made = tf.function(inner, **options)
    return made, traces


def test_placeholders_are_called_by_their_parameters():
    seen = []
    tf.function(lambda x, pair, *, k: seen.extend([x.name, *(p.name for p in pair), k.name]))(
        tf.constant(1), (tf.constant(2), tf.constant(3)), k=tf.constant(4)
    )
    assert seen == ["x:0", "pair:0", "pair_1:0", "k:0"]


# ---- rule 23: by what a trace is found again ------------------------------------------------------------------------


def test_rule_23_python_values_count_by_type_and_value():
    function, traces = counted(lambda x: tf.constant(x))
    results = [function(v) for v in (1, 1.0, True, 1, 1.0, True, 2)]
    assert len(traces) == 4
    assert [r.dtype.name for r in results] == ["int32", "float32", "bool", "int32", "float32", "bool", "int32"]


def test_rule_23_tensors_count_by_dtype_and_shape():
    function, traces = counted(lambda x: x + x)
    for value in ([1.0, 2.0], [3.0, 4.0]):
        function(tf.constant(value))
    function(np.float32([5.0, 6.0]))
    assert len(traces) == 1
    function(tf.constant([1, 2]))
    function(tf.constant([1.0]))
    assert len(traces) == 3


def test_rule_23_variables_are_made_on_the_first_call_only():
    kept = []

    @tf.function
    def once(x):
        if not kept:
            kept.append(tf.Variable(3.0))
        return kept[0] * x

    assert float(once(2.0)) == 6.0
    assert float(once(tf.constant(3.0))) == 9.0

    @tf.function
    def always(x):
        return tf.Variable(1.0) * x

    with pytest.raises(ValueError, match=r"singleton tf.Variables created on the first call"):
        always(2.0)

    @tf.function
    def later(x, make):
        if make:
            kept.append(tf.Variable(1.0))
        return x

    later(1.0, False)
    with pytest.raises(ValueError, match="test_function.py"):
        later(1.0, True)


def test_rule_23_all_effects_happen():
    first, second = tf.Variable(0), tf.Variable(0)

    @tf.function
    def work(x):
        first.assign_add(1)
        unused = second.assign_add(10)
        del unused
        if x > 0:
            first.assign_add(100)
        return x

    work(tf.constant(1))
    work(tf.constant(-1))
    assert (int(first), int(second)) == (102, 20)


def test_effects_keep_their_order():
    variable = tf.Variable(1.0)

    @tf.function
    def work():
        before = variable.read_value()
        variable.assign(variable * 3.0)
        between = variable + 0.0
        variable.assign_add(1.0)
        return before, between, variable.value()

    assert [float(x) for x in work()] == [1.0, 3.0, 4.0]


def test_python_effects_happen_while_tracing_only():
    function, traces = counted(lambda x: x + 1)
    for i in range(5):
        function(tf.constant(i))
    assert len(traces) == 1


# ---- arguments and results -------------------------------------------------------------------------------------------


def test_structures_in_and_out():
    @tf.function
    def work(pair, *rest, named=None, **others):
        return {"sum": pair[0] + pair[1]["x"], "rest": [r * 2 for r in rest], "named": named, "none": None,
                "more": (others["a"], 1, "s", np.ones(2))}  # fmt: skip

    found = work((tf.constant(1.0), {"x": tf.constant(2.0)}), tf.constant(3.0), tf.constant(4.0), a=tf.constant(5.0))
    assert float(found["sum"]) == 3.0
    assert [float(r) for r in found["rest"]] == [6.0, 8.0]
    assert found["named"] is None
    assert found["none"] is None
    assert float(found["more"][0]) == 5.0
    assert found["more"][1].numpy() == 1
    assert found["more"][2].numpy() == b"s"
    np.testing.assert_array_equal(found["more"][3].numpy(), [1.0, 1.0])


def test_defaults_and_names_are_one_kind_of_call():
    function, traces = counted(lambda x, scale=2.0: x * scale)
    one = tf.constant(3.0)
    assert [float(v) for v in (function(one), function(one, 2.0), function(x=one, scale=2.0))] == [6.0] * 3
    assert len(traces) == 1


def test_rows_of_a_table_as_argument_and_result():
    rows = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 2]), tf.constant([3, 1]))
    found = tf.function(lambda s: tf.IndexedSlices(s.values * 2.0, s.indices, s.dense_shape))(rows)
    np.testing.assert_array_equal(tf.convert_to_tensor(found).numpy(), [[2.0], [0.0], [4.0]])


def test_variables_as_arguments():
    function, _traces = counted(lambda v, x: v.assign_add(x))
    one, two = tf.Variable(1.0), tf.Variable(10.0)
    function(one, tf.constant(2.0))
    function(two, tf.constant(2.0))
    function(one, tf.constant(2.0))
    assert (float(one), float(two)) == (5.0, 12.0)


def test_wrong_results_are_named():
    with pytest.raises(TypeError, match="cannot be made a tensor"):
        tf.function(lambda: object())()


# ---- signatures ------------------------------------------------------------------------------------------------------


def test_input_signature():
    function, traces = counted(lambda x: x * 2.0, input_signature=[tf.TensorSpec([None], tf.float32)])
    for size in (1, 2, 3):
        np.testing.assert_array_equal(function(np.ones(size, np.float32)).numpy(), np.full(size, 2.0))
    np.testing.assert_array_equal(function([1, 2]).numpy(), [2.0, 4.0])
    assert len(traces) == 1
    for bad in ((tf.constant([1, 2]),), (tf.constant([[1.0]]),), (tf.constant([1.0]), 2), ()):
        with pytest.raises(TypeError):
            function(*bad)
    with pytest.raises(TypeError, match="Invalid input_signature"):
        tf.function(lambda x: x, input_signature=[3])


def test_concrete_functions():
    @tf.function
    def work(x, scale, y=None):
        return x * scale if y is None else x * scale + y

    made = work.get_concrete_function(tf.TensorSpec([None], tf.float32), 3.0)
    np.testing.assert_array_equal(made(tf.constant([1.0, 2.0])).numpy(), [3.0, 6.0])
    np.testing.assert_array_equal(made(x=tf.constant([2.0])).numpy(), [6.0])
    assert made.structured_input_signature[0][0] == tf.TensorSpec([None], tf.float32, "x")
    assert made.structured_outputs.shape.as_list() == [None]
    with pytest.raises(TypeError, match="expects a float32 tensor"):
        made(tf.constant([1, 2]))
    with pytest.raises(TypeError, match="takes 1 tensors"):
        made(tf.constant([1.0]), tf.constant([1.0]))
    assert work.get_concrete_function(tf.TensorSpec([None], tf.float32), 3.0) is made
    assert [op.type for op in made.graph.get_operations()].count("Mul") == 1


def test_concrete_functions_know_their_variables():
    trained, other = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    made = tf.function(lambda: trained + other).get_concrete_function()
    assert [v is trained for v in made.trainable_variables] == [True]
    assert len(made.variables) == 2
    assert float(made()) == 3.0


@pytest.mark.parametrize("option", ["reduce_retracing", "experimental_relax_shapes"])
def test_relaxed_shapes(option):
    function, traces = counted(lambda x: tf.reduce_sum(x * 2.0), **{option: True})
    for size in (1, 2, 3, 4, 5):
        assert float(function(tf.ones([size]))) == 2.0 * size
    assert len(traces) == 2
    function(tf.ones([2, 2]))
    assert len(traces) == 3


def test_retracing_in_a_loop_is_said(caplog):
    function, _ = counted(lambda n: tf.constant(1.0) * n)
    with caplog.at_level("WARNING", logger="tensorflow"):
        for n in range(9):
            function(n)
    said = [r.getMessage() for r in caplog.records if "traced it again" in r.getMessage()]
    assert len(said) == 1
    assert "tf.constant" in said[0]
    assert "test_function.py" in said[0]


# ---- nesting, closures, methods --------------------------------------------------------------------------------------


def test_nested_functions_are_traced_once():
    inner, traces = counted(lambda x: x * x)

    @tf.function
    def outer(x):
        return inner(x) + inner(x * 2.0)

    assert float(outer(tf.constant(3.0))) == 45.0
    assert float(inner(tf.constant(3.0))) == 9.0
    assert len(traces) == 1


def test_nested_functions_see_the_tensors_around_them():
    @tf.function
    def outer(x):
        y = x * 2.0

        @tf.function
        def inner(z):
            return z + y

        return inner(x) + inner(y)

    assert float(outer(tf.constant(3.0))) == 21.0
    assert float(outer(tf.constant(4.0))) == 28.0


def test_effects_of_nested_functions():
    variable = tf.Variable(0.0)
    add = tf.function(lambda x: variable.assign_add(x))

    @tf.function
    def outer(x):
        add(x)
        add(x)
        return variable.value()

    assert float(outer(tf.constant(2.0))) == 4.0
    assert float(variable) == 4.0


def test_a_nested_function_with_branches_and_loops():
    @tf.function
    def inner(x, n):
        total = tf.zeros_like(x)
        for i in tf.range(n):
            if i % 2 == 0:
                total += x
            else:
                total -= 0.5 * x
        return total

    @tf.function
    def outer(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x, 5)
        return y, tape.gradient(y, x)

    y, dy = outer(tf.constant(2.0))
    assert (float(y), float(dy)) == (4.0, 2.0)


def test_closures_over_values_and_variables():
    offset, variable = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    function = tf.function(lambda x: x * offset + variable)
    np.testing.assert_array_equal(function(2.0).numpy(), [5.0, 8.0])
    variable.assign([0.0, 0.0])
    np.testing.assert_array_equal(function(2.0).numpy(), [2.0, 4.0])


def test_methods_keep_traces_per_instance_and_let_instances_go():
    class Model:
        def __init__(self, scale):
            self.scale = scale
            self.traces = 0
            self.v = None

        @tf.function
        def __call__(self, x):
            self.traces += 1
            if self.v is None:
                self.v = tf.Variable(self.scale)
            return self.v * x

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def signed(self, x):
            return x * self.scale

    one, two = Model(2.0), Model(3.0)
    assert [float(m(tf.constant(2.0))) for m in (one, two, one)] == [4.0, 6.0, 4.0]
    assert (one.traces, two.traces) == (1, 1)
    assert float(one.signed(5.0)) == 10.0
    assert float(Model(7.0)(tf.constant(1.0))) == 7.0
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_methods_are_converted():
    class Summer:
        @tf.function
        def __call__(self, n):
            total = 0
            for i in tf.range(n):
                total += i
            return total

        @tf.function
        def some(self, n):
            if n > 3:
                n = self(n)
            return n

    summer = Summer()
    outer = tf.function(lambda n: (summer(n), summer.some(n)))
    assert int(summer(tf.constant(4))) == 6
    assert [int(summer.some(tf.constant(n))) for n in (2, 4)] == [2, 6]
    assert [int(v) for v in outer(tf.constant(5))] == [10, 10]


def test_who_needs_an_output_in_a_graph_gets_the_effects():
    with tf.Graph().as_default():
        v = tf1.get_variable("v", initializer=2.0)

        @tf.function
        def assigned(x):
            v.assign(x)
            return v.read_value() * 10.0, x

        value, same = assigned(tf.constant(5.0))
        (slope,) = tf1.gradients(same, same.op.inputs[0])
        total = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + assigned(a)[1]), [0, tf.constant(1.0)])[1]
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            assert session.run(value) == 50.0
            assert (session.run(same), session.run(v), session.run(slope)) == (5.0, 5.0, 1.0)
            assert (session.run(total), session.run(v)) == (4.0, 2.0)


def test_methods_of_instances_that_are_equal_or_cannot_be_hashed():
    traces = []

    @dataclasses.dataclass
    class Scale:
        by: float = dataclasses.field(compare=False)

        @tf.function
        def __call__(self, x):
            traces.append(self)
            return x * self.by

    one, two = Scale(2.0), Scale(5.0)
    assert one == two
    assert [float(s(tf.constant(3.0))) for s in (one, two, one, two)] == [6.0, 15.0, 6.0, 15.0]
    assert len(traces) == 2


def test_functions_inside_of_graphs():
    function = tf.function(lambda x: x * 2.0 + 1.0)
    with tf.Graph().as_default():
        fed = tf1.placeholder(tf.float32, [None])
        made = function(fed)
        (grad,) = tf1.gradients(made, fed)
        with tf1.Session() as session:
            value, slope = session.run([made, grad], {fed: [1.0, 2.0]})
    np.testing.assert_array_equal(value, [3.0, 5.0])
    np.testing.assert_array_equal(slope, [2.0, 2.0])


def test_running_functions_eagerly():
    function, traces = counted(lambda x: x + 1)
    run_functions_eagerly(True)
    try:
        for i in range(3):
            function(tf.constant(i))
    finally:
        run_functions_eagerly(False)
    assert len(traces) == 3


def test_random_numbers_differ_by_call_and_repeat_by_seed():
    def drawn(seed):
        tf.random.set_seed(seed)
        draw = tf.function(lambda: tf.random.normal([3]))
        return draw().numpy(), draw().numpy()

    first, second = drawn(5)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(drawn(5), [first, second])
    assert not np.array_equal(drawn(6)[0], first)


def test_errors_of_checks_leave_the_state():
    variable = tf.Variable(1.0)

    @tf.function
    def work(x):
        variable.assign_add(1.0)
        tf.debugging.assert_greater(x, 0.0, message="must be positive")
        return x

    with pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        work(tf.constant(-1.0))
    assert float(variable) == 1.0
    work(tf.constant(1.0))
    assert float(variable) == 2.0


# ---- what goes wrong -------------------------------------------------------------------------------------------------


def test_values_that_do_not_exist_yet():
    for ask in (lambda x: x.numpy(), np.mean):
        with pytest.raises(
            (AttributeError, NotImplementedError),
            match=r"while the function .* is traced .*test_function.py.*tf.py_function",
        ):
            tf.function(ask)(tf.constant([1.0]))
    seen = []
    tf.function(lambda x: seen.append(hasattr(x, "numpy")))(tf.constant(1))
    assert seen == [False]
    with tf.Graph().as_default(), pytest.raises(AttributeError, match="numpy.*Session.run"):
        tf.constant(1).numpy()
    with pytest.raises(TypeError, match=r"float32 \(shape \(2,\)\) and int32 \(shape \(\)\).*tf.cast"):
        tf.constant([1.0, 2.0]) + tf.constant(1)


def test_tensors_that_leak():
    kept = []

    @tf.function
    def leaking(x):
        kept.append(x + 1.0)
        return x

    leaking(tf.constant(1.0))
    with pytest.raises(
        TypeError, match=r"out of scope and cannot be used here.*the function leaking.*test_function.py"
    ):
        kept[0] + 1.0
    with pytest.raises(TypeError, match=r"out of scope.*leaking.*test_function.py"):
        tf.function(lambda: kept[0] * 2.0)()


def test_truth_of_symbolic_tensors_in_unconverted_code():
    def choose(x):
        return 1.0 if x > 0 else 2.0

    with pytest.raises(TypeError, match="tf.cond"):
        tf.function(choose, autograph=False)(tf.constant(1.0))


def test_values_of_symbolic_tensors_are_not_there():
    def asks(x):
        return np.asarray(x)

    with pytest.raises(NotImplementedError, match="numpy array"):
        tf.function(asks, autograph=False)(tf.constant(1.0))
    variable = tf.Variable(1.0)
    with pytest.raises(NotImplementedError, match="only available when executing eagerly"):
        tf.function(lambda: variable.numpy(), autograph=False)()


def test_arguments_that_cannot_be_initial_values():
    kept = []

    @tf.function
    def work(x):
        if not kept:
            kept.append(tf.Variable(x * 2.0))
        return kept[0]

    with pytest.raises(ValueError, match=r"depends on the argument.*initialized once"):
        work(tf.constant(1.0))


def test_initial_values_made_inside():
    kept = []

    @tf.function
    def work():
        if not kept:
            kept.append(tf.Variable(tf.ones([2]) * 3.0))
        return kept[0] + 0.0

    np.testing.assert_array_equal(work().numpy(), [3.0, 3.0])


def test_steps_of_training_in_a_loop_of_a_function():
    """A step with a tape, a loss of its own with a custom gradient and a loop: called, in a loop, and eagerly."""
    weight, count = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable(0)

    @tf.custom_gradient
    def clipped(x):
        return x * 2.0, lambda dy: tf.clip_by_value(dy * x, -1.0, 1.0)

    @tf.function
    def loss_of(x):
        h = clipped(tf.matmul(x, weight))
        i = tf.constant(0)
        while i < 3:
            h = tf.tanh(h) + h
            i += 1
        return tf.reduce_mean(h)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        count.assign_add(1)
        return loss

    @tf.function
    def many(x, steps):
        loss = 0.0
        for _ in tf.range(steps):
            loss = step(x)
        return loss

    def eager_step(x):
        with tf.GradientTape() as tape:
            loss = loss_of(x)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return loss

    x, start = tf.constant([[0.1, 0.2]]), weight.numpy()
    called = [float(step(x)) for _ in range(4)][-1]
    weight.assign(start)
    looped = float(many(x, tf.constant(4)))
    weight.assign(start)
    eagerly = [float(eager_step(x)) for _ in range(4)][-1]
    # The original's value.
    assert (called, looped, eagerly) == pytest.approx((4.5926476,) * 3, rel=1e-6)
    assert int(count) == 8


def test_each_access_to_a_method_gives_an_equal_function():
    class Model:
        @tf.function
        def step(self, x):
            return x

    one, other = Model(), Model()
    assert one.step == one.step
    assert hash(one.step) == hash(one.step)
    assert one.step != other.step


def test_variables_of_one_name_are_told_apart():
    first, second = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")

    @tf.function
    def add():
        first.assign_add(10.0)
        return first + second.assign_add(20.0)

    assert add().numpy() == 33.0
    assert (first.numpy(), second.numpy()) == (11.0, 22.0)


def test_an_input_signature_of_a_function_with_args():
    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)] * 3)
    def function(first, *rest):
        return first - 2.0 * rest[0] + 4.0 * rest[1] if len(rest) == 2 else -1.0

    assert function(tf.constant(1.0), tf.constant(10.0), tf.constant(100.0)).numpy() == 381
