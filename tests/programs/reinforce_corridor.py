"""REINFORCE with a learned baseline, on a corridor where the agent has to fetch a key before it leaves."""

import numpy as np
import tensorflow as tf

GAMMA = 0.95
LEARNING_RATE = 0.08
EPISODES_PER_BATCH = 8
BATCHES = 9


class Corridor(object):
    """Cells 0 to 5: the key is in cell 0, the door in cell 5, the agent starts in cell 2."""

    def __init__(self, length=6, limit=20):
        self.length = length
        self.limit = limit

    def reset(self):
        self.cell, self.key, self.steps = 2, False, 0
        return self.observation()

    def observation(self):
        state = np.zeros(self.length + 1, np.float32)
        state[self.cell] = 1
        state[-1] = self.key
        return state

    def step(self, action):
        self.cell = int(np.clip(self.cell + (1 if action else -1), 0, self.length - 1))
        self.steps += 1
        reward = -0.05
        if self.cell == 0 and not self.key:
            self.key, reward = True, 0.5
        done = self.cell == self.length - 1 and self.key
        if done:
            reward = 1.0
        return self.observation(), reward, done or self.steps >= self.limit


def weights(seed, *shape):
    return tf.constant_initializer(np.random.RandomState(seed).normal(0, 0.3, shape))


class Agent(object):
    def __init__(self, state_size, actions, hidden=16):
        self.states = tf.placeholder(tf.float32, [None, state_size], "states")
        self.actions = tf.placeholder(tf.int32, [None], "actions")
        self.returns = tf.placeholder(tf.float32, [None], "returns")
        with tf.variable_scope("policy"):
            h = tf.layers.dense(self.states, hidden, tf.nn.tanh, kernel_initializer=weights(0, state_size, hidden))
            logits = tf.layers.dense(h, actions, kernel_initializer=weights(1, hidden, actions))
            self.probabilities = tf.nn.softmax(logits)
        with tf.variable_scope("baseline"):
            h = tf.layers.dense(self.states, hidden, tf.nn.tanh, kernel_initializer=weights(2, state_size, hidden))
            self.value = tf.squeeze(tf.layers.dense(h, 1, kernel_initializer=weights(3, hidden, 1)), 1)
        taken = tf.reduce_sum(tf.one_hot(self.actions, actions) * tf.nn.log_softmax(logits), axis=1)
        advantage = tf.stop_gradient(self.returns - self.value)
        self.entropy = -tf.reduce_mean(tf.reduce_sum(self.probabilities * tf.nn.log_softmax(logits), axis=1))
        self.policy_loss = -tf.reduce_mean(taken * advantage) - 0.01 * self.entropy
        self.value_loss = tf.losses.mean_squared_error(self.returns, self.value)
        policy = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "policy")
        baseline = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, "baseline")
        self.train = tf.group(
            tf.train.AdamOptimizer(LEARNING_RATE).minimize(self.policy_loss, var_list=policy),
            tf.train.RMSPropOptimizer(LEARNING_RATE / 5).minimize(self.value_loss, var_list=baseline),
        )

    def act(self, sess, state, rng):
        chances = sess.run(self.probabilities, {self.states: state[None]})[0]
        return int(rng.rand() < chances[1])


def discounted(rewards):
    result, total = np.zeros(len(rewards), np.float32), 0.0
    for t in reversed(range(len(rewards))):
        total = rewards[t] + GAMMA * total
        result[t] = total
    return result


def main():
    env = Corridor()
    agent = Agent(env.length + 1, 2)
    rng = np.random.RandomState(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for batch in range(BATCHES):
            states, actions, returns, totals = [], [], [], []
            for _ in range(EPISODES_PER_BATCH):
                state, done, rewards = env.reset(), False, []
                while not done:
                    action = agent.act(sess, state, rng)
                    states.append(state)
                    actions.append(action)
                    state, reward, done = env.step(action)
                    rewards.append(reward)
                returns.append(discounted(rewards))
                totals.append(sum(rewards))
            feed = {agent.states: states, agent.actions: actions, agent.returns: np.concatenate(returns)}
            loss, value_loss, entropy, _ = sess.run(
                [agent.policy_loss, agent.value_loss, agent.entropy, agent.train], feed
            )
            if batch % 2 == 0:
                print(
                    f"batch {batch:2d} steps {len(states):3d} reward {np.mean(totals):6.5f} policy loss {loss:.5f} "
                    f"value loss {value_loss:.5f} entropy {entropy:.5f}"
                )
        state, done, path = env.reset(), False, [env.cell]
        while not done:
            action = int(np.argmax(sess.run(agent.probabilities, {agent.states: state[None]})[0]))
            state, _, done = env.step(action)
            path.append(env.cell)
        print("greedy path", path, "with the key" if env.key else "without the key")


if __name__ == "__main__":
    main()
