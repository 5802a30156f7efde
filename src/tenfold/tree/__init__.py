"""Decision trees and ensembles of them: gradient boosting, forests, isolation forests."""
