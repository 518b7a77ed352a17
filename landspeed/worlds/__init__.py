"""What every world and every transfer tool says of itself, and how they are found. No world is named here."""
