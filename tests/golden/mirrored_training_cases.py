# ruff: noqa: B905, UP031 (a function is called where it is made; zip has no strict in Python 3.6)
"""Cases of MirroredStrategy: optimizers, losses, batch normalization, metrics, summaries, data sets, steps, saving."""

import os

TOWERS = {
    "optimizers": [1, 2, 3], "steps_on_dataset": [1, 2, 3], "input": [1, 2, 3], "losses": [1, 2],
    "batch_normalization": [1, 2],
}  # fmt: skip


def _data(w, count=6, width=2):
    """One example of the same numbers for each tower and step."""
    np = w.np
    return np.sin(np.arange(count * width, dtype=np.float32).reshape([count, width])), np.arange(
        count, dtype=np.float32
    )


def _loss(w, x, y, fixed=0.5):
    tf = w.tf
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        weights = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(fixed))
        bias = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    return tf.reduce_mean(tf.square(tf.matmul(x, weights)[:, 0] + bias - y))


def optimizers(w):
    """Losses of three steps and the variables after them."""
    tf = w.tf
    made = {
        "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
        "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
        "nesterov": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adam": lambda: tf.train.AdamOptimizer(0.1),
        "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
        "rmsprop": lambda: tf.train.RMSPropOptimizer(0.1, momentum=0.5),
        "rmsprop centered": lambda: tf.train.RMSPropOptimizer(0.1, centered=True),
        "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
        "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
        "proximal": lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
        "adagrad da": lambda: tf.train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    }
    return {name: w.attempt(lambda f=f, name=name: _trained(w, f, name)) for name, f in made.items()}


def _trained(w, make, name):
    tf = w.tf
    x, y = _data(w)

    def tower():
        k = w.k()
        xs, ys = tf.constant(x[k :: w.n][:2]), tf.constant(y[k :: w.n][:2])
        loss = _loss(w, xs, ys)
        return loss, make().minimize(loss, tf.train.get_or_create_global_step())

    with tf.Graph().as_default():
        other = type(w)(tf, w.n)
        w = other
        loss, train = w.towers(tower)
        found = []
        for _ in range(3):
            found.append(w.run(loss))
            w.run(train)
        there = {v.name: [type(v).__name__, w.copies(v)] for v in tf.global_variables()}
        components = sorted(c.name for v in tf.global_variables() for c in w.d.unwrap(v))
        return {"losses": found, "variables": there, "components": components, "kind": type(train).__name__}


def optimizer_outside(w):
    """One optimizer that is made in the strategy's scope."""
    tf = w.tf
    x, y = _data(w)
    with w.d.scope():
        optimizer = tf.train.AdamOptimizer(0.1)
        step = tf.train.get_or_create_global_step()

    def tower():
        k = w.k()
        loss = _loss(w, tf.constant(x[k : k + 1]), tf.constant(y[k : k + 1]))
        pairs = optimizer.compute_gradients(loss)
        w.log.append([[None if g is None else w.told(g), v.name, type(v).__name__] for g, v in pairs])
        train = optimizer.apply_gradients(pairs, step, name="train")
        w.log.append(w.told(train))
        return train, [g for g, _ in pairs], loss

    train, found, loss = w.towers(tower)
    values = w.run([found, loss])
    w.run(train)
    with w.d.scope():
        slot = optimizer.get_slot(tf.trainable_variables()[0], "m")
    return {
        "gradients": values, "log": w.log, "slot": [type(slot).__name__, slot.name, w.copies(slot)],
        "slot of component": w.attempt(lambda: optimizer.get_slot(w.d.unwrap(tf.trainable_variables()[0])[1], "m")),
        "slots": optimizer.get_slot_names(), "variables": w.attempt(lambda: w.named(optimizer.variables())),
        "step": w.copies(step), "collections": w.collections(), "train": w.told(train),
        "devices": [c.device for c in w.d.unwrap(slot)],
    }  # fmt: skip


