"""What others measured, and what landspeed measures on the same path with nothing fitted: `make published`.

Each source is a folder here: its figures as they were read (figures.csv), the constant part of its path
(scenario.yaml), and in `__init__.py` what a row of figures changes there, which figure is compared, and how near it
must come. All cells of a source are one sweep in build/published/: what is known is not run again.
"""
