"""The names of the figures in words, and what each means, for readers who do not know them by heart."""

from typing import NamedTuple


class Meaning(NamedTuple):
    """A figure's name as a person writes it, and one sentence on what it is."""

    name: str
    meaning: str


GLOSSARY = {
    "accuracy": Meaning("Accuracy", "Share of the examples, or of the words to be tagged, that were answered right."),
    "macro_f1": Meaning("Macro F1", "Mean of the classes' F1, rare and common classes counted alike."),
    "micro_f1": Meaning("Micro F1", "F1 over all decisions together, so common labels count more."),
    "f1": Meaning("F1", "Harmonic mean of precision and recall."),
    "precision": Meaning("Precision", "Share of what was found that is right."),
    "recall": Meaning("Recall", "Share of what is there that was found."),
    "mcc": Meaning("Matthews correlation", "Correlation of predicted and gold classes: 1 perfect, 0 as by chance."),
    "ece": Meaning("Calibration error (ECE)", "Mean distance between confidence and accuracy; less is better."),
    "roc_auc": Meaning("ROC AUC", "Chance that a positive example scores higher than a negative one; 0.5 is chance."),
    "average_precision": Meaning("Average precision", "Area under the precision-recall curve."),
    "exact_match": Meaning("Exact match", "Share of the answers that are exactly right."),
    "pearson": Meaning("Pearson correlation", "How well a straight line relates predicted to gold values; 1 is best."),
    "spearman": Meaning("Spearman correlation", "How well the order of the values is kept; 1 is best."),
    "rmse": Meaning("RMSE", "Root of the mean squared error, in the unit of the values; less is better."),
    "mae": Meaning("MAE", "Mean absolute error, in the unit of the values; less is better."),
    "loss": Meaning("Loss", "Mean negative log-likelihood in nats; less is better."),
    "has_answer_exact_match": Meaning("Exact match, answerable", "Of the questions that have an answer."),
    "has_answer_f1": Meaning("F1, answerable", "Of the questions that have an answer."),
    "no_answer_accuracy": Meaning("Accuracy, unanswerable", "Share of the unanswerable questions left unanswered."),
}

OF_A_CLASS = {
    "f1": "Harmonic mean of precision and recall of '{}'.",
    "precision": "Share of what was found as '{}' that is right.",
    "recall": "Share of what is '{}' that was found as such.",
    "roc_auc": "Chance that '{}' is found likelier for an example of it than for another; 0.5 is chance.",
    "average_precision": "Area under the precision-recall curve of '{}'.",
}
"""What the figures mean that of two classes are about one, the positive one, whose name belongs in the braces."""


def in_words(name: str, positive: str | None = None) -> Meaning:
    """What a figure is called and means; one that is not in the glossary keeps its name, without underscores.

    Args:
        name: of the figure.
        positive: of two classes the one that some figures are about.
    """
    readable = name.replace("_", " ")
    found = GLOSSARY.get(name) or Meaning(readable[:1].upper() + readable[1:], "")
    if positive is None or name not in OF_A_CLASS:
        return found
    return Meaning(found.name, OF_A_CLASS[name].format(positive))
