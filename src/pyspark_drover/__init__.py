"""Found by Spark's planners, which import all packages of such a name when they look for Python sources.

Rule 1: nothing is here but what keeps their process quiet; see `drover.spark.daemon`.
"""

import sys

from drover.spark.daemon import silence_broken_pipe

silence_broken_pipe(sys.modules["__main__"])
