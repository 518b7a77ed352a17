"""Completion of the command in a shell: what Tab offers.

answer.py   Answers to the shell's Tab: what may stand where the cursor is
command.py  The command `completion`: what the shell needs so that Tab completes commands, options and values
table.py    Table of what can be completed: options, values and keys, by command
"""
