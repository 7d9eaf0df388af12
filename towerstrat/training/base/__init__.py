"""What several rooms of training use."""
