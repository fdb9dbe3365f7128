"""Training: a recipe, a loop that can be killed at any moment, and what it leaves behind."""
