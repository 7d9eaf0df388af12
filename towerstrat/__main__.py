"""``python -m towerstrat``."""

import sys

from towerstrat.cli import main

sys.exit(main())
