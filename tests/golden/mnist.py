"""Writes mnist.json: what TensorFlow 1.12.3 reads from MNIST's files, and in what order. Run it with its Python."""

import json
import os
import tempfile

import tensorflow as tf
from mnist_cases import files, orders, write
from tensorflow.contrib.learn.python.learn.datasets import mnist

with tempfile.TemporaryDirectory() as folder:
    write(folder)
    found = {"orders": orders(tf, mnist), "files": files(mnist, folder)}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mnist.json"), "w") as file:
    json.dump(found, file, sort_keys=True, separators=(",", ":"))
    file.write("\n")
