"""House prices from numbers and from a description: a functional model with two inputs and two outputs."""

import csv

import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.callbacks import Callback, CSVLogger, LambdaCallback, ModelCheckpoint, ReduceLROnPlateau
from tensorflow.keras.layers import Concatenate, Dense, Embedding, GlobalAveragePooling1D, Input
from tensorflow.keras.models import Model

VOCAB = 30
WORDS = 6


def make_data(n, seed):
    rng = np.random.RandomState(seed)
    numbers = rng.normal(size=(n, 4)).astype(np.float32)
    words = rng.randint(1, VOCAB, size=(n, WORDS))
    worth = np.linspace(-1, 1, VOCAB)
    price = numbers.dot([0.8, -0.5, 0.3, 0.0]) + worth[words].sum(axis=1)
    price += rng.normal(0, 0.1, n)
    expensive = (price > 0).astype(np.float32)
    return numbers, words, price.astype(np.float32)[:, None], expensive[:, None]


class WeightNorms(Callback):
    """Keeps the norm of the embedding after each epoch."""

    def on_train_begin(self, logs=None):
        self.norms = []

    def on_epoch_end(self, epoch, logs=None):
        table = self.model.get_layer("words_embedding").get_weights()[0]
        self.norms.append(float(np.sqrt(np.sum(table**2))))


numbers_in = Input(shape=(4,), name="numbers")
words_in = Input(shape=(WORDS,), dtype="int32", name="words")
embedded = Embedding(VOCAB, 8, name="words_embedding")(words_in)
text = GlobalAveragePooling1D()(embedded)
merged = Concatenate()([numbers_in, text])
hidden = Dense(16, activation="relu")(merged)
hidden = Dense(16, activation="relu")(hidden)
price_out = Dense(1, name="price")(hidden)
class_out = Dense(1, activation="sigmoid", name="expensive")(hidden)
model = Model(inputs=[numbers_in, words_in], outputs=[price_out, class_out])

rng = np.random.RandomState(7)
model.set_weights([rng.normal(0, 0.3, w.shape) for w in model.get_weights()])


def root_mean_squared(y_true, y_pred):
    return K.sqrt(K.mean(K.square(y_true - y_pred)))


model.compile(
    optimizer=tf.keras.optimizers.Adam(0.01),
    loss={"price": "mse", "expensive": "binary_crossentropy"},
    loss_weights={"price": 1.0, "expensive": 0.5},
    metrics={"price": ["mae", root_mean_squared], "expensive": ["accuracy"]},
)
print([layer.name.split("_")[0] for layer in model.layers])
print("metrics:", model.metrics_names)

numbers, words, price, expensive = make_data(256, 0)
held_numbers, held_words, held_price, held_expensive = make_data(64, 1)
norms = WeightNorms()
history = model.fit(
    {"numbers": numbers, "words": words},
    {"price": price, "expensive": expensive},
    validation_data=([held_numbers, held_words], [held_price, held_expensive]),
    epochs=12,
    batch_size=32,
    shuffle=False,
    verbose=0,
    callbacks=[
        norms,
        CSVLogger("log.csv"),
        ModelCheckpoint("best/weights", monitor="val_loss", save_best_only=True, save_weights_only=True),
        ReduceLROnPlateau(monitor="loss", factor=0.5, patience=1, min_delta=0.2, min_lr=1e-4),
        LambdaCallback(
            on_epoch_end=lambda epoch, logs: print(
                f"epoch {epoch}: loss {logs['loss']:.5f} price_mae {logs['price_mean_absolute_error']:.5f} "
                f"val_loss {logs['val_loss']:.5f} lr {K.get_value(model.optimizer.lr):.5f}"
            )
        ),
    ],
)
print("norms", np.round(norms.norms, 5).tolist())

with open("log.csv") as log:
    rows = list(csv.DictReader(log))
print(len(rows), "rows; last val_expensive_acc", rows[-1]["val_expensive_acc"][:6])

best = min(history.history["val_loss"])
model.load_weights("best/weights")
scores = model.evaluate([held_numbers, held_words], [held_price, held_expensive], verbose=0)
print(f"best val_loss {best:.5f}, after loading {scores[0]:.5f}")
for name, score in zip(model.metrics_names, scores):
    print(f"{name:30s} {score:.5f}")
guess, chance = model.predict([held_numbers[:5], held_words[:5]])
print(np.round(guess[:, 0], 5), np.round(chance[:, 0], 5))
