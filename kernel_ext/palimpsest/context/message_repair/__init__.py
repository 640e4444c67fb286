"""Repair neutral messages for providers: pair calls with results, fix ids, turn order and thinking."""
