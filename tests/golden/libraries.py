"""Writes libraries.json: the loss of each step of the programs in examples/libraries, run on TensorFlow 1.12.3.

    $(scripts/oracle) -m pip install --target FOLDER --no-deps bert-tensorflow==1.0.1 dm-sonnet==1.27 kfac==0.1.0 \
        tensorflow-probability==0.5.0 semantic_version contextlib2 'wrapt<1.15'
    PYTHONPATH=FOLDER scripts/golden libraries

Networks of slim are the original's own there. The original has no towers on a CPU: what four of them compute is written
out as one graph with the parts of the batch side by side.
"""

import os
import subprocess
import sys

from goldens import HERE, make

RUNS = ["1.12"]
NEEDS = "bert, sonnet, kfac and tensorflow_probability"
EXAMPLES = os.path.join(HERE, "../../examples/libraries")
PROGRAMS = {
    "bert_tiny": ["bert_tiny.py"],
    "kfac_mlp": ["kfac_mlp.py"],
    "sonnet_nets": ["sonnet_nets.py"],
    "resnet_small": ["slim_nets.py", "resnet_small"],
    "resnet_v1_50": ["slim_nets.py", "resnet_v1_50"],
    "inception_v3": ["slim_nets.py", "inception_v3"],
}
FOUR_TOWERS = """
import training, tensorflow as tf
from bert import optimization
from bert_tiny import classification_loss, examples

gradients, clip = tf.gradients, tf.clip_by_global_norm
# The optimizer sums, over towers, what each has clipped.
def clipped_sums(towers, clip_norm):
    return [tf.add_n(parts) for parts in zip(*(clip(grads, clip_norm)[0] for grads in towers))], None
tf.gradients = lambda losses, variables: [gradients(loss, variables) for loss in losses]
tf.clip_by_global_norm = clipped_sums

parts = [{name: tf.constant(value[2 * i : 2 * i + 2]) for name, value in examples().items()} for i in range(4)]
with tf.variable_scope(tf.get_variable_scope(), reuse=tf.AUTO_REUSE):
    losses = [classification_loss(**part) for part in parts]
step = optimization.create_optimizer(losses, init_lr=0.002, num_train_steps=40, num_warmup_steps=5, use_tpu=False)
training.train(step, tf.reduce_mean(losses))
"""


def losses(command):
    output = subprocess.check_output([sys.executable] + command, cwd=EXAMPLES)
    return [float(line.split()[-1]) for line in output.decode().splitlines() if line.startswith("step ")]


cases = dict(PROGRAMS, bert_towers=["-c", FOUR_TOWERS])
make("libraries", {name: lambda c=command: losses(c) for name, command in cases.items()})
