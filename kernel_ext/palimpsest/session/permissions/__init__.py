"""What a person granted, which rules hold, and the questions asked and answered."""