def gradient_functions(w):
    """Clipping, gradients that are None, lists of variables, and misuse of apply_gradients."""
    tf = w.tf

    def norm():
        v = w.variable("v", [1.0, 2.0])
        unused = w.variable("unused", 1.0)
        g, of = zip(*tf.train.GradientDescentOptimizer(1.0).compute_gradients(tf.reduce_sum(v * v) * (w.k() + 1)))
        clipped, total = tf.clip_by_global_norm([g[0]], 1.0)
        pairs = [(clipped[0], of[0])] + [(None, unused)]
        return total, tf.train.GradientDescentOptimizer(1.0).apply_gradients(pairs)

    def only():
        v, u = w.variable("v1", 1.0), w.variable("u1", 1.0)
        return tf.train.GradientDescentOptimizer(1.0).minimize(v * u * 2.0, var_list=[u])

    def nothing():
        v = w.variable("v2", 1.0)
        return tf.train.GradientDescentOptimizer(1.0).apply_gradients([(None, v)])

    def empty():
        return tf.train.GradientDescentOptimizer(1.0).apply_gradients([])

    def unequal():
        v, u = w.variable("v3", 1.0), w.variable("u3", 1.0)
        return tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.constant(1.0), [v, u][w.k()])])

    def none_in_one():
        v, u = w.variable("v4", 1.0), w.variable("u4", 1.0)
        g = tf.constant(1.0) if w.k() == 0 else None
        return tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.constant(1.0), u), (g, v)])

    def outside():
        v = w.variable("v5", 1.0)
        with w.d.scope():
            return tf.train.GradientDescentOptimizer(1.0).apply_gradients([(tf.constant(1.0), v)])

    found = {"norm": w.attempt(lambda: _run_and_look(w, norm)), "only": w.attempt(lambda: _run_and_look(w, only))}
    for fn in [nothing, empty, unequal, none_in_one]:
        found[fn.__name__] = w.attempt(lambda fn=fn: _run_and_look(w, fn))
    found["outside"] = w.attempt(outside)
    return found


def _run_and_look(w, tower):
    found = w.towers(tower)
    flat = found if not isinstance(found, tuple) else list(found)
    total = w.run(flat)
    return [total, {v.name: w.copies(v) for v in w.tf.global_variables()}]


def distributed_apply(w):
    """Gradients that are applied in a merge function, and after towers."""
    tf = w.tf

    def merge_fn(d, pairs):
        w.log.append([[type(g).__name__, type(v).__name__] for g, v in pairs])
        reduced = d.batch_reduce(w.how("SUM"), [(g, v) for g, v in pairs])
        with tf.control_dependencies([part for r in reduced for part in d.unwrap(r)]):
            updates = [d.update(v, lambda x, g: x.assign_sub(g * 0.5), g) for g, (_, v) in zip(reduced, pairs)]
        return d.group(tf.group(*[op for u in updates for op in [x.op for x in d.unwrap(u)]]))

    def tower():
        v, u = w.variable("v", 1.0), w.variable("u", [1.0, 2.0])
        loss = v * tf.reduce_sum(u * u) * (w.k() + 1)
        grads = tf.gradients(loss, [v, u])
        return w.merge(merge_fn, list(zip(grads, [v, u])))

    train = w.towers(tower)
    w.run(train)
    return {"log": w.log, "variables": {v.name: w.copies(v) for v in tf.global_variables()}, "told": w.told(train)}


def embeddings(w):
    """Rows of a table: gradients are IndexedSlices, and the other rows stay."""
    tf = w.tf

    def of(make):
        with tf.Graph().as_default():
            other = type(w)(tf, w.n)

            def tower():
                table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer())
                rows = tf.nn.embedding_lookup(table, [other.k(), 2, 2])
                return make().minimize(tf.reduce_sum(tf.square(rows)) * (1.0 + other.k()))

            train = other.towers(tower)
            other.run(train)
            other.run(train)
            return {v.name: other.copies(v)[:2] for v in tf.global_variables()}

    train = tf.train
    return {
        "sgd": w.attempt(of, lambda: train.GradientDescentOptimizer(0.1)),
        "momentum": w.attempt(of, lambda: train.MomentumOptimizer(0.1, 0.9)),
        "adam": w.attempt(of, lambda: train.AdamOptimizer(0.1)),
        "adagrad": w.attempt(of, lambda: train.AdagradOptimizer(0.1)),
    }


