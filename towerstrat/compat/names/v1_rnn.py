"""The public names of the 1.x namespace for recurrent networks. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.named import Rows

ROWS: Rows = (
    ("training.rnn.cells", {
        "tf.nn.rnn_cell tf.contrib.rnn": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple RNNCell",
        "tf.contrib.rnn": "LayerRNNCell",
    }),
    ("training.rnn.wrappers", {
        "tf.nn.rnn_cell tf.contrib.rnn": "DeviceWrapper DropoutWrapper MultiRNNCell ResidualWrapper",
    }),
    ("training.rnn.contrib", {
        "tf.contrib.rnn": """
            EmbeddingWrapper GRUBlockCell GRUBlockCellV2 InputProjectionWrapper LSTMBlockCell LayerNormBasicLSTMCell
            OutputProjectionWrapper UGRNNCell stack_bidirectional_dynamic_rnn""",
    }),
    ("training.rnn.dynamic", {
        "tf.nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn",
    }),
    ("training.rnn.static", {
        "tf.nn tf.contrib.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    }),
)  # fmt: skip
