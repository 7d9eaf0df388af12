"""What is called around each run of a monitored session: the protocol, and the hooks of ``tf.train``."""
