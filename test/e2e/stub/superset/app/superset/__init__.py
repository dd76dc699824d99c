"""The stub of Apache Superset for Flotilla's scenarios on a real node.

It has the commands, the configuration and the metastore of Superset, but none of its features: see README.md.
"""
