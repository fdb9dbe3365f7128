"""An evaluation as a person sees it: a page with tables, pictures and the worst errors; imports no framework."""

from unmask.report.evaluation import Confusion, Evaluation, Picture, Section, Table, WorstError
from unmask.report.marks import Mark
from unmask.report.page import write_evaluation

__all__ = ["Confusion", "Evaluation", "Mark", "Picture", "Section", "Table", "WorstError", "write_evaluation"]
