"""Strategies whose variables are kept once, over two towers on virtual CPUs. Runs under Python 3.6 too.

``towers`` is for the ``ParameterServerStrategy`` of 1.12, ``replicas`` for the ``CentralStorageStrategy`` of 2.x.
"""

import numpy as np


def attempt(function):
    try:
        return function()
    except (TypeError, ValueError) as error:
        return [type(error).__name__, str(error)[:60]]


def towers(tf, make):
    """What a model under a strategy of 1.12 comes to.

    Args:
      make: a function that makes the strategy of two towers.
    """
    how = tf.VariableAggregation
    found = {}
    with tf.Graph().as_default():
        s = make()
        context = tf.contrib.distribute.get_tower_context
        found["strategy"] = [s.num_towers, s.parameter_devices, s.between_graph, s.should_init, s.should_checkpoint]
        seen = []

        def model(x):
            k = context().tower_id
            v = tf.get_variable("v", initializer=1.0)
            w = tf.get_variable("w", initializer=[[1.0]])
            z = tf.Variable(5.0, name="z", trainable=False)
            seen.append([k, type(v).__name__, v.name, z.name, v.device])
            loss = tf.reduce_sum((tf.matmul(x, w) * v - k) ** 2) * outside
            optimizer = tf.train.MomentumOptimizer(0.01, 0.9)
            step = optimizer.minimize(loss, tf.train.get_or_create_global_step())
            made = {"initializer": 0.0, "trainable": False}
            mean = tf.get_variable("mean", aggregation=how.MEAN, **made).assign_add(1.0 * k)
            total = tf.get_variable("sum", aggregation=how.SUM, **made).assign_add(1.0 + k)
            first = tf.get_variable("first", aggregation=how.ONLY_FIRST_TOWER, **made).assign(7.0 + k)
            return loss, step, mean, total, first

        with s.scope():
            outside = tf.get_variable("outside", initializer=2.0)
            data = s.distribute_dataset(lambda: tf.data.Dataset.from_tensors([[1.0], [2.0]]).repeat(8))
            iterator = data.make_initializable_iterator()
            loss, step, mean, total, first = s.call_for_each_tower(model, iterator.get_next())
            reduced, step = s.reduce(how.MEAN, loss, outside), s.group(step)
            found["towers"] = seen
            found["kinds"] = [type(value).__name__ for value in (outside, loss, reduced)]
            found["trainable"] = [v.name for v in tf.trainable_variables()]
            found["non slot"] = s.non_slot_devices(tf.trainable_variables()).name

            def assigned():
                return tf.get_variable("none", initializer=0.0).assign(1.0)

            def setting(v, x):
                return v.assign(x)

            found["no aggregation"] = attempt(lambda: s.call_for_each_tower(assigned))
            found["per device"] = attempt(lambda: s.update(outside, setting, loss))
            found["mirrored"] = attempt(lambda: s.update(outside, setting, s.broadcast(tf.constant(3.0))))
            added, updated = outside.assign_add(1.0), s.update(outside, setting, tf.constant(9.0))
            everything = sorted(tf.global_variables(), key=lambda v: v.name)
            with tf.Session(config=tf.ConfigProto(device_count={"CPU": 4})) as session:
                session.run([tf.global_variables_initializer(), iterator.initializer])
                found["losses"] = [float(session.run([s.unwrap(reduced)[0], step])[0]) for _ in range(3)]
                values = session.run(everything)
                found["values"] = {v.name: np.ravel(values[i]).tolist() for i, v in enumerate(everything)}
                found["aggregated"] = [np.ravel(session.run(s.unwrap(x))).tolist() for x in (mean, total, first)]
                found["assigned"] = [float(session.run(x)) for x in (added, updated, outside)]
    return found


def replicas(tf, make):
    """What variables and values under a strategy of 2.x come to.

    Args:
      make: a function that makes the strategy of two replicas.
    """
    how = tf.VariableAggregation
    s = make()
    found = {"strategy": [s.num_replicas_in_sync, len(s.extended.worker_devices), s.extended.should_checkpoint]}
    with s.scope():
        v = tf.Variable(1.0, name="v")
        mean = tf.Variable(1.0, aggregation=how.MEAN, trainable=False)
        total = tf.Variable(0.0, aggregation=how.SUM, trainable=False)
        first = tf.Variable(0.0, aggregation=how.ONLY_FIRST_REPLICA)
        read = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=how.SUM)
        found["kinds"] = [type(x).__name__ for x in (v, mean, total, first, read)]
        found["name"] = [v.name, v.device, isinstance(v, tf.Variable), len(s.experimental_local_results(v))]

    @tf.function
    def step():
        def replica():
            k = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
            mean.assign_add(k)
            total.assign_add(k + 1.0)
            first.assign(k + 5.0)
            read.assign_add(k)
            return v * k + mean

        return s.run(replica)

    found["results"] = [float(x) for x in s.experimental_local_results(step())]
    found["values"] = [float(x.numpy()) for x in (mean, total, first, read)]
    found["no aggregation"] = attempt(lambda: s.run(lambda: v.assign(3.0)))
    v.assign(2.0)
    v.assign_add(1.5)
    averaged = s.run(tf.function(lambda: tf.distribute.get_replica_context().all_reduce("MEAN", v * 1.0)))
    found["reduced"] = [float(v.numpy()), float(s.reduce("SUM", averaged, axis=None))]
    with s.scope():
        s.extended.update(v, lambda x, y: x.assign(y), args=(9.0,))
    found["updated"] = [float(v.numpy()), s.extended.variable_created_in_scope(v)]
    data = s.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
    found["input"] = [[part.numpy().tolist() for part in s.experimental_local_results(x)] for x in data]
    return found
