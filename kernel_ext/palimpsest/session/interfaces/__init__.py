"""Protocols and values between front ends, sessions and their parts."""
