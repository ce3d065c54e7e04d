"""An earlier place of `main_labels`."""

from recall.analysis.labels import main_labels as main_labels
