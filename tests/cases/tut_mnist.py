# The MNIST tutorial's training() makes the loss summary.
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import mnist

x = tf.placeholder(tf.float32, [4, 784])
y = tf.placeholder(tf.int32, [4])
loss = mnist.loss(mnist.inference(x, 8, 8), y)
op = mnist.training(loss, 0.1)
print(tf.summary.merge_all())
