"""`python -m function`."""

from function.main import main

main()
