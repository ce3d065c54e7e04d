"""Make films of episodes: play them, compose the images and write them to a file."""
