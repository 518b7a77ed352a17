"""What landspeed uses of geographiclib, which has no types."""

class GeodesicLine:
    s13: float
    def Position(self, s12: float, outmask: int = ...) -> dict[str, float]: ...

class Geodesic:
    WGS84: Geodesic
    DISTANCE: int
    LATITUDE: int
    LONGITUDE: int
    LONG_UNROLL: int
    def Inverse(self, lat1: float, lon1: float, lat2: float, lon2: float, outmask: int = ...) -> dict[str, float]: ...
    def InverseLine(self, lat1: float, lon1: float, lat2: float, lon2: float, caps: int = ...) -> GeodesicLine: ...
