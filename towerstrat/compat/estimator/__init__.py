"""``tf.estimator``: the package tensorflow-estimator, unedited, over the sessions, hooks and events of towerstrat."""
