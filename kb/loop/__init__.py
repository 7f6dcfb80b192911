"""A loop without a harness: load, propose, check, change, measure, keep or revert, write back, with any command as the agent.

Refuses to judge: the gate and the rules do. Refuses to throw work away: what is not kept is reverted by a commit of its own.
"""
