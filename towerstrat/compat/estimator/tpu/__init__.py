"""``TPUEstimator``: an estimator whose training is step loops on all devices of the machine."""
