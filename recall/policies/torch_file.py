"""Export of a policy to PyTorch's own format (.pt2), which torch.export.load reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from recall.errors import RecallError
from recall.nets.constants import LOG_STD_RANGE, NORM_EPSILON
from recall.policies.policy import Policy

FACTS = "recall.json"  # the extra file that names the task and its environment


def write_torch(policy: Policy, path: Path) -> None:
    """Write a program from observations [batch, obs] to (action, mean, log_std).

    It needs PyTorch alone: `torch.export.load(path).module()(observations)`. The action is
    deterministic, the tanh of the mean.
    """
    try:
        import torch
    except ImportError as error:
        raise RecallError("export to PyTorch needs torch: pip install torch") from error
    example = torch.zeros(2, policy.observation_size)
    batch = torch.export.Dim("batch")
    program = torch.export.export(
        _module(policy, torch), (example,), dynamic_shapes={"observation": {0: batch}}
    )
    facts = json.dumps(policy.facts())
    torch.export.save(program, path, extra_files={FACTS: facts})


def _module(policy: Policy, torch: Any) -> Any:
    shape, functional = policy.info.shape, torch.nn.functional
    slope = policy.info.shape.negative_slope

    def linear(kernel: str, bias: str) -> Any:
        weights = policy.layers[kernel]
        layer = torch.nn.Linear(*weights.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights.T)))
            layer.bias.copy_(torch.from_numpy(policy.layers[bias].copy()))
        return layer

    class Actor(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            count = len(shape.hidden)
            self.hidden = torch.nn.ModuleList(
                linear(f"kernel_{layer}", f"bias_{layer}") for layer in range(count)
            )
            self.norm = torch.nn.LayerNorm(shape.hidden[0], eps=NORM_EPSILON)
            with torch.no_grad():
                self.norm.weight.copy_(torch.from_numpy(policy.layers["norm_scale"].copy()))
                self.norm.bias.copy_(torch.from_numpy(policy.layers["norm_bias"].copy()))
            self.out = linear("out_kernel", "out_bias")

        def forward(self, observation: Any) -> Any:
            x = torch.tanh(self.norm(self.hidden[0](observation)))
            for layer in self.hidden[1:]:
                x = functional.leaky_relu(layer(x), slope)
            mean, log_std = self.out(x).chunk(2, dim=1)
            return torch.tanh(mean), mean, torch.clamp(log_std, *LOG_STD_RANGE)

    return Actor().eval()
