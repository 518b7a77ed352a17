"""The command line: words to calls, progress on a terminal, errors to exit statuses.

arguments.py         Arguments that several commands share, and the options of worlds as arguments
class_command.py     The command `class`: a class's register, grades of its folders
command_table.py     Commands of `landspeed`: which file has which of them, under which heading they stand
config_command.py    The command `config`: defaults of options in a file, shown, set and removed
demo_command.py      The command `demo`: a first look at a run
errors.py            Exit statuses, and errors of the command line itself
explore_command.py   The command `explore`: a page with sliders, theory and measured runs, as a file or served
help_command.py      The command `help`: what a command, an option or a key of scenario files is
import_command.py    The commands `import` and `export`: files of other programs become a scenario
kernel_command.py    The commands `kernel list`, `build` and `remove`, of the guest's kernels
lesson_command.py    The command `lesson`, of the course
live_chart.py        Live chart of a run's goodput in a terminal, drawn again while the run goes on (`demo`
machine_command.py   The command `doctor`: what this machine can run
main.py              The command `landspeed`: from its words to its exit status
mn_command.py        The command `mn`: any Mininet script, or `mn` itself, without root and in virtual time
mn_page.py           Page of a Mininet script: what it printed, each net in words
new_command.py       The command `new`: a scenario file of one's own, from options or from answers on a terminal
parser.py            The parser of the command: help in groups, the worlds' options apart
predict_command.py   The command `predict`: how long a transfer of many bytes takes
probe_command.py     The command `probe`: what holds any program back on a long path
program_command.py   The commands `exec` and `shell`: the user's own programs on the emulated path
progress.py          Progress of a run on standard error: a bar on a terminal
real_command.py      The command `real PLAY`: a rollout on real servers
real_rules.py        Options of `real attempt`: when it begins, and the rules that end it
result_command.py    The commands `results`, `report`, `open`, `bundle`, `submission`, `verify`, `record-book`
run_command.py       The commands `run` and `compare`: runs, and runs beside one another
scenario_command.py  The commands `scenarios`, `check`, `show`, `schema`: about scenario files
sweep_command.py     The commands `sweep` and `find`: many runs
values.py            Values of arguments: text to value, with a message that says what would be right
completion/          Completion of the command in a shell: what Tab offers

errors.py is short because every file of the room needs it, machine_command.py because it is a family of its own.
"""
