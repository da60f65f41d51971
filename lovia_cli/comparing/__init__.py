"""Two runs side by side: which steps are the same, which differ and in what, and where the runs parted (H4)."""

from lovia_cli.comparing.comparison import Comparison, Row, compare_trajectories
from lovia_cli.comparing.drift import Drift
from lovia_cli.comparing.trajectory import Act, Fork, Step, Trajectory

__all__ = ["Act", "Comparison", "Drift", "Fork", "Row", "Step", "Trajectory", "compare_trajectories"]
