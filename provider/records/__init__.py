"""The records of which namespace has which domain and name, kept in ConfigMaps: when each begins and ends.

Who may have a domain by them is asked in `cloudfront/safety/`; nothing here calls AWS."""
