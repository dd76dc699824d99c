"""A stand-in for Apache Superset that Flotilla's scenarios run on a real node.

It takes the commands, the configuration and the metastore of a real one, and none of its features: see README.md.
"""
