"""The learner: multi-head SAC with PopArt, written for one run, jitted for a fleet of them."""
