"""``tf.distribute`` of 1.13 to 2.x."""
