"""The emulated world: a real Linux TCP stack, namespaces and netem, in virtual time."""
