"""Results as textbooks state them, to compare with the tight ones."""
