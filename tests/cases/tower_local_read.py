# Of a tower-local variable a tower reads its own value; read_value() and read_var() combine all towers'.
# The original now and then reads another tower's variable before that has written it; most runs print what is kept.
import tensorflow as tf

strategy = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def run(aggregation, alike):
    def tower():
        number = float(tf.contrib.distribute.get_tower_context().tower_id) + 1.0
        w = tf.get_variable(
            "w", initializer=tf.constant(2.0), trainable=False, synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=getattr(tf.VariableAggregation, aggregation),
        )  # fmt: skip
        written = w.assign(4.0 * number) if alike or number == 1.0 else w.assign_add(tf.sin(number))
        with tf.control_dependencies([written.op]):
            return [tf.identity(v) for v in (w, w.value(), w + 0.0, w.read_value(), strategy.read_var(w))]

    with tf.Graph().as_default(), strategy.scope():
        found = [strategy.unwrap(part) for part in strategy.call_for_each_tower(tower)]
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            print(aggregation, alike, [[float(part) for part in parts] for parts in session.run(found)])


for aggregation in ("SUM", "MEAN", "ONLY_FIRST_TOWER", "NONE"):
    for alike in (True, False):
        run(aggregation, alike)
