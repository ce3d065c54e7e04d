"""Films of episodes: played, composed and written to a file."""
