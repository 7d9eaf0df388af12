"""Trains the tiny BERT of bert_tiny.py on towers; BERT's own optimizer adds their gradients up.

towerstrat run --towers 4 examples/libraries/bert_towers.py
"""

import tensorflow as tf
import training
from bert import optimization
from bert_tiny import classification_loss, examples


def averaged(next_creator, **arguments):
    """Makes variables that towers may assign to: BERT's optimizer does, each tower the same value."""
    if arguments["aggregation"] is tf.VariableAggregation.NONE:
        arguments["aggregation"] = tf.VariableAggregation.MEAN
    return next_creator(**arguments)


def main():
    strategy = tf.contrib.distribute.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""))
    batch = len(examples()["ids"]) // strategy.num_towers

    def input_fn():
        return tf.data.Dataset.from_tensor_slices(examples()).repeat().batch(batch, drop_remainder=True)

    def tower_fn(inputs):
        loss = classification_loss(**inputs)
        step = optimization.create_optimizer(loss, init_lr=0.002, num_train_steps=40, num_warmup_steps=5, use_tpu=True)
        return step, loss

    def step_fn(context, inputs):
        step, loss = strategy.call_for_each_tower(tower_fn, inputs)
        context.set_last_step_output("loss", loss, tf.VariableAggregation.MEAN)
        return strategy.group(step)

    with strategy.scope(), tf.variable_creator_scope(averaged):
        iterator = strategy.distribute_dataset(input_fn).make_initializable_iterator()
        context = strategy.run_steps_on_dataset(step_fn, iterator, initial_loop_values={"loss": tf.constant(0.0)})
        with tf.Session() as session:
            session.run([strategy.initialize(), iterator.initializer])
            training.initialize(session)
            for number in range(20):
                _, outputs = session.run([context.run_op, context.last_step_outputs])
                print(f"step {number}  loss {outputs['loss']:.9g}")


if __name__ == "__main__":
    main()
