# generate_checkpoint_state_proto with full paths; get_checkpoint_state of a state file without a path.
import os
import tempfile

import tensorflow as tf

d = tempfile.mkdtemp()
c = tf.train.generate_checkpoint_state_proto(d, os.path.join(d, "model-0"))
print(
    c.model_checkpoint_path == os.path.join(d, "model-0"), c.all_model_checkpoint_paths == [os.path.join(d, "model-0")]
)
with open(os.path.join(d, "checkpoint"), "w") as f:
    f.write("")
try:
    print(tf.train.get_checkpoint_state(d))
except ValueError as e:
    print("ValueError", e)
