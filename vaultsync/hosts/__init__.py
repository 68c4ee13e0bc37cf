"""The programs that agents run in, and what is written into their files to connect them."""
