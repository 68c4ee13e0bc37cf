"""Speed, as ratios: ours and a floor beside it, measured in turns in the same run."""
