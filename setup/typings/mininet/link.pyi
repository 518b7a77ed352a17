"""What landspeed uses of Mininet's interfaces and links; the package has no types."""

from mininet.node import Node

class Intf:
    # Of a node, as those of landspeed are.
    name: str
    node: Node
    ip: str
    link: Link | None
    def __init__(self, name: str, node: Node, **params: object) -> None: ...

class Link:
    intf1: Intf
    intf2: Intf
