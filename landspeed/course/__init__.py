"""The course: lessons that measure, their pages and site, exercises that grade themselves. Nothing is printed here."""
