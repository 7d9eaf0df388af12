"""Towers that programs write by hand, side by side on the devices, against the same programs run as they are."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.spread import spread
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.graph.runtime.sessions import session as sessions
from towerstrat.graph.runtime.sessions.device_towers import side_by_side

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.rand(3, 24, 6, 6, 1).astype(np.float32)
ROWS = RANDOM.randn(3, 24, 5).astype(np.float32)
LABELS = RANDOM.randint(0, 4, (3, 24)).astype(np.int32)
WORDS = RANDOM.randint(0, 7, (3, 24, 3)).astype(np.int32)


# ---- programs ----------------------------------------------------------------------------------------------------


def average_gradients(of_towers):
    """The gradients of all towers' variables, averaged; rows of tables put one after the other."""
    averaged = []
    for pairs in zip(*of_towers, strict=True):
        gradients = [g for g, _ in pairs]
        if isinstance(gradients[0], tf.IndexedSlices):
            values = tf.concat([g.values for g in gradients], 0) / len(gradients)
            mean = tf.IndexedSlices(values, tf.concat([g.indices for g in gradients], 0), gradients[0].dense_shape)
        else:
            mean = tf.reduce_mean(tf.concat([tf.expand_dims(g, 0) for g in gradients], 0), 0)
        averaged.append((mean, pairs[0][1]))
    return averaged


def trained(model, inputs, towers, optimizer=lambda: tf.train.MomentumOptimizer(0.1, 0.9), device="/gpu:%d", fed=True):
    """A program of the usual form: (what it fetches, what it feeds at each step).

    Args:
      model: (tower's inputs) -> logits.
      inputs: what is fed at the steps, the labels last.
      fed: through a placeholder that is split; else each tower has one of its own.
    """
    rule, gradients, losses = optimizer(), [], []
    if fed:
        whole = [tf.placeholder(a.dtype, [None, *a.shape[2:]]) for a in inputs]
        parts = list(zip(*[tf.split(p, towers) for p in whole], strict=True))
        feeds = [dict(zip(whole, step, strict=True)) for step in zip(*inputs, strict=True)]
    else:
        parts = [[tf.placeholder(a.dtype, [None, *a.shape[2:]]) for a in inputs] for _ in range(towers)]
        feeds = []
        for step in zip(*inputs, strict=True):
            of_towers = list(zip(*[np.split(a, towers) for a in step], strict=True))
            feeds.append({p: a for k in range(towers) for p, a in zip(parts[k], of_towers[k], strict=True)})
    for k in range(towers):
        with tf.device(device % k if isinstance(device, str) else device(k)), tf.name_scope(f"tower_{k}"):
            with tf.variable_scope("model", reuse=k > 0):
                logits = model(*parts[k][:-1])
            cross = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=parts[k][-1], logits=logits)
            losses.append(tf.reduce_mean(cross))
            gradients.append(rule.compute_gradients(losses[-1]))
    train = rule.apply_gradients(average_gradients(gradients))
    return [train, tf.add_n(losses) / towers, *losses], feeds


def convnet(images):
    net = tf.layers.conv2d(images, 8, 3, padding="same", activation=tf.nn.relu, name="conv")
    net = tf.layers.max_pooling2d(net, 2, 2)
    return tf.layers.dense(tf.layers.flatten(net), 4, name="dense")


def perceptron(rows):
    return tf.layers.dense(tf.layers.dense(rows, 6, activation=tf.nn.tanh, name="hidden"), 4, name="logits")


def embedded(words):
    table = tf.get_variable("table", [7, 5])
    return tf.layers.dense(tf.reduce_mean(tf.nn.embedding_lookup(table, words), 1), 4, name="dense")


def controlled(rows):
    hidden = tf.layers.dense(rows, 6, name="hidden")
    hidden = tf.cond(tf.reduce_mean(rows) > 0, lambda: tf.tanh(hidden), lambda: tf.sin(hidden))
    _, hidden = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, 0.5 * h + tf.square(h)), (0, hidden))
    return tf.layers.dense(hidden, 4, name="logits")


