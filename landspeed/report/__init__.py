"""Bundles become pages and tables for people: reports, comparisons, submissions, the record book.

beside_recorded.py   Recorded beside rehearsed: the rows that summary and report share
book_page.py         The record book's rows and page: every record recorded, emulated and simulated
chart_parts.py       Parts of every chart: lines, marks, a figure over time (plain dicts)
charts.py            The report's charts as plotly figures (plain dicts; the page draws them)
comparison.py        Bundles side by side: the rows of the table, the differences, the overlaid charts
comparison_page.py   A comparison as one self-contained page: the report's style and script
comparison_sides.py  One side of a comparison: a bundle, and what its samples say about its start
configuration.py     The exact configuration of a run as text: scenario, what the guest said of itself, versions
diagram.py           The path as a drawing (SVG), from the plan: nodes, distances, delays
differences.py       Differences of two sides of a comparison beyond the tolerance
findings.py          The first sentence of a page: what was found, in goodput and in delay
network_report.py    The report of a network: its links and flows as tables, all flows over time
network_view.py      A plan of a network for people: its links, its flows
page_parts.py        Parts that pages share: templates, style sheets and scripts, data inside a script element
plan_view.py         A plan for people: the path hop by hop, and its physics
plotly_figure.py     A chart of the report as a Plotly figure with the report's own colours
probe_page.py        A probe, or a Mininet script, as one self-contained page: what was found on top
queue_table.py       Table of the queues of a path: their discipline, how full each got, its drops and its marks
run_report.py        `report.html`: one page per bundle, one file
side_words.py        Words for what differs between scenarios of runs
submission.py        `submission.html` and its PDF: a run written up as the teams of the contest wrote theirs
summary.py           Summary on the terminal at the end of a run: recorded beside rehearsed, its limit
svg_lines.py         Lines and points as SVG needs them: scales, ticks, pixels
sweep_comparison.py  Sweep against sweep, cell by cell: two kernels, two engines, two worlds
sweep_figures.py     Figures of a sweep's page: means for each combination
sweep_page.py        A sweep as one self-contained page: pictures and a table
tables.py            The report's tables and notes, as plain rows of text; the template only lays them out
terminal_chart.py    Goodput over time as columns of blocks, for a terminal
weathermap.py        Load of every link over time, as SVG: a row a direction, a column a time
worldmap.py          The route on a map, as SVG: coastlines from a packaged data set (GSHHG, crude)

plotly_figure.py is short because only notebooks need it, and it imports plotly.
"""
