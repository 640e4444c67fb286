"""The catalog of models: discovery, context windows, prices, and checks of a configured model."""