def setter(tower):
    """A device function that puts variables on the CPU."""
    kinds = ("VariableV2", "VarHandleOp", "Variable")
    return lambda op: "/cpu:0" if op.type in kinds else f"/gpu:{tower}"


def adam():
    return tf.train.AdamOptimizer(0.02)


PROGRAMS = {
    "convnet": lambda n: trained(convnet, [IMAGES, LABELS], n),
    "adam": lambda n: trained(perceptron, [ROWS, LABELS], n, adam),
    "embeddings": lambda n: trained(embedded, [WORDS, LABELS], n, lambda: tf.train.GradientDescentOptimizer(0.5)),
    "embeddings and adam": lambda n: trained(embedded, [WORDS, LABELS], n, adam),
    "cond and while": lambda n: trained(controlled, [ROWS, LABELS], n),
    "a placeholder for each": lambda n: trained(perceptron, [ROWS, LABELS], n, fed=False),
    "a device function": lambda n: trained(perceptron, [ROWS, LABELS], n, device=setter),
    "devices in full": lambda n: trained(perceptron, [ROWS, LABELS], n, device="/job:localhost/task:0/device:GPU:%d"),
    "devices of the cpu": lambda n: trained(perceptron, [ROWS, LABELS], n, device="/cpu:%d"),
}


# ---- running -----------------------------------------------------------------------------------------------------


class Switch:
    """Whether towers may run side by side, and which runs had some that did."""

    def __init__(self):
        self.on = True
        self.copies = []

    def __call__(self, graph, fetches, fed):
        found = side_by_side(graph, fetches, fed) if self.on else None
        self.copies.append(found)
        return found


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setattr(LIMITS, "towers_on_cpu", True)


@pytest.fixture
def switch(monkeypatch):
    made = Switch()
    monkeypatch.setattr(sessions, "side_by_side", made)
    return made


