"""Ways in which the bytes of a file are damaged by chance: each takes a source of chance, and changes them in place."""


def flipped(random, data):
    for place in random.randint(len(data), size=random.randint(1, 4)):
        data[place] ^= 1 << random.randint(8)


def truncated(random, data):
    del data[random.randint(len(data)) :]


def swapped(random, data):
    size = random.randint(1, max(2, len(data) // 4))
    one, other = random.randint(len(data) - size, size=2)
    data[one : one + size], data[other : other + size] = data[other : other + size], data[one : one + size]


def zeroed(random, data):
    place = random.randint(len(data))
    size = min(random.randint(1, 200), len(data) - place)
    data[place : place + size] = bytes(size)


def scattered(random, data):
    place = random.randint(len(data))
    size = min(random.randint(1, 40), len(data) - place)
    data[place : place + size] = random.bytes(size)


def grown(random, data):
    place = random.randint(len(data) + 1)
    data[place:place] = random.bytes(random.randint(1, 40))


MUTATIONS = [flipped, truncated, swapped, zeroed, scattered, grown]
