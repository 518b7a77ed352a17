"""The course: lessons that measure, their pages and site, exercises that grade themselves. Nothing is printed here.

answer_key.py      The key of an exercise, for the lecturer: answers that have all points
class_grades.py    Grades of a class: every folder checked on all cores, copies found
class_register.py  A class: its students
comparison.py      Comparisons of a lesson
exam.py            Examination papers: questions of every lesson with numbers that a class's secret draws
execute.py         The code of a lesson, run in this process, cell after cell, as a notebook would
exercise.py        An exercise: a folder with a path of the student's own, a task, and a file for answers
exercise_names.py  Names of students and of their folders
fair_queue.py      A queue of work for a room: each student in turn
figure.py          A figure of a lesson as SVG: measured points over the predicted curve, and the residual below
grading.py         Grades an exercise by pytest, against theory and a fresh run
laboratory.py      The lessons' runs: a store of the runs that are known, and the queue of the rest
lesson.py          A lesson's folder, read: text, theory, scenarios
lesson_page.py     A lesson's page: its text with what its cells show
lesson_run.py      One run of a lesson: what varied, what was planned, what came out
nbgrader.py        An exercise as an assignment of nbgrader: a notebook whose locked cells grade
new_lesson.py      A lesson of one's own: a folder that runs at once, to be changed
references.py      Citations of the lessons: RFCs by number, and phrases with the years of works
room.py            The course on one machine for a room: pages, exercises, trials and checks for every browser
scales.py          Axes of a figure: figures to pixels, and where the ticks stand
site.py            The course as a static site: a page for each lesson, an index, figures for slides, notebooks
stated_figures.py  Figures in a lesson's running text, each beside the formula or the runs that give it
stated_numbers.py  Numbers in a lesson's prose: each is stated in the lesson's theory, a value of its scenarios
worksheet.py       A lesson under way: what its cells call

answer_key.py is short because only a lecturer's commands may see it; exercise_names.py because register and
folders both need it; new_lesson.py because a folder of a lesson holds the rest.
"""
