"""The subcommands of `recall`, a module each. They import what they run when they run it."""
