"""The public names of ``tf.keras.datasets``, the same in both namespaces. Data, as in ``v1``."""

from __future__ import annotations

from towerstrat.compat.names.lazy_names import Rows

_PLAIN = "boston_housing cifar10 cifar100 fashion_mnist mnist"
_OF_WORDS = "imdb reuters"
ROWS: Rows = (
    ("compat.bundled.keras_datasets", {
        **{f"tf.keras.datasets.{name}": f"load_data={name}" for name in _PLAIN.split()},
        **{f"tf.keras.datasets.{name}": f"get_word_index={name}_words load_data={name}" for name in _OF_WORDS.split()},
    }),
)  # fmt: skip
"""A module, and for the public modules that have them its names; ``public=own`` where they differ."""