def runs(build, *args):
    """All that the steps of a program fetch, and its variables after them."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        fetches, feeds = build(*args)
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        found = [sess.run(fetches, feed)[1:] for feed in feeds]
        return found, dict(zip([v.name for v in tf.global_variables()], sess.run(tf.global_variables()), strict=True))


def check(switch, build, *args, tolerance=1e-6):
    """Runs a program both ways; returns what the runs side by side were copied to (without initialization)."""
    found = runs(build, *args)
    copies = switch.copies[1:-1]
    switch.on = False
    as_it_is = runs(build, *args)
    switch.on = True
    assert found[1].keys() == as_it_is[1].keys()
    for mine, other in zip(found[0], as_it_is[0], strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    for name, value in as_it_is[1].items():
        np.testing.assert_allclose(found[1][name], value, rtol=20 * tolerance, atol=20 * tolerance, err_msg=name)
    return copies


def of_towers(copy):
    return [op for op in copy.graph.carried_out() if op.axis is not None]


@spread(("name", "towers"), [(n, t) for t in (2, 3, 4) for n in PROGRAMS], every=14)
def test_programs(switch, name, towers):
    (copy,) = check(switch, PROGRAMS[name], towers)
    assert copy is not None
    assert len(of_towers(copy)) > 10
    assert all(op.axis_indices is None for op in of_towers(copy))


def sliced(way, rows):
    """Towers that divide what is fed, of so many rows or of any number, by their own number inside of their devices."""
    x = tf.placeholder(tf.float32, [rows, 3])
    rule, gradients, losses = tf.train.GradientDescentOptimizer(0.1), [], []
    for i in range(2):
        with tf.device(f"/gpu:{i}"), tf.variable_scope("m", reuse=tf.AUTO_REUSE):
            weights = tf.get_variable("w", [3, 1], initializer=tf.ones_initializer())
            losses.append(tf.reduce_mean(tf.square(tf.matmul(way(x, i), weights))))
            gradients.append(rule.compute_gradients(losses[-1]))
    return [rule.apply_gradients(average_gradients(gradients)), *losses], [{x: ROWS_BY_HAND}] * 2


ROWS_BY_HAND = np.arange(12.0, dtype=np.float32).reshape(4, 3)
WAYS = {
    "bounds": lambda x, i: x[i * 2 : (i + 1) * 2],
    "tf.slice": lambda x, i: tf.slice(x, [i * 2, 0], [2, -1]),
    "a share of the batch": lambda x, i: x[i * (tf.shape(x)[0] // 2) : (i + 1) * (tf.shape(x)[0] // 2)],
    "every other row": lambda x, i: x[i::2],
    "tf.gather": lambda x, i: tf.gather(x, [2 * i, 2 * i + 1]),
}


@spread(("way", "rows"), [(way, rows) for way in WAYS for rows in (None, 4)], every=3)
def test_towers_that_slice_by_their_number(switch, way, rows):
    """The losses and weights of bounds are those of TensorFlow 1.12.3."""
    (copy,) = check(switch, sliced, WAYS[way], rows)
    assert len(of_towers(copy)) > 5
    assert all(op.axis_indices is None for op in of_towers(copy))
    if way != "every other row":
        found, variables = runs(sliced, WAYS[way], rows)
        np.testing.assert_allclose(found[0], [76.5, 670.5], rtol=1e-5)
        np.testing.assert_allclose(found[1], [46107.223, 391084.62], rtol=1e-5)
        np.testing.assert_allclose(variables["m/w:0"].ravel(), [501.58, 578.47, 655.36], rtol=1e-5)


@pytest.mark.parametrize("rows", [None, 4])
def test_towers_whose_slices_differ_in_size_run_as_they_are(switch, rows):
    """The second tower gets one row of four."""
    check(switch, sliced, lambda x, i: x[i * 3 : (i + 1) * 3], rows)


def flops(build, towers, together):
    """Per device, of the compiled program of a step."""
    with tf.Graph().as_default() as graph:
        fetches, (feed, *_) = build(towers)
        found = side_by_side(graph, fetches, frozenset(feed)) if together else None
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            sess.run(fetches, feed)
            plan = sess._plan(fetches, feed)[1]
        assert (found is not None) is together
        programs = [p for s in plan.stages if isinstance(s, DeviceStage) for p in s.compiled.programs]
        return sum(p.compiled.cost_analysis()["flops"] for p in programs)


def test_two_towers_of_a_convnet_are_one_with_the_whole_batch(switch):
    """And each device does the work of one tower."""
    two = runs(PROGRAMS["convnet"], 2)
    one = runs(PROGRAMS["convnet"], 1)
    assert [copy is not None for copy in switch.copies] == [False, True, False, False, False, False]
    np.testing.assert_allclose([r[0] for r in two[0]], [r[0] for r in one[0]], rtol=0, atol=1e-6)
    half = lambda n: trained(convnet, [IMAGES[:, :12], LABELS[:, :12]], n)  # noqa: E731
    assert flops(PROGRAMS["convnet"], 2, True) <= 1.1 * flops(half, 1, False)


# ---- what else towers do -----------------------------------------------------------------------------------------


def normalized(towers):
    """Batch normalization: the moving averages are those of all towers' updates, or of the last one's."""

    def net(rows):
        hidden = tf.layers.batch_normalization(tf.layers.dense(rows, 6, name="hidden"), training=True, name="norm")
        return tf.layers.dense(tf.nn.relu(hidden), 4, name="logits")

    fetches, feeds = trained(net, [ROWS, LABELS], towers)
    own = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="tower_0")  # as most programs do: those of one tower
    return [[fetches[0], own], *fetches[1:]], feeds


@pytest.mark.long
def test_batch_normalization(switch):
    (copy,) = check(switch, normalized, 2)
    assert copy is not None
    conv = [op for op in of_towers(copy) if op.type == "MatMul"]
    assert len(conv) == 2


def test_dropout_differs_by_tower_and_step(switch):
    def build():
        x = tf.placeholder(tf.float32, [200])
        kept = []
        for k in range(2):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"):
                kept.append(tf.nn.dropout(x, 0.5) * 1.0)
        return [[], *kept], [{x: np.ones(200, np.float32)}] * 2

    (first, second), _ = runs(build)
    assert switch.copies[1] is not None
    masks = [*first, *second]
    for i, mask in enumerate(masks):
        assert set(mask.tolist()) == {0.0, 2.0}
        assert 60 < np.count_nonzero(mask) < 140
        assert all((mask != other).any() for other in masks[:i])
    again, _ = runs(build)
    np.testing.assert_array_equal(again, [first, second])


@pytest.mark.long
def test_an_element_of_an_iterator_for_each_tower(switch):
    def build():
        iterator = tf.data.Dataset.from_tensor_slices((ROWS[0], LABELS[0])).repeat().batch(6).make_one_shot_iterator()
        gradients, losses, rule = [], [], tf.train.GradientDescentOptimizer(0.1)
        for k in range(2):
            with tf.device(f"/gpu:{k}"), tf.name_scope(f"tower_{k}"), tf.variable_scope("model", reuse=k > 0):
                rows, labels = iterator.get_next()
                rows.set_shape([6, 5])
                cross = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=perceptron(rows))
                losses.append(tf.reduce_mean(cross))
                gradients.append(rule.compute_gradients(losses[-1]))
        return [rule.apply_gradients(average_gradients(gradients)), *losses], [{}] * 4

    # Which of two reads is the first is not said: as a pair the losses are those of the elements.
    found, _ = runs(build)
    assert switch.copies[1] is not None
    switch.on = False
    as_it_is, _ = runs(build)
    np.testing.assert_allclose(np.sort(found), np.sort(as_it_is), rtol=1e-6, atol=1e-6)


def test_towers_with_batches_of_different_sizes(switch):
    """One program has one shape: such a run is of the program as it is, the next one side by side again."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        fetches, (feed, *_) = trained(perceptron, [ROWS, LABELS], 2, fed=False)
        sess.run(tf.global_variables_initializer())
        together = [t for t in feed if t.dtype is tf.float32]
        labels = [t for t in feed if t.dtype is tf.int32]
        uneven = {together[0]: ROWS[0], together[1]: ROWS[0, :4], labels[0]: LABELS[0], labels[1]: LABELS[0, :4]}
        same = {together[0]: ROWS[0], together[1]: ROWS[0], labels[0]: LABELS[0], labels[1]: LABELS[0]}
        weights = sess.run(tf.trainable_variables())

        def loss(count):
            hidden = np.tanh(ROWS[0, :count] @ weights[0] + weights[1])
            logits = hidden @ weights[2] + weights[3]
            top = logits.max(1)
            logs = np.log(np.exp(logits - top[:, None]).sum(1)) + top
            return np.mean(logs - logits[np.arange(count), LABELS[0, :count]])

        for feed_dict, sizes in ((uneven, (24, 4)), (same, (24, 24)), (uneven, (24, 4))):
            found = sess.run(fetches[2:], feed_dict)
            np.testing.assert_allclose(found, [loss(n) for n in sizes], rtol=1e-5)
        _, *losses = sess.run(fetches, uneven)
        np.testing.assert_allclose(losses[1:], [loss(24), loss(4)], rtol=1e-5)


