"""The command line: words to calls, progress on a terminal, errors to exit statuses.

arguments.py       Arguments that several commands share, and the options of worlds as arguments
demo_words.py      The word for a first look: demo
errors.py          Exit statuses, and errors of the command line itself
explore_words.py   The word explore: a page with sliders, theory and measured runs, as a file or served
import_words.py    The word import: files of measurements become a scenario
kernel_words.py    Words about the guest's kernels: kernel list, build, remove
lesson_words.py    The word of the course: lesson
machine_words.py   Words about this machine: doctor
main.py            The command `landspeed`: which file has which word, and errors to exit statuses
predict_words.py   The word predict: how long a transfer of many bytes takes
probe_words.py     The word `probe`: what holds any program back on a long path
program_words.py   Words that run the user's own programs on the emulated path: exec, shell
progress.py        Progress of a run on standard error: a bar on a terminal, a plain line now and then elsewhere
real_words.py      Words of a rollout: `landspeed real PLAY`
result_words.py    Words about what was run: results, report, submission, record-book
run_words.py       Words that make runs: run, compare
scenario_words.py  Words about scenario files: check, show, schema
sweep_words.py     Words that make many runs: sweep, find
values.py          Values of arguments: text to value, with a message that says what would be right

errors.py is short because every file of the room needs it, machine_words.py because it is a family of its own.
"""
