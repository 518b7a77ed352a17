class _Student:
    def ppf(self, q: float, df: float) -> float: ...

t: _Student
