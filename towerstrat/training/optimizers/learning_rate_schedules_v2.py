"""The schedules of ``learning_rate_decay_v2``: functions without arguments that compute the rate of the moment.

They are made for optimizers that call their hyperparameters at each step.
"""

from __future__ import annotations

from towerstrat.training.optimizers import learning_rate_schedules
from towerstrat.training.optimizers.learning_rate_schedules import deferred_form

cosine_decay = deferred_form(learning_rate_schedules.cosine_decay)
cosine_decay_restarts = deferred_form(learning_rate_schedules.cosine_decay_restarts)
exponential_decay = deferred_form(learning_rate_schedules.exponential_decay)
inverse_time_decay = deferred_form(learning_rate_schedules.inverse_time_decay)
linear_cosine_decay = deferred_form(learning_rate_schedules.linear_cosine_decay)
natural_exp_decay = deferred_form(learning_rate_schedules.natural_exp_decay)
noisy_linear_cosine_decay = deferred_form(learning_rate_schedules.noisy_linear_cosine_decay)
piecewise_constant = deferred_form(learning_rate_schedules.piecewise_constant)
polynomial_decay = deferred_form(learning_rate_schedules.polynomial_decay)