def test_parts_of_a_model_on_two_devices_are_no_towers(switch):
    def build():
        x = tf.placeholder(tf.float32, [24, 5])
        with tf.device("/gpu:0"):
            hidden = tf.layers.dense(x, 6, activation=tf.tanh, name="first")
        with tf.device("/gpu:1"):
            mean = tf.reduce_mean(tf.square(tf.nn.softmax(tf.concat([hidden, tf.exp(hidden)], 1))))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(mean, colocate_gradients_with_ops=True)
        return [train, mean], [{x: rows} for rows in ROWS]

    assert check(switch, build) == [None]


@pytest.mark.long
def test_layers_that_take_turns_on_two_devices_are_right(switch):
    """Each device has the same operations, but one needs what the other has made."""

    def build():
        x = tf.placeholder(tf.float32, [24, 6])
        net = x
        for i in range(4):
            with tf.device(f"/gpu:{i % 2}"):
                net = tf.layers.dense(net, 6, activation=tf.tanh, name=f"dense_{i}")
        mean = tf.reduce_mean(tf.square(net))
        rows = np.pad(ROWS, [(0, 0), (0, 0), (0, 1)])
        return [tf.train.GradientDescentOptimizer(0.1).minimize(mean), mean], [{x: step} for step in rows]

    assert check(switch, build) == [None]


