"""Many runs: the cells of a file that varies something, what is known of them, and who runs them.

adaptive.py  A sweep that chooses the values of one key itself: more where the curve of goodput bends
find.py      Find the least, or the greatest, value of a key with which a goal is still met: by bisection
grid.py      The grid of a sweep: every cell with its work, known by its content, before anything runs
predict.py   Predict how long a transfer of many bytes takes: shorter ones, until they are steady
store.py     A sweep's folder: one small file for each cell that was run, by its content; from them the table
sweep.py     A sweep: what is not known of its cells is run, on all cores or on a cluster
variants.py  A file that varies something: every combination is a variant, with its plan and its world
work.py      One cell's run, wherever it is made: in this process, in a worker beside it, on another computer
workers.py   Workers that run the cells: threads of this computer, or a running cluster; both by Dask
"""
