"""Many runs: the cells of a file that varies something, what is known of them, and who runs them."""
