"""``tf.saved_model.SaveOptions`` and ``LoadOptions``: models are not saved as graphs, but callers name the options."""

from __future__ import annotations

from typing import Any


class SaveOptions:
    """How a SavedModel would be written.

    Args:
      namespace_whitelist: custom operations that it may have. save_debug_info: whether lines of the program are in it.
      function_aliases: further names of functions. experimental_io_device: where files are written.
      experimental_variable_policy: how variables of strategies are saved. experimental_custom_gradients: whether
        gradients of functions are saved.
    """

    def __init__(
        self,
        namespace_whitelist: Any = None,
        save_debug_info: bool = False,
        function_aliases: Any = None,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
    ):
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})


class LoadOptions:
    """How a SavedModel would be read.

    Args:
      allow_partial_checkpoint: whether variables may lack a value. experimental_io_device: where files are read.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ):
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})
