"""The public names of the 1.x namespace for recurrent networks. Data, by module."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

ROWS: Rows = (
    ("models.rnn.cells", {
        "tf.nn.rnn_cell tf.contrib.rnn": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple RNNCell",
        "tf.contrib.rnn": "LayerRNNCell",
    }),
    ("models.rnn.cell_wrappers", {
        "tf.nn.rnn_cell tf.contrib.rnn": "DeviceWrapper DropoutWrapper MultiRNNCell ResidualWrapper",
    }),
    ("models.rnn.contrib_cells", {
        "tf.contrib.rnn": """
            EmbeddingWrapper GRUBlockCell GRUBlockCellV2 InputProjectionWrapper LSTMBlockCell LayerNormBasicLSTMCell
            OutputProjectionWrapper UGRNNCell stack_bidirectional_dynamic_rnn""",
    }),
    ("models.rnn.dynamic_rnn", {
        "tf.nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn",
    }),
    ("models.rnn.static_rnn", {
        "tf.nn tf.contrib.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    }),
)  # fmt: skip
