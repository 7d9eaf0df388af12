"""Adversarial networks: models, losses and training as the original has them; what is refused."""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import gan_cases, goldens
from tests.spread import spread

FACTS = goldens.facts("gan")
ARRAYS = goldens.arrays("gan")
gan = tf.contrib.gan


def compare(name, arrays):
    assert set(arrays) == {k.removeprefix(f"{name}/") for k in ARRAYS if k.startswith(f"{name}/")}
    for part, found in arrays.items():
        np.testing.assert_allclose(found, ARRAYS[f"{name}/{part}"], rtol=2e-5, atol=2e-6, err_msg=part)


def test_every_case_has_its_golden():
    assert sorted(gan_cases.CASES) == sorted(FACTS)


@spread("name", gan_cases.CASES)
def test_case(name):
    facts, arrays = gan_cases.run(tf, name)
    assert facts == FACTS[name]
    compare(name, arrays)


def test_training():
    compare("train", gan_cases.train(tf))


def test_the_share_of_a_gradient_ratio():
    """The adversarial loss is weighed so that the norms of the gradients have the ratio."""
    made = gan_cases.model(tf)
    main = tf.reduce_mean(tf.square(made.generated_data - made.real_data))
    loss = gan.gan_loss(made, add_summaries=False)
    combined = gan.losses.combine_adversarial_loss(loss, made, main, gradient_ratio=2.0, scalar_summaries=False)
    norms = [tf.global_norm(tf.gradients(y, made.generator_variables)) for y in (main, loss.generator_loss)]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        one, two, first, other, found = sess.run([*norms, main, loss.generator_loss, combined.generator_loss])
    np.testing.assert_allclose(found, first + other * one / two / 2.0, rtol=1e-4)


def test_losses_of_a_star_gan_from_those_of_judgements():
    """Wasserstein's: minus the mean of generated data's, and what these are above the real ones'."""
    losses = gan.losses.wargs
    made = gan.StarGANModel(*[None] * len(gan.StarGANModel._fields))._replace(
        discriminator_input_data_source_predication=tf.constant([1.0, 3.0]),
        discriminator_generated_data_source_predication=tf.constant([0.5, -0.25]),
    )
    generating = gan.losses.stargan_generator_loss_wrapper(losses.wasserstein_generator_loss)
    judging = gan.losses.stargan_discriminator_loss_wrapper(losses.wasserstein_discriminator_loss)
    with tf.Session() as sess:
        assert sess.run([generating(made), judging(made)]) == [-0.125, 0.125 - 2.0]


REFUSED = {
    "weight": (ValueError, "greater than 0", lambda m: gan.gan_loss(m, gradient_penalty_weight=-1.0)),
    "no classes": (ValueError, "must be an `ACGANModel`", lambda m: gan.gan_loss(m, aux_cond_generator_weight=1.0)),
    "no distributions": (ValueError, "`InfoGANModel`",
                         lambda m: gan.gan_loss(m, mutual_information_penalty_weight=1.0)),
    "no cycle": (ValueError, "`CycleGANModel`", lambda m: gan.cyclegan_loss(m)),
    "twice": (ValueError, "both the tuple and keyword",
              lambda m: gan.losses.wasserstein_generator_loss(m, discriminator_gen_outputs=1.0)),
    "no share": (ValueError, "cannot both be `None",
                 lambda m: gan.losses.combine_adversarial_loss(gan.gan_loss(m), m, tf.constant(1.0))),
    "updates": (ValueError, "unused update ops", lambda m: (
        tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.no_op()),
        gan.gan_train_ops(m, gan.gan_loss(m), *[tf.train.GradientDescentOptimizer(0.1)] * 2))),
    "shapes": (ValueError, "same shape as real data",
               lambda m: gan.gan_model(lambda z: z, lambda x, z: x, tf.zeros([2, 3]), tf.zeros([2, 2]))),
    "no pair": (TypeError, "must output a tuple",
                lambda m: gan.acgan_model(lambda z: z, lambda x, z: x, tf.zeros([3]), tf.zeros([3]), None)),
    "not trainable": (ValueError, "trainable", lambda m: tf.contrib.training.create_train_op(
        tf.constant(1.0), tf.train.GradientDescentOptimizer(0.1),
        variables_to_train=[tf.Variable(1.0, trainable=False)])),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    error, message, call = REFUSED[case]
    with pytest.raises(error, match=message):
        call(gan_cases.model(tf))


def test_a_train_op_runs_updates_first_and_checks_the_loss():
    w = tf.get_variable("w", initializer=2.0)
    mean = tf.get_variable("mean", initializer=0.0, trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, mean.assign(5.0).op)
    fed = tf.placeholder_with_default(1.0, [])
    train = tf.contrib.training.create_train_op(w * fed, tf.train.GradientDescentOptimizer(0.5))
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is train
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(train) == 2.0
        assert sess.run([w, mean, tf.train.get_global_step()]) == [1.5, 5.0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
            sess.run(train, {fed: np.inf})
        assert sess.run(w) == 1.5


@pytest.mark.parametrize(("kind", "calls"), [
    ("sequential", ["g", "g", "g", "d", "count"]), ("joint", ["gd", "g", "g", "count"]),
])  # fmt: skip
def test_hooks_train_before_each_run(kind, calls):
    with tf.Graph().as_default():
        g, d = (tf.get_variable(name, initializer=0) for name in "gd")
        step = tf.train.get_or_create_global_step()
        ops = gan.GANTrainOps(g.assign_add(1), d.assign_add(1), step.assign_add(1))
        hooks = getattr(gan, f"get_{kind}_train_hooks")(gan.GANTrainSteps(3, 1))(ops)
        seen = []

        class Watching(tf.train.SessionRunHook):
            def after_create_session(self, session, coord):
                run = session.run
                names = {ops.generator_train_op: "g", ops.discriminator_train_op: "d", ops.global_step_inc_op: "count"}

                def watched(fetches, *args, **kwargs):
                    if isinstance(fetches, dict):
                        fetched = [fetches["caller"]]
                    else:
                        fetched = fetches
                    seen.append("".join(names[f] for f in fetched))
                    return run(fetches, *args, **kwargs)

                session.run = watched

        with tf.train.MonitoredSession(hooks=[Watching(), *hooks]) as session:
            for _ in range(2):
                session.run(ops.global_step_inc_op)
        assert seen == calls * 2
