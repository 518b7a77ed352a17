"""The lessons that there are, read once for all tests of a worker: 30 files of YAML take a seventh of a second."""

from landspeed.course.lesson import all_lessons

LESSONS = {lesson.name: lesson for lesson in all_lessons()}
