"""The subcommands of `recall`, one module each, which import what they need when they run."""
