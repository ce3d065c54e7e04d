"""Export of a policy to ONNX and to PyTorch's own format (.pt2), for other programs.

Both files take `observation` [batch, obs] and give `action`, `mean` and `log_std`, each [batch,
act]: the deterministic action, which is the tanh of the mean, and the Gaussian before the tanh.
Their metadata names the task and its environment.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from recall.errors import required
from recall.nets.constants import LOG_STD_RANGE, NORM_EPSILON
from recall.policies.policy import Policy

_OPSET = 17  # the first with LayerNormalization
_IR = 8  # goes with this opset, and is read by ONNX Runtime from 1.13 on
_FACTS = "recall.json"  # the extra file of a .pt2 that names the task and its environment


def write_onnx(policy: Policy, path: Path) -> None:
    """Write an ONNX model, which needs opset 17."""
    required("onnx", "export to ONNX")
    from onnx import TensorProto, checker, helper, numpy_helper, save

    low, high = np.array(LOG_STD_RANGE, np.float32)
    constants = dict(policy.layers) | {
        "log_std_min": low,
        "log_std_max": high,
        "sizes": np.full(2, policy.action_size, np.int64),
    }

    def values(name: str, size: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])

    graph = helper.make_graph(
        _nodes(policy, helper.make_node),
        f"policy of {policy.task}",
        [values("observation", policy.observation_size)],
        [values(name, policy.action_size) for name in ("action", "mean", "log_std")],
        [
            numpy_helper.from_array(np.ascontiguousarray(value), name)
            for name, value in constants.items()
        ],
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, producer_name="recall", ir_version=_IR, opset_imports=[opset])
    helper.set_model_props(model, policy.facts())
    checker.check_model(model)
    save(model, str(path))


def _nodes(policy: Policy, node: Any) -> list[Any]:
    shape = policy.info.shape
    nodes = [
        node("Gemm", ["observation", "kernel_0", "bias_0"], ["linear_0"]),
        node(
            "LayerNormalization", ["linear_0", "norm_scale", "norm_bias"], ["normal"],
            axis=-1, epsilon=NORM_EPSILON,
        ),
        node("Tanh", ["normal"], ["hidden_0"]),
    ]  # fmt: skip
    for layer in range(1, len(shape.hidden)):
        inputs = [f"hidden_{layer - 1}", f"kernel_{layer}", f"bias_{layer}"]
        nodes += [
            node("Gemm", inputs, [f"linear_{layer}"]),
            node("LeakyRelu", [f"linear_{layer}"], [f"hidden_{layer}"], alpha=shape.negative_slope),
        ]
    last = f"hidden_{len(shape.hidden) - 1}"
    return [
        *nodes,
        node("Gemm", [last, "out_kernel", "out_bias"], ["outputs"]),
        node("Split", ["outputs", "sizes"], ["mean", "any_log_std"], axis=1),
        node("Clip", ["any_log_std", "log_std_min", "log_std_max"], ["log_std"]),
        node("Tanh", ["mean"], ["action"]),
    ]


def write_torch(policy: Policy, path: Path) -> None:
    """Write a program for `torch.export.load(path).module()`, which needs PyTorch alone."""
    torch = required("torch", "export to PyTorch")
    program = torch.export.export(
        _module(policy, torch),
        (torch.zeros(2, policy.observation_size),),
        dynamic_shapes={"observation": {0: torch.export.Dim("batch")}},
    )
    torch.export.save(program, path, extra_files={_FACTS: json.dumps(policy.facts())})


def _module(policy: Policy, torch: Any) -> Any:
    shape, functional = policy.info.shape, torch.nn.functional

    class Actor(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, layer in policy.layers.items():
                self.register_buffer(name, torch.from_numpy(layer.copy()))

        def forward(self, observation: Any) -> Any:
            x = observation @ self.kernel_0 + self.bias_0
            norm = (shape.hidden[:1], self.norm_scale, self.norm_bias, NORM_EPSILON)
            x = torch.tanh(functional.layer_norm(x, *norm))
            for layer in range(1, len(shape.hidden)):
                x = x @ getattr(self, f"kernel_{layer}") + getattr(self, f"bias_{layer}")
                x = functional.leaky_relu(x, shape.negative_slope)
            mean, log_std = (x @ self.out_kernel + self.out_bias).chunk(2, dim=1)
            return torch.tanh(mean), mean, torch.clamp(log_std, *LOG_STD_RANGE)

    return Actor().eval()
