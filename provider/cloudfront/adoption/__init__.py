"""What exists in AWS already: listing it, manifests for it, looking whose it is, and taking it over.

The judgement by what was read is in `ownership/`."""
