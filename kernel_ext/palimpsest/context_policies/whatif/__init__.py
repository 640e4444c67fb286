"""What-if: replay a recorded session under another context policy."""
