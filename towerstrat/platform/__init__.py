"""Services below the graph: files on local and remote storage, logging, flags, protocol messages, devices, timers."""
