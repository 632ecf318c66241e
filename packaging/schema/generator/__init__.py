"""The generator of the packages' interfaces."""
