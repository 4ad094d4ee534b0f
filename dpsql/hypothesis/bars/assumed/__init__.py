"""What bars allow for by assumption: what neither simulations of a model show nor measurements tell.

Each module says of what it takes the world to be capable, and bounds that by what noise may hide of it.
"""
