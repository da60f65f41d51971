"""Agent files: YAML to a valid specification with true places, and from there to an agent.

`load_agent_file` reads and checks, `build_agent` makes the agent; `check_agent_file` says all that either would refuse.
pydantic and ruamel.yaml load with the first file.
"""

from lovia_cli.agentfile.build import build_agent
from lovia_cli.agentfile.check import check_agent_file
from lovia_cli.agentfile.spec import AgentSpec, load_agent_file

__all__ = ["AgentSpec", "build_agent", "check_agent_file", "load_agent_file"]