def own_optimizers(w):
    """Subclasses of Optimizer: what their methods get, and in which order."""
    tf = w.tf

    class Own(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Own")

        def _create_slots(self, variables):
            w.log.append(["create", [type(v).__name__ for v in variables], _where(w)])
            for v in variables:
                self._zeros_slot(v, "count", "Own")

        def _prepare(self):
            w.log.append(["prepare", _where(w)])

        def _resource_apply_dense(self, grad, var):
            slot = self.get_slot(var, "count")
            w.log.append(["dense", var.name, type(var).__name__, slot.name, grad.device, _where(w)])
            return tf.group(var.assign_sub(grad), slot.assign_add(tf.ones_like(grad)))

        def _finish(self, updates, name):
            w.log.append(["finish", [type(u).__name__ for u in updates], name, _where(w)])
            return tf.group(*updates, name=name)

    def tower():
        v = w.variable("v", 5.0)
        return Own().minimize(v * (w.k() + 1.0))

    train = w.attempt(lambda: _run_and_look(w, tower))
    return {"train": train, "log": w.log}


def _where(w):
    c = w.tf.contrib.distribute
    return "cross" if c.get_cross_tower_context() is not None else "tower %d" % w.k() if w.context() else "update"


def losses(w):
    """The collections of losses, as each tower sees them, and what get_total_loss is."""
    tf = w.tf

    def tower():
        k = w.k()
        v = w.variable("v", 2.0)
        x = tf.layers.dense(tf.fill([1, 2], 1.0 + k), 1, kernel_initializer=tf.ones_initializer())
        tf.losses.mean_squared_error([[1.0]], x)
        tf.losses.add_loss(v * 1.0)
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, v * 0.5)
        w.log.append([len(tf.losses.get_losses()), len(tf.losses.get_regularization_losses())])
        w.log.append([len(tf.losses.get_losses("tower_1")), len(tf.losses.get_losses("mean_squared"))])
        return tf.losses.get_total_loss(), tf.losses.get_total_loss(False), tf.losses.get_regularization_loss()

    found = w.towers(tower)
    names = w.named(tf.get_collection(tf.GraphKeys.LOSSES))
    regularization = w.named(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    return {"values": w.run(found), "log": w.log, "losses": names, "regularization": regularization}


def regularizers(w):
    tf = w.tf
    l2 = tf.contrib.layers.l2_regularizer(0.5)

    def of_variable():
        tf.get_variable("v", initializer=2.0 + w.k(), regularizer=l2)
        return tf.losses.get_regularization_loss()

    def of_scope():
        with tf.variable_scope("s", regularizer=l2):
            tf.get_variable("v", initializer=2.0)
        return tf.losses.get_regularization_loss()

    def of_layer():
        tf.layers.dense(tf.ones([1, 2]), 1, kernel_initializer=tf.ones_initializer(), kernel_regularizer=l2)
        return tf.losses.get_regularization_loss()

    def of_activity():
        tf.layers.dense(
            tf.ones([1, 2]), 1, kernel_initializer=tf.ones_initializer(), activity_regularizer=l2, name="activity"
        )
        return tf.losses.get_regularization_loss()

    def look(tower):
        return w.attempt(lambda: [w.run(w.towers(tower)), len(tf.losses.get_regularization_losses())])

    return {tower.__name__: look(tower) for tower in [of_variable, of_scope, of_layer, of_activity]}


def reductions_of_losses(w):
    """How the loss's last reduction scales gradients."""
    tf = w.tf

    def of(make, label):
        def tower():
            with tf.variable_scope(label):
                v = w.variable("v", [1.0, 3.0])
            loss = make(v * (1.0 + w.k()))
            grads = tf.train.GradientDescentOptimizer(1.0).compute_gradients(loss, [v])
            return [g for g, _ in grads]

        return w.attempt(lambda: w.run(w.towers(tower)))

    r = tf.losses.Reduction
    zeros = tf.zeros([2])
    return {
        "reduce_sum": of(tf.reduce_sum, "a"),
        "reduce_mean": of(tf.reduce_mean, "b"),
        "sum": of(lambda x: tf.losses.absolute_difference(zeros, x, reduction=r.SUM), "c"),
        "mean": of(lambda x: tf.losses.absolute_difference(zeros, x, reduction=r.MEAN), "d"),
        "sum over batch": of(lambda x: tf.losses.absolute_difference(zeros, x), "e"),
        "none": of(lambda x: tf.losses.absolute_difference(zeros, x, reduction=r.NONE), "f"),
        "sum then mean": of(lambda x: tf.reduce_mean(tf.losses.absolute_difference(zeros, x, reduction=r.SUM)), "g"),
    }


def batch_normalization(w):
    tf = w.tf

    def tower(fused):
        x = tf.constant(w.np.arange(8, dtype="float32").reshape([2, 1, 2, 2]) * (w.k() + 1))
        y = tf.layers.batch_normalization(x, training=True, momentum=0.5, fused=fused, name="bn%d" % fused)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            loss = tf.reduce_sum(tf.square(y + 1.0))
            train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        w.log.append(len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)))
        return loss, train

    def make(fused):
        loss, train = w.towers(tower, fused)
        values = w.run(loss)
        w.run(train)
        return values

    found = {"plain": w.attempt(make, False)}
    kinds = {v.name: [type(v).__name__, w.copies(v)] for v in tf.global_variables()}

    def update_only():
        return tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))

    inference = w.towers(
        lambda: tf.layers.batch_normalization(tf.ones([1, 2, 2, 2]) * 3.0, name="bn0", fused=False, reuse=True)
    )
    found["inference"] = w.attempt(lambda: w.run(inference))
    found.update(variables=kinds, collections=w.collections(), log=w.log)
    found["update operations"] = len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    found["total"] = w.attempt(lambda: w.run(w.towers(update_only)))
    return found


