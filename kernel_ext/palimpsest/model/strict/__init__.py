"""What providers refuse: one validator for each format, written from their documented rules.

Pure functions from the body of a request to sentences, one for each thing that is wrong; none
means that the provider would take it. The fault server refuses by them when it is strict, and the
laws of a valid context are proved against them: they share no code with what writes requests.
"""
