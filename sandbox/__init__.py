"""A complete local environment: control plane, Crossplane core, emulator, function and provider."""
