from .error import StreamMark

class Node:
    tag: str
    start_mark: StreamMark
    end_mark: StreamMark

class ScalarNode(Node):
    value: str

class SequenceNode(Node):
    value: list[Node]

class MappingNode(Node):
    value: list[tuple[Node, Node]]