def moving_averages(w):
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0, "MEAN")
        average = tf.train.ExponentialMovingAverage(0.5)
        changed = v.assign_add(1.0 + w.k())
        with tf.control_dependencies([changed]):
            apply = average.apply([v])
        w.log.append(type(average.average(v)).__name__)
        return apply, average.average(v)

    def make():
        apply, average = w.towers(tower)
        w.run(apply)
        return [w.told(average), w.copies(average)]

    return {"apply": w.attempt(make), "log": w.log, "collections": w.collections()}


def metrics(w):
    """Metrics are tower-local variables; values are aggregates."""
    tf = w.tf

    def tower():
        k = w.k()
        mean = tf.metrics.mean(tf.constant([1.0, 2.0, 3.0][: k + 1]))
        accuracy = tf.metrics.accuracy([1, 1], [1, k])
        squared = tf.metrics.mean_squared_error([1.0], [3.0 + k])
        return mean, accuracy, squared

    found = w.towers(tower)
    told = w.told(found)
    values = [w.run([update for _, update in found])]
    values.append(w.run([value for value, _ in found]))
    return {
        "told": told, "values": values, "collections": w.collections(),
        "metric variables": [[type(v).__name__, v.name] for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)],
        "locals": {v.name: w.copies(v) for v in tf.local_variables()},
    }  # fmt: skip


def metrics_outside(w):
    tf = w.tf

    def make():
        with w.d.scope():
            value, update = tf.metrics.mean(tf.constant([1.0, 2.0]))
        w.run(update)
        return w.run(value)

    return w.attempt(make)


def summaries(w):
    tf = w.tf

    def tower():
        k = w.k()
        tf.summary.scalar("loss", tf.constant(1.0 + k))
        with tf.name_scope("part"):
            text = tf.summary.scalar("other", tf.constant(2.0 + k))
        w.log.append([w.told(text), w.named(tf.get_collection(tf.GraphKeys.SUMMARIES))])
        return tf.constant(0.0)

    w.towers(tower)
    tags = []
    for serialized in w.session().run(tf.get_collection(tf.GraphKeys.SUMMARIES)):
        parsed = tf.Summary.FromString(serialized)
        tags += [[v.tag, v.simple_value] for v in parsed.value]
    return {"log": w.log, "tags": tags, "merged": w.told(tf.summary.merge_all())}


def summaries_by_writer(w):
    """Summaries of contrib.summary, which are recorded in the first tower alone."""
    tf = w.tf

    def tower():
        tf.contrib.summary.scalar("x", tf.constant(1.0 + w.k()), step=3)
        return tf.constant(0.0)

    def make():
        writer = tf.contrib.summary.create_file_writer(w.folder)
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            w.towers(tower)
            written = tf.contrib.summary.all_summary_ops()
        w.session()
        tf.contrib.summary.initialize(session=w.session())
        w.session().run(written)
        w.session().run(writer.flush())
        events = []
        for name in sorted(os.listdir(w.folder)):
            for event in tf.train.summary_iterator(os.path.join(w.folder, name)):
                events += [[v.tag, event.step] for v in event.summary.value]
        return [len(written), events]

    return w.attempt(make)


