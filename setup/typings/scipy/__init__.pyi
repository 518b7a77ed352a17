"""What is used of SciPy."""
