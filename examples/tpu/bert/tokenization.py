"""Words and pieces of words, by a vocabulary file with one entry per line; "##" is before what goes on with a word."""

import collections
import unicodedata

import tensorflow as tf


def load_vocab(vocab_file):
    with tf.gfile.GFile(vocab_file, "r") as file:
        return collections.OrderedDict((line.strip(), number) for number, line in enumerate(file))


class FullTokenizer:
    """Splits text into entries of a vocabulary."""

    def __init__(self, vocab_file, do_lower_case=True):
        self.vocab = load_vocab(vocab_file)
        self.do_lower_case = do_lower_case

    def tokenize(self, text):
        if self.do_lower_case:
            text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        apart = "".join(f" {c} " if unicodedata.category(c).startswith("P") else c for c in text)
        return [piece for word in apart.split() for piece in self._pieces(word)]

    def convert_tokens_to_ids(self, tokens):
        return [self.vocab[token] for token in tokens]

    def _pieces(self, word):
        """The longest entries from left to right, or "[UNK]" where some part of the word is not in the vocabulary."""
        pieces, start = [], 0
        while start < len(word):
            ends = range(len(word), start, -1)
            candidates = (("##" if start else "") + word[start:end] for end in ends)
            piece = next((c for c in candidates if c in self.vocab), None)
            if piece is None:
                return ["[UNK]"]
            pieces.append(piece)
            start += len(piece) - (2 if start else 0)
        return pieces
