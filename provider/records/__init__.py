"""The records of which namespace has which domain and name, stored in ConfigMaps: when each starts and ends.

`cloudfront/safety/` decides by them which namespace may have a domain; nothing here calls AWS."""
