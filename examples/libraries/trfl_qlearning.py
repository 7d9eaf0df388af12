"""Learns the values of actions by the unedited package trfl: Q-learning and double Q-learning from transitions."""

import numpy as np
import tensorflow as tf
import trfl

STATES, ACTIONS, RATE, DISCOUNT = 6, 3, 0.5, 0.9


def transitions(count=16, seed=4):
    """States, actions, rewards and following states."""
    numbers = np.random.RandomState(seed)
    states, following = numbers.randint(0, STATES, (2, count))
    return states, numbers.randint(0, ACTIONS, count), numbers.rand(count).astype(np.float32), following


def main():
    states, actions, rewards, following = transitions()
    values = tf.get_variable(
        "values", initializer=np.linspace(0, 1, STATES * ACTIONS).reshape(STATES, ACTIONS).astype("f")
    )
    selector = tf.constant(np.cos(np.arange(STATES * ACTIONS)).reshape(STATES, ACTIONS).astype("f"))
    before, after = tf.gather(values, states), tf.gather(values, following)
    discounts = tf.fill([len(states)], DISCOUNT)
    plain = trfl.qlearning(before, actions, rewards, discounts, after)
    double = trfl.double_qlearning(before, actions, rewards, discounts, after, tf.gather(selector, following))
    step = tf.train.GradientDescentOptimizer(RATE).minimize(tf.reduce_mean(plain.loss))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(20):
            _, loss, other = session.run([step, tf.reduce_mean(plain.loss), tf.reduce_mean(double.loss)])
            print(f"step {number}  double {other:.9g}  loss {loss:.9g}")


if __name__ == "__main__":
    main()
