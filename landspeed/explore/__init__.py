"""The explore page: sliders over a path's figures, what theory says of each setting, and runs that were measured."""
