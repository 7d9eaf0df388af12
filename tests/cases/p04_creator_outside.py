# A variable creator entered outside of scope() sees each tower's copy; reduce to two destinations.
import tensorflow as tf

d = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
conf = tf.ConfigProto(device_count={"CPU": 2})
tf.Session(config=conf).close()
made = []


def creator(next_creator, **kw):
    v = next_creator(**kw)
    made.append(v.name)
    return v


with tf.variable_creator_scope(creator), d.scope():
    d.call_for_each_tower(lambda: tf.get_variable("w", [2]))
print(made)
with d.scope():
    print(
        len(
            d.unwrap(
                d.reduce(
                    tf.VariableAggregation.SUM,
                    d.call_for_each_tower(lambda: tf.constant(1.0)),
                    destinations=["/device:CPU:0", "/device:CPU:1"],
                )
            )
        )
    )