def test_a_gradient_of_the_total_loss_taken_outside_of_the_loop(switch):
    def build(towers):
        fetches, feeds = trained(perceptron, [ROWS, LABELS], towers)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.add_n(fetches[2:]) / towers)
        return [train, *fetches[1:]], feeds

    (copy,) = check(switch, build, 2)
    assert copy is not None
    assert sum(op.type == "MatMul" for op in copy.graph.carried_out()) == 2


@pytest.mark.long
def test_a_summary_of_the_first_tower(switch):
    def build(towers):
        def net(rows):
            logits = perceptron(rows)
            if "tower_0" in logits.op.name:
                tf.summary.scalar("largest", tf.reduce_max(logits))
            return logits

        fetches, feeds = trained(net, [ROWS, LABELS], towers)
        return [[fetches[0]], *fetches[1:], tf.summary.merge_all()], feeds

    found, _ = runs(build, 2)
    assert switch.copies[1] is not None
    switch.on = False
    as_it_is, _ = runs(build, 2)
    for mine, other in zip(found, as_it_is, strict=True):
        np.testing.assert_allclose(mine[:-1], other[:-1], rtol=1e-6)
        tags = [[v.tag for v in tf.Summary.FromString(text).value] for text in (mine[-1], other[-1])]
        values = [[v.simple_value for v in tf.Summary.FromString(text).value] for text in (mine[-1], other[-1])]
        assert tags[0] == tags[1] == ["tower_0/model/largest"]
        np.testing.assert_allclose(*values, rtol=1e-5)


@pytest.mark.long
def test_towers_that_differ_much_run_as_they_are(switch):
    def build():
        x = tf.placeholder(tf.float32, [24, 5])
        with tf.device("/gpu:0"):
            first = tf.reduce_sum(tf.tanh(x * 2.0) + tf.sin(x))
        with tf.device("/gpu:1"):
            second = tf.reduce_max(tf.nn.softmax(tf.exp(x - 1.0)))
        return [tf.no_op(), first, second], [{x: rows} for rows in ROWS]

    assert check(switch, build) == [None]


@pytest.mark.long
def test_towers_that_differ_in_little_run_side_by_side(switch):
    """A number of its own in each tower's loss, and one operation more in the first."""

    def build(towers):
        fetches, feeds = trained(convnet, [IMAGES, LABELS], towers)
        with tf.device("/gpu:0"):
            more = tf.sqrt(fetches[2])
        losses = [loss * (0.5 + k) for k, loss in enumerate(fetches[2:])]
        return [fetches[0], *losses, more], feeds

    (copy,) = check(switch, build, 2)
    assert copy is not None


def test_towers_whose_gradients_wait_for_python_run_as_they_are(switch):
    """The host cannot take part in the program of the towers."""

    def scaled(rows):
        net = tf.layers.dense(rows, 4, name="dense")
        factor = tf.py_func(lambda x: np.abs(x).mean(), [tf.stop_gradient(net)], tf.float32)
        factor.set_shape([])
        return net * factor

    assert check(switch, trained, scaled, [ROWS, LABELS], 2) == [None]