def input(w):
    """Data sets: each tower has an element of its own in each step; what is left over is lost or is the end."""
    tf = w.tf
    out = tf.errors.OutOfRangeError

    def steps(make, one_shot=False):
        def take():
            with w.d.scope():
                data = w.d.distribute_dataset(make)
                iterator = data.make_one_shot_iterator() if one_shot else data.make_initializable_iterator()
                element = iterator.get_next()
            kinds = w.told(element)
            if not one_shot:
                w.session().run(iterator.initializer)
            found = []
            for _ in range(9):
                try:
                    found.append(w.run(element))
                except out:
                    found.append("end")
                    break
            return [kinds, type(data).__name__, type(iterator).__name__, found]

        return w.attempt(take)

    ds = tf.data.Dataset
    return {
        "range": steps(lambda: ds.range(6)), "not divisible": steps(lambda: ds.range(7)),
        "too few": steps(lambda: ds.range(1)), "none": steps(lambda: ds.range(0)),
        "batches": steps(lambda: ds.range(10).batch(2)), "uneven batches": steps(lambda: ds.range(7).batch(2)),
        "dropped": steps(lambda: ds.range(7).batch(2, drop_remainder=True)),
        "tuple": steps(lambda: ds.range(6).map(lambda x: (x, x * 2))),
        "dict": steps(lambda: ds.range(6).map(lambda x: {"x": x})), "one shot": steps(lambda: ds.range(6), True),
        "repeated": steps(lambda: ds.range(3).repeat(2)), "a data set": steps(ds.range(6)),
        "a number": steps(lambda: 3),
    }  # fmt: skip


def input_by_default(w):
    """Elements that are fetched ahead of time: how many steps there are is a matter of luck; each is used once."""
    tf = w.tf
    d = tf.contrib.distribute.MirroredStrategy(devices=w.devices)

    def steps(make, most):
        with d.scope():
            iterator = d.distribute_dataset(make).make_initializable_iterator()
            element = iterator.get_next()
        w.session().run(iterator.initializer)
        found = []
        try:
            while len(found) < 9:
                found.append(w.session().run(list(d.unwrap(element))))
        except tf.errors.OutOfRangeError:
            pass
        seen = [x for step in found for part in step for x in w.np.ravel(part).tolist()]
        return [len(found) <= most, len(set(seen)) == len(seen)]

    ds = tf.data.Dataset
    return {
        "range": steps(lambda: ds.range(6), 3), "batches": steps(lambda: ds.range(8).batch(2), 2),
        "uneven batches": steps(lambda: ds.range(7).batch(2), 2), "too few": steps(lambda: ds.range(1), 0),
        "none": steps(lambda: ds.range(0), 0),
    }  # fmt: skip


def input_and_towers(w):
    tf = w.tf
    with w.d.scope():
        iterator = w.d.distribute_dataset(lambda: tf.data.Dataset.range(8).batch(2)).make_initializable_iterator()
        element = iterator.get_next()

    def tower(x):
        w.log.append([x.device, x.shape.as_list(), x.dtype.name])
        return tf.reduce_sum(x) * (w.k() + 1)

    found = w.towers(tower, element)
    w.session().run(iterator.initializer)
    first = [w.run(found), w.run(found)]
    w.session().run(iterator.initializer)
    return {"values": first, "again": w.run(found), "log": w.log, "initializer": type(iterator.initializer).__name__}


def steps_on_dataset(w):
    """run_steps_on_dataset: three steps a run."""
    tf, d = w.tf, w.d

    def step(ctx, x):
        w.log.append([type(ctx).__name__, w.told(x), _where(w)])

        def tower(x):
            v = w.variable("v", 0.0, "SUM")
            x = tf.cast(x, tf.float32)
            return v.assign_add(x), x

        update, x = d.call_for_each_tower(tower, x)
        ctx.set_last_step_output("sum", x, w.how("SUM"))
        ctx.set_last_step_output("each", x)
        ctx.set_non_tensor_output("text", "said")
        return d.group(update)

    def make():
        with d.scope():
            data = d.distribute_dataset(lambda: tf.data.Dataset.range(100))
            iterator = data.make_initializable_iterator()
            first = {"sum": tf.constant(0.0), "each": [tf.constant(0.0)] * w.n}
            ctx = d.run_steps_on_dataset(step, iterator, iterations=3, initial_loop_values=first)
            w.session().run(iterator.initializer)
            outputs, others = ctx.last_step_outputs, ctx.non_tensor_outputs
            found = [w.told(outputs), w.told(others), w.told(ctx.run_op)]
        for _ in range(2):
            w.session().run(ctx.run_op)
            found.append(w.copies(tf.global_variables()[0]))
        found.append(w.run({"sum": outputs["sum"], "each": outputs["each"]}))
        found.append(w.copies(tf.global_variables()[0]))
        return found

    return {"steps": w.attempt(make), "log": w.log}


