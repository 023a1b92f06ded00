"""`edgetenants source`: what a TenantSource would do, by the code of `edgetenants-sources` up to its writes.

command     one run
printing    as text, JSON and YAML
sight       what is read of files and of the cluster
preview     what follows, a pure function
"""
