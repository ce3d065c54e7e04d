"""Networks: multi-head networks, the policy's distribution, PopArt, Adam and sharding."""
