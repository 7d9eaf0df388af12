"""What models are made of: layers, recurrent networks, metrics, losses, distributions."""
