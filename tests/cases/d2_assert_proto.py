# tf.test.TestCase.assertProtoEquals.
import tensorflow as tf


class T(tf.test.TestCase):
    def testP(self):
        self.assertProtoEquals("", tf.GraphDef())


if __name__ == "__main__":
    tf.test.main()
