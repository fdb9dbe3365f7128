"""Engines: what computes a model's numbers for a task."""
