"""Names for the factors between base units and the ones people say. GB is 1e9 bytes, GiB is 2^30."""
MINUTE, HOUR, DAY = 60, 3600, 86400
MONTH = 730 * HOUR  # of storage and fleet bills
GB, TB = 1e9, 1e12
MIB, GIB, TIB = 2**20, 2**30, 2**40
