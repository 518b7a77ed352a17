from .error import YAMLError

class ReaderError(YAMLError):
    position: int
