# ruff: noqa: B905, UP031 (a function is called where it is made; zip has no strict in Python 3.6)
"""Cases of MirroredStrategy where operations are executed eagerly. The World's session is not used."""

TOWERS = {"values": [1, 2], "training": [1, 2]}


def ids(w):
    def tower():
        k = w.k()
        w.log.append([type(k).__name__, w.context().device, w.tf.constant(1.0).device])
        return k

    found = w.towers(tower, run_concurrently=False)
    return {"returned": w.told(found), "log": w.log, "devices": w.d.worker_devices}


def values(w):
    tf = w.tf

    def tower(x):
        k = w.k()
        y = x * (k + 1.0)
        if k == 0:
            y = tf.square(y)
        return y, float(y) > 3.0, [y.numpy().tolist()]

    y, above, numbers = w.towers(tower, tf.constant(3.0))
    return {"y": w.run(y), "above": w.told(above), "numbers": w.told(numbers), "kind": type(y).__name__}


def order_of_calls(w):
    def tower():
        w.log.append("before %d" % w.k())
        found = w.merge(lambda d, x: w.log.append("merge") or sum(d.unwrap(x)), w.k() + 1)
        w.log.append("after %d %d" % (w.k(), found))
        return found

    return {"returned": w.told(w.towers(tower, run_concurrently=False)), "log": w.log}


def concurrently(w):
    """Towers at once: each calls what it calls, and all meet."""
    tf = w.tf

    def tower():
        w.log.append("before")
        found = w.merge(lambda d, x: d.reduce(w.how("SUM"), x, d.worker_devices), tf.constant(w.k() + 1.0))
        w.log.append("after")
        return found

    return {"returned": w.run(w.towers(tower)), "log": w.log}


def variables(w):
    tf = w.tf

    def tower():
        v = w.variable("v", 1.0 + w.k(), "SUM")
        x = tf.Variable(5.0, name="x")
        w.log.append([type(v).__name__, v.name, w.run(v.read_value()), v.device])
        return v, x

    v, x = w.towers(tower, run_concurrently=False)
    again = w.attempt(lambda: w.towers(tower, run_concurrently=False)[0] is v)
    changed = w.towers(lambda: v.assign_add(1.0 * (w.k() + 1)))
    return {
        "kinds": [type(v).__name__, type(x).__name__], "names": [[c.name for c in w.d.unwrap(y)] for y in [v, x]],
        "values": w.run([changed, list(w.d.unwrap(v))]), "told": w.told(changed), "again": again,
        "outside": w.attempt(lambda: w.run(v + 1.0)), "float": w.attempt(lambda: float(v)),
        "numpy": w.attempt(lambda: w.run(v.read_value())), "log": w.log,
    }  # fmt: skip


def reductions(w):
    tf, d = w.tf, w.d
    per = w.per([1.0, 2.0])

    def reduce(how, to):
        with d.scope():
            found = d.reduce(w.how(how), per, to)
        return [type(found).__name__, w.run(found)]

    found = {how: w.attempt(reduce, how, d.worker_devices) for how in ["SUM", "MEAN", "ONLY_FIRST_TOWER", "NONE"]}
    found["one"] = w.attempt(reduce, "SUM", w.devices[0])
    with d.scope():
        found["broadcast"] = w.run(d.broadcast(tf.constant(1.0)))
    found["unwrap"] = w.run(list(d.unwrap(per)))
    return found


def training(w):
    """Gradients by tapes and by implicit functions, optimizers in towers."""
    tf, np = w.tf, w.np
    x = np.arange(8, dtype="float32").reshape([4, 2]) / 8.0
    layer = None
    with w.d.scope():
        layer = tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)

    def tower():
        mine = tf.constant(x[w.k() :: w.n])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(mine) - 1.0))
        found = tape.gradient(loss, layer.variables)
        optimizer.apply_gradients(zip(found, layer.variables))
        return loss

    losses = [w.attempt(lambda: w.run(w.towers(tower, run_concurrently=False))) for _ in range(3)]
    return {"losses": losses, "variables": [[type(v).__name__, v.name, w.copies(v)] for v in layer.variables]}


def minimize(w):
    tf = w.tf
    with w.d.scope():
        v = tf.Variable(2.0, name="v")
        optimizer = tf.train.GradientDescentOptimizer(0.1)

    def tower():
        return optimizer.minimize(lambda: v * v * (1.0 + w.k()))

    def make():
        w.towers(tower, run_concurrently=False)
        return w.copies(v)

    return w.attempt(make)


def tape_through_merge(w):
    tf = w.tf

    def tower():
        x = tf.constant(2.0 + w.k())
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            total = w.merge(lambda d, y: d.reduce(w.how("SUM"), y, d.worker_devices), y)
        found = tape.gradient(total, x)
        return tape.gradient(y, x), -1.0 if found is None else found

    return w.attempt(lambda: w.run(w.towers(tower, run_concurrently=False)))


def input(w):
    tf = w.tf

    def steps(make):
        def take():
            with w.d.scope():
                iterator = w.d.distribute_dataset(make).make_one_shot_iterator()
                found = []
                for _ in range(9):
                    try:
                        found.append(w.run(iterator.get_next()))
                    except tf.errors.OutOfRangeError:
                        return found + ["end"]
            return found

        return w.attempt(take)

    ds = tf.data.Dataset
    return {
        "range": steps(lambda: ds.range(6)),
        "not divisible": steps(lambda: ds.range(7)),
        "batches": steps(lambda: ds.range(8).batch(2)),
        "initializable": w.attempt(lambda: w.d.distribute_dataset(lambda: ds.range(6)).make_initializable_iterator()),
    }


def functions(w):
    """A graph function that towers share."""
    tf = w.tf
    with w.d.scope():
        v = tf.Variable(2.0, name="v")
    f = tf.contrib.eager.defun(lambda x: x * v)

    def tower():
        return f(tf.constant(1.0 + w.k()))

    return w.attempt(lambda: w.run(w.towers(tower, run_concurrently=False)))


def failing(w):
    def tower(who):
        if w.k() == who:
            raise KeyError("tower %d" % who)
        w.merge(lambda d: w.log.append("merge"))

    return {
        "first": w.refused(lambda: tower(0)), "second": w.refused(lambda: tower(1)),
        "unequal": w.refused(lambda: w.merge(lambda d: None) if w.k() else None), "log": w.log,
        "afterwards": w.told(w.towers(lambda: w.k())),
    }  # fmt: skip


def metrics(w):
    tf = w.tf
    with w.d.scope():
        mean = tf.contrib.eager.metrics.Mean()

    def make():
        w.towers(lambda: mean(tf.constant(1.0 + w.k())), run_concurrently=False)
        return w.run(mean.result())

    return w.attempt(make)


def keras_models(w):
    tf = w.tf

    def make():
        with w.d.scope():
            model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))])
        found = w.towers(lambda: model(tf.ones([1, 2]) * (w.k() + 1.0)), run_concurrently=False)
        return [w.run(found), [type(v).__name__ for v in model.variables]]

    return w.attempt(make)
