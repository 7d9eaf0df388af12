"""The strategies of `tf.contrib.distribute` as programs of 1.8 to 1.15 know them: towers and replicas in one object."""