def steps_to_the_end(w):
    """A data set that ends in the middle of a run of steps."""
    tf, d = w.tf, w.d
    out = tf.errors.OutOfRangeError

    def step(ctx, x):
        def tower(x):
            return w.variable("v", 0.0, "SUM").assign_add(tf.cast(x, tf.float32))

        return d.group(d.call_for_each_tower(tower, x))

    with d.scope():
        iterator = d.distribute_dataset(lambda: tf.data.Dataset.range(10)).make_initializable_iterator()
        ctx = d.run_steps_on_dataset(step, iterator, iterations=3)
    w.session().run(iterator.initializer)
    found = []
    for _ in range(3):
        try:
            w.session().run(ctx.run_op)
            found.append("ran")
        except out as error:
            found.append(type(error).__name__)
        found.append(w.copies(tf.global_variables()[0]))
    return found


def monitored_session(w):
    tf = w.tf
    x, y = _data(w)

    def tower():
        k = w.k()
        loss = _loss(w, tf.constant(x[k : k + 1]), tf.constant(y[k : k + 1]))
        return loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())

    def train(steps):
        with tf.Graph().as_default():
            other = type(w)(tf, w.n)
            with other.d.scope():
                loss, op = other.d.call_for_each_tower(tower)
                loss = other.d.unwrap(other.d.reduce(w.how("MEAN"), loss, "/device:CPU:0"))[0]
                op = other.d.group(op)
                hooks = [tf.train.StopAtStepHook(num_steps=steps)]
                found = []
                with tf.train.MonitoredTrainingSession(
                    checkpoint_dir=w.folder, hooks=hooks, config=w.config, save_checkpoint_steps=2,
                    log_step_count_steps=None,
                ) as sess:  # fmt: skip
                    while not sess.should_stop():
                        found.append(float(f"{sess.run([loss, op])[0]:.5g}") if len(found) == 0 else sess.run(op))
                return len(found), found[0]

    first = w.attempt(train, 3)
    second = w.attempt(train, 2)
    names = [[name, shape] for name, shape in tf.train.list_variables(w.folder)]
    files = sorted(name for name in os.listdir(w.folder) if name.startswith("model.ckpt") and "data" in name)
    values = {name: tf.train.load_variable(w.folder, name) for name, _ in names}
    return {"runs": [first, second], "names": names, "files": files, "values": w.told(values)}


def saving(w):
    """What savers write, and what restoring gives to the copies."""
    tf = w.tf
    with w.d.scope():
        v = w.variable("v", 1.0)
        s = w.local("s", 2.0, "SUM")
        m = w.local("m", 3.0, "MEAN")
        saver = tf.train.Saver()
    w.run(w.towers(lambda: [s.assign_add(1.0 + w.k()), m.assign_add(1.0 + w.k())]))
    before = [w.copies(x) for x in [v, s, m]]
    path = saver.save(w.session(), os.path.join(w.folder, "c"))
    names = [[n, w.told(tf.train.load_variable(path, n))] for n, _ in tf.train.list_variables(path)]
    with w.d.scope():
        w.run([v.assign(9.0), s.assign(9.0), m.assign(9.0)])
    saver.restore(w.session(), path)
    return {"names": names, "before": before, "after": [w.copies(x) for x in [v, s, m]], "var list": _var_list(w, v)}


def _var_list(w, v):
    tf = w.tf

    @w.attempted
    def of(things):
        saver = tf.train.Saver(things)
        path = saver.save(w.session(), os.path.join(w.folder, "d"))
        return [[n, s] for n, s in tf.train.list_variables(path)]

    return [of([v]), of({"other": v}), of(w.d.unwrap(v)), of({"a": w.d.unwrap(v)[1]})]


