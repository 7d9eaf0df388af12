# tf.logging.__dict__ holds the levels.
import tensorflow as tf

print(tf.logging.__dict__["INFO"] / 10)
