"""Thresholds of linear models that trade time or memory; none of them changes what is minimized.

Each comment has the unit, the trade, and the benchmark that shows it. "Not swept": chosen on that
case, without a systematic comparison of other values.
"""

# --------------------------------------------------------------------------- smooth objectives
# parameters: a dense Hessian against L-BFGS. benchmarks/glm.py; not swept
NEWTON_MAX_PARAMETERS = 256
# rows x parameters: few costly iterations against many cheap ones. benchmarks/small.py; not swept
NEWTON_MAX_ENTRIES = 100_000
# the same for ordinal regression, which has one row of coefficients; not swept
ORDINAL_NEWTON_MAX_ENTRIES = 200_000
# columns: one pass for the Gram matrix that preconditions L-BFGS, against more iterations.
# benchmarks/speed.py, LogisticRegression; not swept
GRAM_MAX_COLUMNS = 2000
# parameters: one Hessian that preconditions L-BFGS in ordinal regression; not swept
PRECONDITIONER_MAX_PARAMETERS = 2000
# rows per sampled row: starting from the minimum on a sample against starting from zero.
# benchmarks/speed.py, LogisticRegression; not swept
SAMPLE_DIVISOR = 16
# rows: smaller samples save no iterations, larger ones cost more than they save.
# benchmarks/speed.py, LogisticRegression; not swept
MIN_SAMPLE_ROWS = 2_500
MAX_SAMPLE_ROWS = 20_000
# rows: with fewer per parameter the Hessian of a sample is a poor preconditioner; not swept
SAMPLE_ROWS_PER_PARAMETER = 20
# rows: sample from which Huber and quantile regression start. benchmarks/glm.py; not swept
INITIAL_SAMPLE_ROWS = 2_000
# classes: the compiled softmax loop against BLAS, which needs wider products. On MNIST in float32
# (10 classes, benchmarks/speed.py) BLAS takes more than twice as long; not swept
SOFTMAX_LOOP_MAX_CLASSES = 24
# rows, and rows x columns: up to both sizes an iteration costs little more than its overhead, so
# softmax runs on BLAS and to a tighter tolerance. benchmarks/small.py; not swept
SMALL_TABLE_ROWS = 8192
SMALL_TABLE_ENTRIES = 2**17

# --------------------------------------------------------------------------- L1 penalties
# parameters in the working sets of all classes: one joint Hessian against one per class; not swept
MAX_JOINT_PARAMETERS = 3000
# parameters per class that may enter a working set at once, proximal Newton; not swept
MIN_WORKING_SET = 32
# parameters that may enter at once, coordinate descent along sparse columns; not swept
MIN_SPARSE_WORKING_SET = 2000
# columns: the whole Gram matrix in one pass. benchmarks/lasso.py; not swept
FULL_GRAM_MAX_COLUMNS = 512
# columns that enter together: with fewer a pass is bound by memory traffic. benchmarks/lasso.py;
# not swept
MIN_BATCH_COLUMNS = 64
# a batch has at least 1 / BATCH_GROWTH of the columns that entered before; not swept
BATCH_GROWTH = 2
# when 1 / FULL_GRAM_DIVISOR of all columns have entered, the others enter at once; not swept
FULL_GRAM_DIVISOR = 4
# bytes of cached products: memory against passes; not swept
MAX_GRAM_BYTES = 2**29
# bytes of a batch, of which every thread holds one; not swept
MAX_BATCH_BYTES = 2**26
# columns: from there a pass over sparse rows is cheaper than cached products with all columns.
# benchmarks/lasso.py; not swept
SPARSE_PASS_MIN_COLUMNS = 4096

# ----------------------------------------------------------------- least squares, quantiles
# columns: a dense Gram matrix of sparse rows against conjugate gradients; not swept
MAX_SPARSE_GRAM_COLUMNS = 4096
# columns: smoothed Newton stage against one linear program of all rows. benchmarks/glm.py;
# not swept
QUANTILE_NEWTON_MAX_COLUMNS = 4096
# rows of the linear program, and rows per column. benchmarks/glm.py; not swept
MIN_LP_ROWS = 600
LP_ROWS_PER_COLUMN = 8

# ----------------------------------------------------------------- support vector machines
# entries of all Hessians: primal Newton against dual coordinate descent. benchmarks/svc.py, dense;
# not swept
SVM_NEWTON_MAX_ENTRIES = 2_000_000
# columns: sparse rows made dense, chunk by chunk, for primal Newton. benchmarks/svc.py; not swept
SVM_NEWTON_MAX_SPARSE_COLUMNS = 256
# sweeps between two extrapolations of the dual. benchmarks/svc.py, hinge; not swept
EXTRAPOLATION_INTERVAL = 5
# columns of an iteration with an L1 penalty, beside twice those that are not zero; not swept
SVM_MIN_WORKING_COLUMNS = 64

# --------------------------------------------------------------------------- stochastic gradients
# multiplications in a block: with fewer, starting threads costs more. benchmarks/sgd.py; not swept
MIN_PARALLEL_PRODUCTS = 200_000
# rows: distance of the prefetch when rows come in random order. benchmarks/sgd.py; not swept
PREFETCH_ROWS = 4