def test_what_is_fetched_of_one_tower_is_that_tower_s(switch):
    def build(towers):
        fetches, feeds = trained(perceptron, [ROWS, LABELS], towers)
        return [tf.no_op(), fetches[3]], feeds

    assert check(switch, build, 2) == [None]
    with tf.Graph().as_default(), tf.Session() as sess:
        (train, total, first, second), (feed, *_) = trained(perceptron, [ROWS, LABELS], 2)
        sess.run(tf.global_variables_initializer())
        both = sess.run([first, second], feed)
        assert sess.run(second, feed) == pytest.approx(both[1], rel=1e-6)
        assert sess.run(total, feed) == pytest.approx(np.mean(both), rel=1e-6)
        assert sess.run([total, first], {first: 3.0, **feed}) == pytest.approx([(3.0 + both[1]) / 2, 3.0], rel=1e-6)
        sess.run(train, feed)
        assert sess.run(total, feed) != pytest.approx(np.mean(both), rel=1e-4)


@pytest.mark.long
def test_a_monitored_session_resumes(switch, tmp_path):
    """Its graph is finalized before the first run."""

    def session(steps):
        with tf.Graph().as_default():
            tf.set_random_seed(3)
            count = tf.train.get_or_create_global_step()
            (train, total, *_), feeds = trained(perceptron, [ROWS, LABELS], 2, adam)
            with tf.control_dependencies([train]):
                counted = tf.assign_add(count, 1)
            hooks = [tf.train.StopAtStepHook(last_step=steps)]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path / str(switch.on)), hooks=hooks, save_summaries_steps=None,
                save_checkpoint_steps=2,
            ) as sess:  # fmt: skip
                losses = []
                while not sess.should_stop():
                    losses.append(sess.run([total, counted], feeds[len(losses) % 3])[0])
                return losses

    found = session(3) + session(5)
    assert any(copy is not None for copy in switch.copies)
    switch.on = False
    np.testing.assert_allclose(found, session(3) + session(5), rtol=1e-5)
    assert len(found) == 5


@pytest.mark.long
def test_operations_added_after_a_run(switch):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(3)
        (train, total, first, second), feeds = trained(perceptron, [ROWS, LABELS], 2)
        sess.run(tf.global_variables_initializer())
        sess.run([train, total], feeds[0])
        wanted = sess.run([total, first, second], feeds[1])
        larger = total * 2.0 + second
        found = sess.run(larger, feeds[1])
        assert found == pytest.approx(2 * wanted[0] + wanted[2], rel=1e-6)
        for v in tf.trainable_variables():
            v.load(np.zeros(v.shape.as_list(), np.float32), sess)
        assert sess.run(total, feeds[1]) == pytest.approx(np.log(4), rel=1e-6)


def test_towers_stay_apart_where_devices_share_cores(monkeypatch, switch):
    monkeypatch.setattr(LIMITS, "towers_on_cpu", False)
    runs(PROGRAMS["adam"], 2)
    assert switch.copies
    assert not any(switch.copies)


@pytest.mark.parametrize("structure", ["loop", "branch"])
def test_gradients_through_what_writes_are_those_of_each_tower(switch, structure):
    """A loop or branch that writes is done once for each tower: the tower's gradient leads through it all the same."""

    def gradients():
        with tf.Graph().as_default(), tf.Session() as session:
            w, fed, found = tf.Variable(0.5, use_resource=True), tf.placeholder(tf.float32, []), []
            for k in range(2):
                count = tf.Variable(0.0, use_resource=True)
                with tf.device(f"/gpu:{k}"):
                    x = fed * (k + 1.0)

                    def written(a, x=x, count=count):
                        with tf.control_dependencies([count.assign_add(1.0)]):
                            return tf.identity(a) * x * w

                    if structure == "loop":
                        y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, written(a)), [0, x])[1]
                    else:
                        y = tf.cond(x > 0.0, lambda written=written, x=x: written(x), lambda x=x: x)
                    found.append(tf.gradients(y, [x, w]))
            session.run(tf.global_variables_initializer())
            return session.run(found, {fed: 3.0})

    wanted = {"loop": lambda x, w: [3 * x**2 * w**2, 2 * x**3 * w], "branch": lambda x, w: [2 * x * w, x**2]}
    np.testing.assert_allclose(gradients(), [wanted[structure](x, 0.5) for x in (3.0, 6.0)])


