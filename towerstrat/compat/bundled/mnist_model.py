"""A network with two hidden layers for MNIST: ``tensorflow.examples.tutorials.mnist.mnist``."""

from __future__ import annotations

import math

from towerstrat.graph.ir.default_graph import name_scope
from towerstrat.graph.ir.graph_elements import Operation, Tensor
from towerstrat.graph.ir.types import int32
from towerstrat.graph.ops.array.arrays import zeros
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math.arithmetic import cast, to_int64
from towerstrat.graph.ops.math.reductions import reduce_sum
from towerstrat.graph.ops.nn.activations import relu
from towerstrat.graph.ops.nn.misc import in_top_k
from towerstrat.graph.ops.random.stateful import truncated_normal
from towerstrat.graph.variables.variables import Variable
from towerstrat.models.losses import sparse_softmax_cross_entropy
from towerstrat.training.optimizers.gradient_descent import GradientDescentOptimizer
from towerstrat.training.summaries.summary import scalar

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images: Tensor, hidden1_units: int, hidden2_units: int) -> Tensor:
    """Logits ``[batch, 10]`` of images ``[batch, 784]``."""
    hidden1 = relu(_linear("hidden1", images, IMAGE_PIXELS, hidden1_units))
    hidden2 = relu(_linear("hidden2", hidden1, hidden1_units, hidden2_units))
    return _linear("softmax_linear", hidden2, hidden2_units, NUM_CLASSES)


def _linear(name: str, inputs: Tensor, size: int, units: int) -> Tensor:
    with name_scope(name):
        weights = Variable(truncated_normal([size, units], stddev=1.0 / math.sqrt(float(size))), name="weights")
        biases = Variable(zeros([units]), name="biases")
        return matmul(inputs, weights) + biases


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross entropy of logits ``[batch, 10]`` and labels ``[batch]``."""
    return sparse_softmax_cross_entropy(labels=to_int64(labels), logits=logits)


def training(loss: Tensor, learning_rate: float) -> Operation:
    """An operation that does a step of gradient descent and counts it in ``global_step``; the loss has a summary."""
    scalar("loss", loss)
    global_step = Variable(0, name="global_step", trainable=False)
    step: Operation = GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)
    return step


def evaluation(logits: Tensor, labels: Tensor) -> Tensor:
    """How many labels, int32, belong to the largest logit."""
    return reduce_sum(cast(in_top_k(logits, labels, 1), int32))
