"""What the provider remembers of one AWS account between reconciles; one class for each purpose.

AccountMemory owns these parts. Code that needs a single part takes that part only. Each part has its own
lock, and holds it during no call to AWS."""
