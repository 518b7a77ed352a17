"""What landspeed uses of Plotly, whose methods name few types."""

__file__: str
