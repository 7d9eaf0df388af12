"""What programs call while they are imported: decorators, inspection, notices of deprecation, lists of exports."""
