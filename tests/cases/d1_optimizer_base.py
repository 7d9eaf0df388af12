# Libraries ask at import whether the optimizers' direct base is tf.train.Optimizer.
import tensorflow as tf

print(
    [
        getattr(tf.train, n + "Optimizer").__base__ is tf.train.Optimizer
        for n in ("Adadelta", "Adagrad", "Adam", "Ftrl", "GradientDescent", "Momentum", "RMSProp", "ProximalAdagrad")
    ]
)
