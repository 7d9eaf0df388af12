"""Models as 1.x had them, where 2.15 has them otherwise."""

from __future__ import annotations

from functools import wraps
from types import ModuleType
from typing import Any

from towerstrat.towers.era.strategies import Extended


def complete_models(module: ModuleType) -> None:
    """Gives models of graphs what those of 1.x took.

    ``compile(distribute=...)``: batches of datasets are those of one tower, as they were in 1.11 and 1.12.
    """
    kind = vars(module)["Model"]
    compile_model = kind.compile

    @wraps(compile_model)
    def compile_as_then(self: Any, *args: Any, **kwargs: Any) -> Any:
        extended = getattr(kwargs.get("distribute"), "extended", None)
        if isinstance(extended, Extended):
            extended.batches_of_towers = True
        return compile_model(self, *args, **kwargs)

    kind.compile = compile_as_then


def complete_loops(module: ModuleType) -> None:
    """Predictions on towers are those of all batches, also of those at the end that do not suffice for all towers."""
    predict = vars(module)["experimental_tpu_predict_loop"]

    @wraps(predict)
    def predict_all(model: Any, *args: Any, **kwargs: Any) -> Any:
        extended = model._distribution_strategy.extended
        if not isinstance(extended, Extended):
            return predict(model, *args, **kwargs)
        extended.keeps_batches = True
        try:
            return predict(model, *args, **kwargs)
        finally:
            extended.keeps_batches = False

    vars(module)["experimental_tpu_predict_loop"] = predict_all
