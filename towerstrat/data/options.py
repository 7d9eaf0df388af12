"""``tf.data.Options``: how the original may execute a dataset. None of it changes a value."""

from __future__ import annotations

from typing import Any

_NAMES = ("experimental_autotune", "experimental_filter_fusion", "experimental_hoist_random_uniform",
          "experimental_latency_all_edges", "experimental_map_and_batch_fusion", "experimental_map_and_filter_fusion",
          "experimental_map_fusion", "experimental_map_parallelization", "experimental_map_vectorization",
          "experimental_noop_elimination", "experimental_shuffle_and_repeat_fusion")  # fmt: skip


class Options:
    """Settings that are kept and change nothing here.

    Later versions have more of them, in groups (``experimental_threading``, ...): any name that begins with
    ``experimental_`` is accepted.
    """

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(_NAMES))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("experimental_"):
            raise AttributeError(f"tf.data.Options has no option {name!r}.")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("experimental_"):
            return self.__dict__.setdefault(name, _Group())
        raise AttributeError(f"tf.data.Options has no option {name!r}.")

    def merge(self, options: Options) -> Options:
        """Both together. Raises ValueError where they set one option to different values."""
        result = Options()
        for name in {**self.__dict__, **options.__dict__}:
            mine, other = self.__dict__.get(name), options.__dict__.get(name)
            if mine is not None and other is not None and mine != other:
                raise ValueError(f"Cannot merge options: {name} is {mine!r} and {other!r}.")
            result.__dict__[name] = other if mine is None else mine
        return result


class _Group:
    """A group of options of later versions."""

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value
