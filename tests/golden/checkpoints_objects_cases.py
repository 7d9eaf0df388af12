"""Objects that are saved: with the original's names, so that it and towerstrat run the same."""


class Holder:
    """Objects, an optimizer with slots, a step; ``tf`` is the namespace of 1.x, eagerly.

    ``contents`` are all names of the checkpoint, by which objects are matched.
    """

    def __init__(self, tf):
        self.tf = tf
        self.net = tf.train.Checkpoint(
            kernel=tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="kernel"), bias=tf.Variable([0.5, -0.5], name="bias")
        )
        setattr(self.net, "odd/name.x", tf.Variable(7, dtype=tf.int32))
        self.net.parts = [tf.Variable(1.0), {"deep": tf.Variable(["a", "b"], dtype=tf.string)}]
        self.net.again = self.net.kernel
        self.optimizer = tf.train.AdamOptimizer(0.1)
        self.momentum = tf.train.MomentumOptimizer(0.1, 0.9)
        inner = tf.make_template("inner", lambda x: x + tf.get_variable("shift", [], initializer=self.start(2.0)))
        self.scaled = tf.make_template(
            "scaled", lambda x: inner(x) * tf.get_variable("a/by", [], initializer=self.start(3.0))
        )
        self.step = tf.Variable(0, dtype=tf.int64, name="step")
        self.checkpoint = tf.train.Checkpoint(
            net=self.net, optimizer=self.optimizer, momentum=self.momentum, step=self.step, scaled=self.scaled
        )

    def start(self, value):
        """An initializer."""
        return self.tf.constant_initializer(value)

    def train(self):
        """A step."""
        tf = self.tf
        self.scaled(tf.constant(1.0))
        self.optimizer.apply_gradients([(tf.constant([[1.0, -1.0], [0.5, 2.0]]), self.net.kernel)])
        self.momentum.apply_gradients([(tf.constant([1.0, -2.0]), self.net.bias)])
        self.step.assign_add(1)

    def values(self):
        """What training changes."""
        found = [self.net.kernel, self.net.bias, self.optimizer.get_slot(self.net.kernel, "v")]
        return [v.numpy().tolist() for v in found] + [int(self.step.numpy())]

    def other(self):
        """What it does not."""
        scaled = float(self.scaled(self.tf.constant(1.0)).numpy())
        deep = self.net.parts[1]["deep"].numpy().tolist()
        return [
            int(getattr(self.net, "odd/name.x").numpy()), float(self.net.parts[0].numpy()), [d.decode() for d in deep],
            scaled,
        ]  # fmt: skip

    def change(self):
        """Other values, which restoring must undo."""
        self.net.kernel.assign([[0.0, 0.0], [0.0, 0.0]])
        self.net.bias.assign([0.0, 0.0])
        getattr(self.net, "odd/name.x").assign(0)
        self.scaled(self.tf.constant(1.0))
        for variable in self.scaled.variables:
            variable.assign(0.0)
        self.net.parts[0].assign(0.0)
        self.net.parts[1]["deep"].assign(["", ""])
