"""One training step as a graph in a session, eagerly with a tape, and as a function with a tape."""

import itertools
from functools import partial

import numpy as np

from tests.spread import spread
from towerstrat.graph.eager import mode
from towerstrat.graph.functions.polymorphic import function
from towerstrat.graph.ir.graph import Graph
from towerstrat.graph.ir.tensor_conversion import constant, placeholder
from towerstrat.graph.ops.array.arrays import reshape
from towerstrat.graph.ops.control.branches import group
from towerstrat.graph.ops.gradients.gradients import gradients
from towerstrat.graph.ops.linalg.products import matmul
from towerstrat.graph.ops.math.arithmetic import tanh
from towerstrat.graph.ops.math.reductions import reduce_mean
from towerstrat.graph.ops.nn.activations import relu
from towerstrat.graph.ops.nn.convolution import conv2d
from towerstrat.graph.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from towerstrat.graph.runtime.plans.plan import DeviceStage
from towerstrat.graph.runtime.sessions.session import Session
from towerstrat.graph.tapes.gradient_tape import GradientTape
from towerstrat.graph.variables.variable_ops import global_variables_initializer
from towerstrat.graph.variables.variables import Variable
from towerstrat.training.optimizers import AdamOptimizer, MomentumOptimizer

STEPS = 50
BATCH = 16
RANDOM = np.random.RandomState(5)
IMAGES = RANDOM.randn(STEPS, BATCH, 8, 8, 1).astype(np.float32)
LABELS = RANDOM.randint(0, 10, (STEPS, BATCH)).astype(np.int32)


def drawn(*shape):
    return (RANDOM.randn(*shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)


def perceptron(variables, images, labels):
    first, offset, second = variables
    hidden = tanh(matmul(reshape(images, [-1, 64]), first) + offset)
    return reduce_mean(sparse_softmax_cross_entropy_with_logits(labels=labels, logits=matmul(hidden, second)))


def convnet(variables, images, labels):
    first, offset, second, third = variables
    net = relu(conv2d(images, first, strides=[1, 1, 1, 1], padding="SAME") + offset)
    net = relu(conv2d(net, second, strides=[1, 2, 2, 1], padding="VALID"))
    logits = matmul(reshape(net, [-1, 3 * 3 * 6]), third)
    return reduce_mean(sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


MODELS = {
    perceptron: [drawn(64, 32), np.zeros(32, np.float32), drawn(32, 10)],
    convnet: [drawn(3, 3, 1, 4), np.zeros(4, np.float32), drawn(3, 3, 4, 6), drawn(54, 10)],
}


def descend_by_hand(pairs):
    return group(*[v.assign_sub(0.1 * g) for g, v in pairs])


RULES = {
    "by_hand": lambda: descend_by_hand,
    "momentum": lambda: MomentumOptimizer(0.05, 0.9).apply_gradients,
    "adam": lambda: AdamOptimizer(0.01).apply_gradients,
}


def by_session(model, rule):
    """The losses, and the program."""
    with Graph().as_default(), Session() as session:
        images, labels = placeholder("float32", [BATCH, 8, 8, 1]), placeholder("int32", [BATCH])
        variables = [Variable(a) for a in MODELS[model]]
        loss = model(variables, images, labels)
        train_op = RULES[rule]()(zip(gradients(loss, variables), variables, strict=True))
        session.run(global_variables_initializer())
        losses = [session.run([loss, train_op], {images: i, labels: j})[0] for i, j in zip(IMAGES, LABELS, strict=True)]
        *_, (_, _, plan, _) = session._plans.values()
        return losses, program_of(plan)


def eager_step(model, rule):
    variables = [Variable(a) for a in MODELS[model]]
    update = RULES[rule]()

    def step(images, labels):
        with GradientTape() as tape:
            loss = model(variables, images, labels)
        update(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return step


def losses_of(step):
    return [step(constant(i), constant(j)).numpy() for i, j in zip(IMAGES, LABELS, strict=True)]


def program_of(plan):
    (stage,) = [s for s in plan.stages if isinstance(s, DeviceStage)]
    (program,) = stage.compiled.programs
    return program.compiled


def cost(compiled):
    found = compiled.cost_analysis()
    return found["flops"], found["bytes accessed"]


@spread(("model", "rule"), itertools.product(MODELS, RULES), every=9)
def test_three_ways(model, rule):
    losses, program = by_session(model, rule)
    assert losses[-1] != losses[0]
    close = partial(np.testing.assert_allclose, rtol=0, atol=1e-6)
    with mode.eager_mode():
        close(losses_of(eager_step(model, rule)), losses)
        step = function(eager_step(model, rule))
        close(losses_of(step), losses)
        traced = step.get_concrete_function(constant(IMAGES[0]), constant(LABELS[0])).traced
    assert cost(program_of(traced.plan())) == cost(program)
