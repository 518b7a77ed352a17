"""Pipeline from a scenario file to a plan: reading, checking, theory, resolving.

file/       The scenario file: its model, its checks, errors with line and column, what a world can honour of it
importers/  Measurements of a real path become a scenario
plan/       The plan: the whole work of a run in plain numbers, for processes that never see the scenario
resolve/    A checked scenario becomes a plan
theory/     Formulas of the field, each once and with its source
traces/     Traces: a link's rate and delay over time, from files and from models
"""