def test_a_gradient_function_that_speaks_of_a_tower_s_tensors(switch):
    """Whose gradient is taken outside of the towers."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed, losses = tf.placeholder(tf.float32, []), []
        for k in range(2):
            with tf.device(f"/gpu:{k}"):
                x = fed * (k + 1.0)

                @tf.custom_gradient
                def thrice(a, x=x):
                    return a * a, lambda d: 3.0 * x * d

                losses.append(thrice(x) + tf.sin(x))
        slope = tf.gradients(tf.add_n(losses), fed)[0]
        found = session.run(slope, {fed: 0.5})
    np.testing.assert_allclose(found, sum((3.0 * x + np.cos(x)) * k for x, k in ((0.5, 1), (1.0, 2))), rtol=1e-6)


def test_gradients_that_lead_around_the_towers_through_what_they_join(switch):
    """The part of one tower alone is done outside of them, its gradient too: before a later tower joins on the way."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed, found = tf.placeholder(tf.float32, []), []
        for k in range(2):
            count, kept = tf.Variable(0.0, use_resource=True), tf.Variable(0.0, use_resource=True)
            with tf.device(f"/gpu:{k}"):
                x = fed * (k + 1.0)
                with tf.control_dependencies([kept.assign(x * 0.5)]):
                    read = tf.identity(kept)

                def counted(i, a, count=count):
                    with tf.control_dependencies([count.assign_add(1.0)]):
                        return i + 1, tf.identity(a) * 2.0

                found.append(tf.gradients(tf.while_loop(lambda i, a: i < 2, counted, [0, x])[1] * read, x)[0])
        session.run(tf.global_variables_initializer())
        assert session.run(found, {fed: 3.0}) == [4 * 1.5, 4 * 3.0]
    assert any(switch.copies)


def taken_thrice(x, y, w):
    """Gradients of the sum of the squares of gradients, of the sum of the squares of those."""
    for _ in range(3):
        found = tf.gradients(y, [x, w])
        y = tf.add_n([tf.reduce_sum(tf.square(g)) for g in found])
    return found


@pytest.mark.parametrize("structure", ["plain", "branch", "jacobian"])
def test_gradients_of_gradients_where_towers_write(switch, structure):
    """Each tower's part that writes is done outside of them, and so are gradients; what they share is on the way."""

    def found(on_devices):
        with tf.Graph().as_default(), tf.Session() as session:
            w, fed = tf.Variable(np.float64(0.5), use_resource=True), tf.placeholder(tf.float64, [2])
            flag, results = tf.placeholder(tf.bool, []), []
            for k in range(2):
                count = tf.Variable(0.0, use_resource=True)
                with tf.device(f"/gpu:{k}" if on_devices else None):
                    x = fed * (k + 1.0)

                    def counted(x, count=count):
                        with tf.control_dependencies([count.assign_add(1.0)]):
                            return tf.sin(tf.identity(x)) * w

                    if structure == "jacobian":
                        with tf.GradientTape() as tape:
                            tape.watch(x)
                            y = tf.cond(flag, lambda x=x: counted(x), lambda x=x: x)
                        results.append(tf.gradients(tf.reduce_sum(tape.jacobian(y, x), 0) + x, [x, w]))
                        continue
                    more = x * w * w if structure == "plain" else tf.cond(flag, lambda x=x: x * w * w, lambda x=x: x)
                    results.append(taken_thrice(x, counted(x) + more, w))
            session.run(tf.global_variables_initializer())
            return session.run(results, {fed: [-0.875, -0.25], flag: True})

    for one, two in zip(found(on_devices=True), found(on_devices=False), strict=True):
        for mine, wanted in zip(one, two, strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-12)
    assert any(switch.copies)


# ---- towers that go several ways ---------------------------------------------------------------------------------


