"""The public names of the 1.x namespace for recurrent networks. Data, by module."""

from __future__ import annotations

from types import ModuleType

from towerstrat.training.rnn import cells, contrib, dynamic, static, wrappers

ROWS: tuple[tuple[ModuleType, dict[str, str]], ...] = (
    (cells, {
        "tf.nn.rnn_cell tf.contrib.rnn": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LSTMStateTuple RNNCell",
        "tf.contrib.rnn": "LayerRNNCell",
    }),
    (wrappers, {
        "tf.nn.rnn_cell tf.contrib.rnn": "DeviceWrapper DropoutWrapper MultiRNNCell ResidualWrapper",
    }),
    (contrib, {
        "tf.contrib.rnn": """
            EmbeddingWrapper GRUBlockCell GRUBlockCellV2 InputProjectionWrapper LSTMBlockCell LayerNormBasicLSTMCell
            OutputProjectionWrapper UGRNNCell stack_bidirectional_dynamic_rnn""",
    }),
    (dynamic, {
        "tf.nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn",
    }),
    (static, {
        "tf.nn tf.contrib.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
    }),
)  # fmt: skip
