"""Networks: a trunk that tasks share, a head for each task, the policy's distribution, PopArt."""
