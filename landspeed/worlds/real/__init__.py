"""The real world: Ansible plays that an operator can run by themselves, and what drives them from a scenario."""
