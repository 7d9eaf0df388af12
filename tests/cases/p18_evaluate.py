# TestCase.evaluate of a callable, eagerly (learning rates are callables there).
import tensorflow as tf

tf.enable_eager_execution()


class A(tf.test.TestCase):
    def test(self):
        self.assertAllClose(self.evaluate(tf.train.exponential_decay(0.1, tf.Variable(1), 1, 0.5)), 0.05)


tf.test.main()
