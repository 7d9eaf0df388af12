# What an assignment returns in a tower has the gradient of the tower's variable.
import tensorflow as tf

strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def run(aggregation, synchronization, name):
    def tower():
        number = float(tf.contrib.distribute.get_tower_context().tower_id) + 1.0
        w = tf.get_variable(
            "w", initializer=tf.constant([2.0, 3.0]), aggregation=getattr(tf.VariableAggregation, aggregation),
            synchronization=getattr(tf.VariableSynchronization, synchronization), trainable=False,
        )  # fmt: skip
        y = tf.identity(getattr(w, name)(tf.constant([5.0, 7.0]) * number)) * 3.0
        return [y] + tf.gradients(y, [w])

    with tf.Graph().as_default(), strategy.scope():
        found = [strategy.unwrap(part) for part in strategy.call_for_each_tower(tower)]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            print(aggregation, synchronization, name, [[part.tolist() for part in session.run(f)] for f in found])


for aggregation, synchronization in (
    ("SUM", "ON_WRITE"),
    ("MEAN", "ON_WRITE"),
    ("SUM", "ON_READ"),
    ("NONE", "ON_READ"),
):
    for name in ("assign", "assign_add"):
        run(aggregation, synchronization, name)
