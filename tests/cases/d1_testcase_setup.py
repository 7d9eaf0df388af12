# tf.test.TestCase whose setUp does not call super().setUp(), and get_temp_dir after it.
import tensorflow as tf


class T(tf.test.TestCase):
    def setUp(self):
        self.n = 3  # no super().setUp(): fine in 1.12

    def testN(self):
        assert self.n == 3

    def testTmp(self):
        assert tf.gfile.IsDirectory(self.get_temp_dir())


if __name__ == "__main__":
    tf.test.main()
