"""Constants that trade speed or memory, with the benchmark case that set them."""

MAX_BYTES_IN_MEMORY = 2**26  # of a column of ratings; longer ones lie in a temporary file
ROWS_PER_CHUNK = 64  # users or items whose systems one thread solves at a time (`implicit-als`)
USERS_PER_BLOCK = 128  # users whose scores of all items are in memory at once
ROWS_PER_GRADIENT_CHUNK = 128  # the same for steps of conjugate gradients, which take less time
MIN_FACTORS_FOR_GRADIENTS = 32  # below, exact solutions cost little more (`implicit-als`)
