"""The emulated world: a real Linux TCP stack, Mininet and netem, in virtual time."""
