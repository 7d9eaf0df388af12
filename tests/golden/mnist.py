"""Writes mnist.json: what TensorFlow 1.12.3 reads from MNIST's files, and in what order."""

import tempfile

import tensorflow as tf
from goldens import make
from mnist_cases import files, orders, write
from tensorflow.contrib.learn.python.learn.datasets import mnist

RUNS = ["1.12"]

with tempfile.TemporaryDirectory() as folder:
    write(folder)
    make("mnist", {"orders": orders(tf, mnist), "files": files(mnist, folder)})
