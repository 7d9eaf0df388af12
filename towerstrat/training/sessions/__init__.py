"""Sessions that initialize, restore, recover and call hooks: ``tf.train``'s, and the loops over them."""
