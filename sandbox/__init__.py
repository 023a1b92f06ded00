"""A whole local world: control plane, Crossplane core, emulator, function and provider, supervised."""
