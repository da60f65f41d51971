"""Agent files: YAML to a valid specification with true places, and from there to an agent.

`load_agent_file` reads and checks, `build_agent` makes the agent. pydantic and ruamel.yaml load with the first file.
"""

from lovia_cli.agentfile.build import build_agent
from lovia_cli.agentfile.spec import AgentSpec, load_agent_file

__all__ = ["AgentSpec", "build_agent", "load_agent_file"]