def checked(rows, k):
    with tf.control_dependencies([tf.Assert(tf.reduce_max(rows) < 50.0, [f"tower {k} has", tf.reduce_max(rows)])]):
        return tf.identity(rows)


def looped(rows, k):
    return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, 0.5 * h + rows * (0.1 * k)), (0, rows))[1]


WAYS_OF_TOWERS = {
    "every other": (lambda rows, k: rows * 2.0 if k % 2 else rows, 2),
    "another operation": (lambda rows, k: tf.sin(rows) if k % 2 else tf.tanh(rows), 2),
    "the first": (lambda rows, k: tf.nn.softmax(rows) if k == 0 else rows, 2),
    "a number in a loop": (looped, 1),
    "a branch over each tower's rows": (
        lambda rows, k: tf.cond(rows[0, 0] > 0.0, lambda: rows * (k + 1.0), lambda: rows),
        1,
    ),
    "a seed of each": (lambda rows, k: tf.nn.dropout(rows, 0.5, seed=k), 1),
    "an assertion": (checked, 1),
}
"""What a tower does with its rows first -> in how many ways the towers go."""


def numbered(first, towers):
    """A program of the usual form, whose towers know their number."""
    numbers = iter(range(towers))
    return trained(lambda rows: perceptron(first(rows, next(numbers))), [ROWS, LABELS], towers)


def products(name, towers):
    """How many products of matrices a compiled step has."""
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches, (feed, *_) = numbered(WAYS_OF_TOWERS[name][0], towers)
        sess.run(tf.global_variables_initializer())
        stages = [s for s in sess._plan(fetches, feed)[1].stages if isinstance(s, DeviceStage)]
        sess.run(fetches, feed)
        return sum(p.compiled.as_text().count(" dot(") for s in stages for p in s.compiled.programs)


@spread("name", WAYS_OF_TOWERS, every=2)
def test_towers_that_go_several_ways_are_one_copy_for_each(switch, name):
    first, ways = WAYS_OF_TOWERS[name]
    (copy,) = check(switch, numbered, first, 4)
    assert copy is not None
    assert copy.ways() == ways
    assert sum(op.type == "MatMul" for op in of_towers(copy)) == 2 * ways


def test_products_by_ways_and_not_by_towers(switch):
    one, two = products("an assertion", 4), products("every other", 4)
    assert 0 < one < two < products("every other", 6) + 1 == two + 1
    switch.on = False
    assert products("every other", 4) == 4 * one


def test_towers_that_each_go_their_own_way_run_as_they_are(switch):
    functions = (tf.sin, tf.exp, tf.tanh, tf.square)
    assert check(switch, numbered, lambda rows, k: functions[k](functions[k - 1](rows)), 4) == [None]


def test_an_assertion_that_fails_in_a_tower(switch):
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches, (feed, *_) = numbered(checked, 4)
        sess.run(tf.global_variables_initializer())
        rows = ROWS[0].copy()
        rows[13, 2] = 64.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[tower 2 has\] \[64\]"):
            sess.run(fetches, {t: rows if t.dtype is tf.float32 else a for t, a in feed.items()})
        assert switch.copies[-1] is not None


@pytest.mark.parametrize("added", [False, True])
def test_penalties_that_the_first_tower_makes_with_the_variables(switch, added):
    """It reads each variable once more, before the others do; where it adds the penalties its gradient is another."""

    def layer(rows, size, name):
        return tf.layers.dense(rows, size, tf.tanh, name=name, kernel_regularizer=tf.nn.l2_loss)

    def penalized(rows):
        logits = layer(layer(rows, 6, "hidden"), 4, "logits")
        penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        return logits + tf.add_n(penalties) * rows[0, 0] if added and "tower_0" in logits.op.name else logits

    (copy,) = check(switch, trained, penalized, [ROWS, LABELS], 4)
    assert copy is not None
    assert sum(op.type == "MatMul" for op in of_towers(copy)) == 2
