"""Every call to AWS: which there are, how fast they may come, how they are counted, what their errors mean.

Nothing here decides about a managed resource, or opens a session with AWS (`account/`)."""
