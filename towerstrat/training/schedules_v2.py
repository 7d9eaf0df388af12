"""The schedules of ``learning_rate_decay_v2``: functions without arguments that compute the rate of the moment.

They are made for optimizers that call their hyperparameters at each step.
"""

from __future__ import annotations

from towerstrat.training import schedules
from towerstrat.training.schedules import deferred_form

cosine_decay = deferred_form(schedules.cosine_decay)
cosine_decay_restarts = deferred_form(schedules.cosine_decay_restarts)
exponential_decay = deferred_form(schedules.exponential_decay)
inverse_time_decay = deferred_form(schedules.inverse_time_decay)
linear_cosine_decay = deferred_form(schedules.linear_cosine_decay)
natural_exp_decay = deferred_form(schedules.natural_exp_decay)
noisy_linear_cosine_decay = deferred_form(schedules.noisy_linear_cosine_decay)
piecewise_constant = deferred_form(schedules.piecewise_constant)
polynomial_decay = deferred_form(schedules.polynomial_decay)
