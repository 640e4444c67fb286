"""What learners hand in for each lesson, right and wrong, beside what the check must say of it."""
