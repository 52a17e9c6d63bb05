"""Compare every estimator of the package with its scikit-learn peer, on real data.

The program is `python -m sklearn_ensemble_theory.compare`; `--help` lists what it takes.
"""

import sys

from sklearn_ensemble_theory.compare.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
