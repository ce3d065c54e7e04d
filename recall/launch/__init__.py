"""Many fleets, each in a process of its own: on this machine, or on a cluster with Ray."""
