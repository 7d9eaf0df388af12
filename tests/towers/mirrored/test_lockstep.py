"""Towers that take turns: errors, threads, scopes, what they meet for, what is said of towers that differ."""

import threading

import pytest

import towerstrat.compat.v1 as tf
from towerstrat.errors import UnsupportedError


def strategy(towers=3):
    return tf.contrib.distribute.MirroredStrategy(devices=[f"/cpu:{k}" for k in range(towers)])


def context():
    return tf.contrib.distribute.get_tower_context()


def number():
    return context().tower_id


def threads():
    return {t for t in threading.enumerate() if t is not threading.main_thread()}


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threads()
    yield
    assert threads() <= before


def called(fn, *args, towers=3):
    d = strategy(towers)
    with d.scope():
        return list(d.unwrap(d.call_for_each_tower(fn, *args)))


# ---- the order of calls ------------------------------------------------------------------------------------------


def test_towers_take_turns_up_to_each_meeting():
    log = []

    def meet(distribution, value):
        log.append(f"meeting of {len(distribution.unwrap(value))}")
        return value

    def tower():
        for i in range(2):
            log.append(f"{number()} before {i}")
            assert context().merge_call(meet, number()) == number()
        log.append(f"{number()} done")

    called(tower)
    assert log == [
        "0 before 0", "1 before 0", "2 before 0", "meeting of 3", "0 before 1", "1 before 1", "2 before 1",
        "meeting of 3", "0 done", "1 done", "2 done",
    ]  # fmt: skip


def test_towers_without_a_meeting_do_not_wait_for_each_other():
    log = []
    assert called(lambda: log.append(number()) or number() * 2) == [0, 2, 4]
    assert log == [0, 1, 2]


# ---- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("when", ["before", "between", "after"])
def test_an_exception_of_one_tower_reaches_the_caller_and_frees_the_others(which, when):
    ended = []

    def fail(now):
        if now == when and number() == which:
            raise KeyError(f"{number()} {now}")

    def tower():
        try:
            fail("before")
            context().merge_call(lambda d: None)
            fail("between")
            context().merge_call(lambda d: None)
            fail("after")
        finally:
            ended.append(number())

    with pytest.raises(KeyError, match=f"{which} {when}"):
        called(tower)
    started = which + 1 if when == "before" else 3
    assert sorted(ended) == list(range(started))
    assert called(lambda: number()) == [0, 1, 2]  # nothing of the failed call is left
    assert tf.get_default_graph().get_name_scope() == ""


def test_an_exception_where_the_towers_meet_ends_all_of_them():
    ended = []

    def fail(distribution):
        raise ZeroDivisionError("in the meeting")

    def tower():
        try:
            context().merge_call(fail)
        except Exception:  # what the function of a meeting raises is the caller's, not the towers'
            ended.append("caught")
        finally:
            ended.append(number())

    with pytest.raises(ZeroDivisionError, match="in the meeting"):
        called(tower)
    assert ended == [0, 1, 2]


@pytest.mark.parametrize("least", [0, 1, 2])
def test_different_numbers_of_meetings(least):
    def tower():
        for _ in range(1 if number() == least else 2):
            context().merge_call(lambda d: None)

    with pytest.raises(RuntimeError, match=r"different number of tower_context\(\).merge_call\(\) calls"):
        called(tower)


def test_a_tower_that_catches_everything_ends_too():
    def tower():
        try:
            context().merge_call(lambda distribution: None)
        except:  # noqa: E722 (a program of the time)
            context().merge_call(lambda distribution: None)

    def fails():
        if number() == 2:
            raise KeyError("mine")
        tower()

    with pytest.raises(KeyError, match="mine"):
        called(fails)


def test_a_variable_of_one_tower_alone():
    def tower():
        if number():
            tf.get_variable("more", initializer=1.0)

    with pytest.raises(ValueError, match="more does not exist"):
        called(tower)

    def unnamed():
        if number():
            tf.Variable(1.0)

    with pytest.raises(RuntimeError, match="Every tower makes the same variables"):
        called(unnamed)


@pytest.mark.parametrize("inside", ["cond", "while_loop"])
def test_a_meeting_under_a_condition_that_differs_is_refused(inside):
    def meet(*_):
        return context().merge_call(lambda d, x: d.reduce(tf.VariableAggregation.SUM, x, "/cpu:0"), tf.constant(1.0))

    def tower():
        x = tf.constant(float(number()))
        if inside == "cond":
            return tf.cond(x > 0, meet, lambda: x)
        return tf.while_loop(lambda v: v < 1, meet, [x])

    with pytest.raises((RuntimeError, UnsupportedError), match="differ"):
        called(tower)


def test_gradients_are_applied_in_a_branch():
    d = strategy(2)
    with tf.Graph().as_default(), d.scope(), tf.Session() as session:
        chosen, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
        weight = tf.get_variable("weight", initializer=1.0)
        optimizer = tf.train.GradientDescentOptimizer(0.1)

        def tower():
            gradients = optimizer.compute_gradients(weight * x * (number() + 1.0), [weight])

            def apply():
                with tf.control_dependencies([optimizer.apply_gradients(gradients)]):
                    return tf.constant(1.0)

            return tf.cond(chosen, apply, lambda: tf.constant(0.0))

        results = d.unwrap(d.call_for_each_tower(tower))
        session.run(tf.global_variables_initializer())
        for choice, value, result, after in ((True, 3.0, 1.0, 0.55), (False, 4.0, 0.0, 0.55), (True, 5.0, 1.0, -0.2)):
            assert session.run(results, {chosen: choice, x: value}) == [result] * 2
            assert session.run(d.read_var(weight)) == pytest.approx(after)


# ---- nested ------------------------------------------------------------------------------------------------------


