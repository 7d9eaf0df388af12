# ~x of integers.
import tensorflow as tf

for x in (tf.constant([6], tf.int64), tf.Variable([6, -1]), tf.constant([True])):
    try:
        print((~x).numpy())
    except Exception as e:
        print(type(e).__name__, str(e)[:100])
