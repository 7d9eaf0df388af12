"""Double DQN on a small grid: replay buffer in NumPy, a target network that copy operations bring up to date."""

import random
from collections import deque

import numpy as np
import tensorflow as tf

SIZE = 4
GOAL, PIT = (3, 3), (1, 2)
MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]


class GridWorld(object):
    def reset(self):
        self.place, self.time = (0, 0), 0
        return self.state()

    def state(self):
        state = np.zeros((SIZE, SIZE), np.float32)
        state[self.place] = 1.0
        return state.ravel()

    def step(self, action):
        row, column = (np.clip(p + m, 0, SIZE - 1) for p, m in zip(self.place, MOVES[action]))
        self.place = (int(row), int(column))
        self.time += 1
        if self.place == GOAL:
            return self.state(), 1.0, True
        if self.place == PIT:
            return self.state(), -1.0, True
        return self.state(), -0.02, self.time >= 30


class DQN(object):
    def __init__(self, n_features, n_actions, learning_rate=0.005, gamma=0.9, hidden=24):
        self.n_actions = n_actions
        self.s = tf.placeholder(tf.float32, [None, n_features], name="s")
        self.a = tf.placeholder(tf.int32, [None], name="a")
        self.r = tf.placeholder(tf.float32, [None], name="r")
        self.s_ = tf.placeholder(tf.float32, [None, n_features], name="s_")
        self.done = tf.placeholder(tf.float32, [None], name="done")

        self.q_eval = self._net("eval_net", self.s, n_features, hidden)
        q_eval_next = self._net("eval_net", self.s_, n_features, hidden)
        q_next = self._net("target_net", self.s_, n_features, hidden)
        best = tf.one_hot(tf.argmax(q_eval_next, axis=1), n_actions)
        target = self.r + gamma * (1.0 - self.done) * tf.reduce_sum(best * q_next, axis=1)
        indices = tf.stack([tf.range(tf.shape(self.a)[0]), self.a], axis=1)
        q_taken = tf.gather_nd(self.q_eval, indices)
        self.loss = tf.losses.huber_loss(tf.stop_gradient(target), q_taken)

        eval_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="eval_net")
        target_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target_net")
        self.replace = [tf.assign(t, e) for t, e in zip(target_params, eval_params)]
        self.gap = tf.add_n([tf.reduce_sum(tf.abs(t - e)) for t, e in zip(target_params, eval_params)])
        self.train_op = tf.train.RMSPropOptimizer(learning_rate).minimize(self.loss, var_list=eval_params)

    def _net(self, scope, inputs, n_features, hidden):
        def start(*shape):
            return tf.constant_initializer(np.random.RandomState(sum(shape)).normal(0, 0.2, shape))

        with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
            w1 = tf.get_variable("w1", [n_features, hidden], initializer=start(n_features, hidden))
            b1 = tf.get_variable("b1", [hidden], initializer=tf.constant_initializer(0.1))
            w2 = tf.get_variable("w2", [hidden, self.n_actions], initializer=start(hidden, self.n_actions))
            b2 = tf.get_variable("b2", [self.n_actions], initializer=tf.constant_initializer(0.1))
            return tf.matmul(tf.nn.relu(tf.matmul(inputs, w1) + b1), w2) + b2


random.seed(0)
np.random.seed(0)
env = GridWorld()
agent = DQN(SIZE * SIZE, len(MOVES))
memory = deque(maxlen=500)
saver = tf.train.Saver(tf.global_variables("eval_net"))
epsilon, learn_steps = 1.0, 0

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    rewards = []
    for episode in range(60):
        state, total, done = env.reset(), 0.0, False
        while not done:
            if np.random.uniform() < epsilon:
                action = np.random.randint(len(MOVES))
            else:
                action = int(np.argmax(sess.run(agent.q_eval, feed_dict={agent.s: state[np.newaxis]})))
            next_state, reward, done = env.step(action)
            memory.append((state, action, reward, next_state, float(done)))
            state, total = next_state, total + reward
            if len(memory) >= 32:
                batch = [np.array(column) for column in zip(*random.sample(memory, 16))]
                feed = dict(zip([agent.s, agent.a, agent.r, agent.s_, agent.done], batch))
                if learn_steps % 50 == 0:
                    gap = sess.run(agent.gap)
                    sess.run(agent.replace)
                _, loss = sess.run([agent.train_op, agent.loss], feed_dict=feed)
                learn_steps += 1
        rewards.append(total)
        epsilon = max(0.1, epsilon * 0.94)
        if episode % 10 == 9:
            print(
                f"episode {episode + 1} reward {np.mean(rewards[-10:]):.5f} epsilon {epsilon:.5f} loss {loss:.5f} "
                f"last gap {gap:.5f} steps {learn_steps}"
            )
    saver.save(sess, "./dqn.ckpt")

with tf.Session() as sess:
    saver.restore(sess, "./dqn.ckpt")
    table = sess.run(agent.q_eval, {agent.s: np.eye(SIZE * SIZE)})
    print(
        "uninitialized",
        [name.decode() for name in sess.run(tf.report_uninitialized_variables(tf.global_variables("target_net")))],
    )
    for row in np.argmax(table, axis=1).reshape(SIZE, SIZE):
        print(" ".join(">v<^"[action] for action in row))
    print("values of the start", np.round(table[0], 5))
