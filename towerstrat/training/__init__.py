"""What trains a model: optimizers, learning rates, averages."""
