"""The explore page: sliders over a path's figures, what theory says of each setting, and runs that were measured.

goodput_theory.py  Goodput over time in theory: slow start, then losses and growth
grid.py            Choice of the settings that are measured beforehand: around the first one
growth.py          Growth of a stream's window after a loss, for each congestion control: pure functions of time
measured_runs.py   Runs that were measured at settings of the sliders: those of a grid
run_queue.py       Runs that are asked for while the page is served: one at a time for each core, with progress
server.py          The page on loopback
setting.py         The sliders and what they stand for: a setting is a value of each, and its share of the path
slider_page.py     The page: sliders, measured runs, and scripts that compute theory and draw
tables.py          Figures that a few sliders decide, and constants of the model
"""