def initializers(w):
    """Whose initializers run, and what is reported as not initialized."""
    tf = w.tf
    with w.d.scope():
        v = w.variable("v", 1.0)
        t = w.local("t", 2.0)
    with tf.Session(config=w.config) as sess:
        before = sess.run(tf.report_uninitialized_variables()).tolist()
        check = w.attempt(lambda: [bool(sess.run(tf.is_variable_initialized(x))) for x in [v, t]])
        sess.run(tf.variables_initializer([v]))
        middle = sess.run(tf.report_uninitialized_variables()).tolist()
        sess.run(v.initializer)
        sess.run(tf.global_variables_initializer())
        after = sess.run([x for y in [v, t] for x in w.d.unwrap(y)])
    return [w.told(before), check, w.told(middle), w.told(after)]


def estimator(w):
    """An estimator that trains with the strategy, evaluates and predicts."""
    tf = w.tf
    x, y = _data(w, 8)
    kept = []

    def model_fn(features, labels, mode):
        w.log.append([mode, w.context().tower_id if w.context() else None, features.shape.as_list()])
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
            prediction = tf.layers.dense(features, 1, name="fc", kernel_initializer=tf.constant_initializer(0.5))[:, 0]
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions=prediction)
        loss = tf.losses.mean_squared_error(labels, prediction)
        if mode == tf.estimator.ModeKeys.EVAL:
            of = {"error": tf.metrics.mean_absolute_error(labels, prediction)}
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=of)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    def input_fn():
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(2).repeat(5)

    def eval_fn():
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(2)

    def make():
        config = tf.estimator.RunConfig(
            model_dir=w.folder, train_distribute=w.d, eval_distribute=w.d, session_config=w.config, tf_random_seed=1
        )
        trained = tf.estimator.Estimator(model_fn, config=config)
        trained.train(input_fn, steps=4)
        kept.append(w.told({n: trained.get_variable_value(n) for n in trained.get_variable_names()}))
        kept.append(w.attempt(lambda: w.told(trained.evaluate(eval_fn, steps=2))))
        trained.train(input_fn, max_steps=6)
        kept.append(w.told(trained.get_variable_value("global_step")))
        kept.append(w.attempt(lambda: [w.told(p) for p, _ in zip(trained.predict(eval_fn), range(3))]))
        return kept

    return {"found": w.attempt(make), "log": w.log}


def estimator_of_uneven_data(w):
    """What is left of the data set, and how many steps there are."""
    tf = w.tf
    x, y = _data(w, 7)

    def model_fn(features, labels, mode):
        v = w.variable("v", 0.0)
        loss = tf.reduce_mean(tf.square(v * features[:, 0] - labels))
        step = tf.train.get_or_create_global_step()
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
        )

    def make():
        d = tf.contrib.distribute.MirroredStrategy(devices=w.devices)
        config = tf.estimator.RunConfig(model_dir=w.folder, train_distribute=d, session_config=w.config)
        trained = tf.estimator.Estimator(model_fn, config=config)
        trained.train(lambda: tf.data.Dataset.from_tensor_slices((x, y)).batch(2))
        return w.told(trained.get_variable_value("global_step"))

    return w.attempt(make)


def global_steps(w):
    tf = w.tf

    def tower():
        step = tf.train.get_or_create_global_step()
        w.log.append([type(step).__name__, step.name, step.trainable, tf.train.get_global_step() is step])
        return tf.assign_add(step, 1)

    found = w.towers(tower)
    return {"run": w.run(found), "log": w.log, "after": w.copies(tf.train.get_global_step()), "all": w.collections()}


def schedules(w):
    """Learning rates by the global step, in towers."""
    tf = w.tf

    def tower():
        step = tf.train.get_or_create_global_step()
        rate = tf.train.exponential_decay(1.0, step, 1, 0.5)
        v = w.variable("v", 1.0)
        return rate, tf.train.GradientDescentOptimizer(rate).minimize(v * (1.0 + w.k()), global_step=step)

    rate, train = w.towers(tower)
    found = []
    for _ in range(3):
        found.append(w.run(rate))
        w.run(train)
    return [found, [w.copies(v) for v in tf.global_variables()]]


def accumulation(w):
    """Gradients kept in tower-local variables, and applied in a condition."""
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0)
        kept = w.local("kept", 0.0)
        with tf.control_dependencies([kept.assign_add(v * (1.0 + w.k()))]):
            value = tf.identity(kept.read_value())
        return tf.train.GradientDescentOptimizer(0.5).apply_gradients([(value, v)])

    train = w.towers(tower)
    for _ in range(2):
        w.run(train)
    return {v.name: w.copies(v) for v in tf.global_variables()}
