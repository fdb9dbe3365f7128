"""Figures of merit: from gold and predictions to numbers, in NumPy alone.

Each kind of figure comes twice: as a function of all examples, and as a `Statistic`, a function of the numbers of the
examples to count. The first is the second of every example once; the bootstrap asks the second a thousand times, so
whatever needs no example but itself is computed before. Letters at the end of an array's name are its axes: N examples,
C classes.
"""
