"""Several processes, one per host, that run one program: how they start, agree, are watched, and end.

Code above uses a run's processes by three objects:

    PROCESSES          how many they are, this one's index, whether they run in lockstep     ``process_index``
    COLLECTIVES        broadcast, gather, agree, barrier, channel: messages of the host      ``collectives``
    GRADIENT_ROUNDS    the mean of gradients, on the devices                                 ``gradient_rendezvous``
"""
