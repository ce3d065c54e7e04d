"""Studies: experiments as data, their division into fleets, and launching them."""

from recall.studies.declared import STUDIES, Study, Variant, study_named

__all__ = ["STUDIES", "Study", "Variant", "study_named"]