def test_towers_are_called_where_towers_meet():
    log = []

    def inner(value):
        log.append(f"inner {number()}")
        return value * 10.0

    def meet(distribution, value):
        return distribution.call_for_each_tower(inner, value)

    def tower():
        log.append(f"outer {number()}")
        return context().merge_call(meet, tf.constant(1.0) + float(number())) + 1.0

    results = called(tower)
    with tf.Session() as sess:
        assert sess.run(list(results)) == [11.0, 21.0, 31.0]
    assert log == [f"outer {k}" for k in range(3)] + [f"inner {k}" for k in range(3)]


def test_towers_cannot_be_called_in_a_tower():
    def tower():
        return context().distribution_strategy.call_for_each_tower(lambda: 1)

    with pytest.raises(RuntimeError):
        called(tower)


# ---- scopes ------------------------------------------------------------------------------------------------------


def test_scopes_are_each_tower_s_own():
    names = []

    def tower():
        with tf.name_scope("mine"), tf.control_dependencies([tf.no_op()]):
            context().merge_call(lambda d: names.append(tf.no_op(name="met").name))
            names.append(tf.identity(1.0).op.name)
        names.append(tf.identity(1.0, name="after").op.name)

    with tf.name_scope("outer"):
        called(tower, towers=2)
    assert names == [
        "outer/mine/met", "outer/mine/Identity", "outer/after", "outer/tower_1/mine/Identity", "outer/tower_1/after",
    ]  # fmt: skip


def test_variable_creators_of_the_caller_and_of_towers():
    made = []

    def outer(next_creator, **kwargs):
        made.append(f"outer {kwargs['name']}")
        return next_creator(**kwargs)

    def tower():
        def own(next_creator, **kwargs):
            made.append(f"own of {number()} {kwargs['name']}")
            return next_creator(**kwargs)

        with tf.variable_creator_scope(own), tf.variable_scope("net"):
            return tf.Variable(1.0, name="v")

    with tf.variable_creator_scope(outer):
        variables = called(tower)
    assert [v.name for v in tf.global_variables()] == ["net/v:0"]
    assert len(variables) == 3
    assert [line for line in made if line.startswith("own")] == [f"own of {k} v" for k in range(3)]
    assert [line for line in made if line.startswith("outer")][:1] == ["outer v"]


def test_devices():
    devices = []

    def tower():
        devices.append(tf.identity(1.0).device)
        with tf.device("/cpu:0"):
            devices.append(tf.identity(1.0).device)
        context().merge_call(lambda d: None)
        devices.append(tf.identity(1.0).device)

    called(tower, towers=2)
    assert [d[-5:] for d in devices] == ["CPU:0", "CPU:0", "CPU:1", "CPU:0", "CPU:0", "CPU:1"]


# ---- what is said ------------------------------------------------------------------------------------------------


def test_the_log_says_which_operation_first_differs(caplog):
    x = tf.constant(2.0)

    def tower():
        y = tf.tanh(x)
        if number() == 1:
            y = tf.square(y)  # here
        return y + 1.0

    with caplog.at_level("INFO", "tensorflow"):
        called(tower)
    (line,) = [r.getMessage() for r in caplog.records if "do not all run the same operations" in r.getMessage()]
    assert "type Square" in line
    assert "test_lockstep.py" in line
    assert "y = tf.square(y)  # here" in line
    assert "of 1 alone" in line


def test_the_log_says_nothing_of_towers_that_are_alike(caplog):
    x = tf.constant(2.0)
    with caplog.at_level("INFO", "tensorflow"):
        called(lambda: tf.tanh(x) * float(number()))
    assert caplog.records == []


def test_variables_named_after_a_towers_own_scope_are_one():
    """Metrics of the first k name theirs after the scope of the operation: ``tower_1/...`` in the second tower."""
    rows = tf.constant([[0, 1], [1, 1]], tf.int64), tf.constant([[0.9, 0.1], [0.8, 0.2]])

    def fn():
        with tf.name_scope("outer"):
            own = [tf.gather(t, [number()]) for t in rows]
            return tf.metrics.average_precision_at_k(*own, 1)

    s = strategy(2)
    with s.scope():
        value, update = s.call_for_each_tower(fn)
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(s.unwrap(update))
        assert session.run(value) == 0.5
    assert len(tf.local_variables()) == 2


@pytest.mark.parametrize("make", [strategy, lambda n: tf.distribute.MirroredStrategy([f"/cpu:{k}" for k in range(n)])])
def test_creators_from_outside_of_the_scope_are_called_for_each_copy(make):
    """As in 1.12.3 and 2.15.1."""
    seen = []

    def creator(next_creator, **kwargs):
        made = next_creator(**kwargs)
        seen.append((kwargs["name"], made.name))
        return made

    with tf.variable_creator_scope(creator), make(2).scope():
        made = tf.get_variable("w", [2])
        tf.get_variable("r", [], synchronization=tf.VariableSynchronization.ON_READ)
    assert seen == [
        ("w", "w:0"), ("w/replica_1/", "w/replica_1:0"), ("r", "r:0"), ("r/replica_1/", "r/replica_1:0"),
    ]  # fmt: skip
    assert made.name == "w:0"
    assert [v.op.name for v in tf.global_variables()] == ["w", "r"]


def test_summaries_merged_in_a_tower_are_those_of_the_first():
    def fn():
        with tf.control_dependencies([tf.no_op()]):
            tf.summary.scalar("own", number() + 1.0)
        return tf.summary.merge_all()

    s = strategy(2)
    with s.scope():
        merged = s.unwrap(s.call_for_each_tower(fn))
    with tf.Session() as session:
        for text in session.run(merged):
            (value,) = tf.Summary.FromString(text).value
            assert (value.tag, value.simple_value) == ("own", 1.0)
