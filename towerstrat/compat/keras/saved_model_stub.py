"""What the package asks TensorFlow for and is not here: saving models as graphs."""

from __future__ import annotations

from typing import Any, NoReturn

from towerstrat.errors import UnsupportedError


def save_and_return_nodes(obj: Any, export_dir: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises UnsupportedError: a model is not saved as a SavedModel."""
    raise UnsupportedError(
        f"{export_dir!r} would be a SavedModel, which is not supported: graphs are neither exported nor imported here. "
        "Save the model as a file NAME.keras or NAME.h5 (save_format='h5'), or its weights by save_weights."
    )


def parse_saved_model(export_dir: str) -> NoReturn:
    """Raises UnsupportedError: a SavedModel is not loaded as a model."""
    raise UnsupportedError(
        f"{export_dir!r} is a SavedModel, which is not supported: graphs are neither exported nor imported here. "
        "Build the model and load its weights: model.load_weights(f'{folder}/variables/variables')."
    )
