"""What the graph's page is made of: its script and its style sheet, in `static/`."""
