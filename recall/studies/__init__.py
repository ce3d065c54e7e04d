"""Studies: experiments as data, their division into fleets, and launching them."""

from recall.studies.declared import STUDIES, study_named
from recall.studies.study import Study, Variant

__all__ = ["STUDIES", "Study", "Variant", "study_named"]
