# tf.test.TestCase: get_temp_dir before super().setUp(), assertProtoEquals, checkedThread, setUp without super().
import tensorflow as tf


class A(tf.test.TestCase):
    def setUp(self):  # get_temp_dir before super().setUp(), as Keras' own tests do
        self.folder = self.get_temp_dir()
        super().setUp()

    def testProto(self):
        self.assertProtoEquals(
            "scalar {}" and "value { simple_value: 1.0 }", tf.Summary(value=[tf.Summary.Value(simple_value=1.0)])
        )

    def testThread(self):
        t = self.checkedThread(target=lambda: None)
        t.start()
        t.join()


class B(tf.test.TestCase):
    def setUp(self):
        self.x = 1  # does not call super().setUp()

    def testNothing(self):
        assert self.x == 1


tf.test.main()
