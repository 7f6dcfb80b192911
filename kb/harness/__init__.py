"""What a harness is given: skills, sub-agents, hooks and settings from one set of templates. Overwrites nothing it did not write."""
