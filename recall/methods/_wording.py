"""Describe losses for reports: terms of the actor and the critics with their weights."""


def term_in_words(term: str, weight: float, critic_weight: float = 0.0) -> list[str]:
    """Return a term of the actor's loss, and the same term of the critics'; 0 leaves one out."""
    found = [f"{term} (λ {weight:g})"] if weight else []
    return found + ([f"the same of the critics (λ {critic_weight:g})"] if critic_weight else [])
