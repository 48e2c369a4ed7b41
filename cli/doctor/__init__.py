"""The doctor: finds faults of this machine and its network that keep people from playing, and says how to mend them."""
