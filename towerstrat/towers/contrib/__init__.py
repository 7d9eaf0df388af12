"""`tf.contrib.distribute`: the strategies of 1.8 to 1.12."""
