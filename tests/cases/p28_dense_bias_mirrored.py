# MirroredStrategy with a callable loss, layers made inside of it: all towers watch variables in one order.
import tensorflow as tf

d = tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
with d.scope():
    opt = tf.train.AdamOptimizer(0.1)

    def model_fn():
        def loss_fn():
            h = tf.layers.dense(tf.ones([4, 3]), 5, name="a", activation=tf.nn.relu)
            h = tf.layers.batch_normalization(h, training=True, name="b")
            return tf.reduce_mean(tf.layers.dense(h, 1, name="c"))

        return opt.minimize(loss_fn)

    try:
        op = tf.group(d.unwrap(d.call_for_each_tower(model_fn)))
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as s:
            s.run(tf.global_variables_initializer())
            s.run(op)
            print("trained")
    except Exception as e:
        print(type(e).__name__, str(e)[:300])
