"""Export of a policy to ONNX, for programs in other languages and for small devices."""

from pathlib import Path
from typing import Any

import numpy as np

from recall.errors import RecallError, how_to_install
from recall.nets.constants import LOG_STD_RANGE, NORM_EPSILON
from recall.policies.policy import Policy

_OPSET = 17  # the first with LayerNormalization
_IR = 8  # goes with this opset, and is read by ONNX Runtime from 1.13 on


def write_onnx(policy: Policy, path: Path) -> None:
    """Write a model from `observation` [batch, obs] to `action`, `mean` and `log_std`.

    `action` is deterministic, the tanh of `mean`. The other two describe the Gaussian before the
    tanh, for programs that want to draw. The model's metadata names the task and its environment.
    """
    try:
        from onnx import TensorProto, checker, helper, numpy_helper, save
    except ImportError as error:
        raise RecallError(
            f"export to ONNX needs the package onnx: {how_to_install('onnx')}"
        ) from error

    constants = dict(policy.layers) | dict(
        zip(("log_std_min", "log_std_max"), np.array(LOG_STD_RANGE, np.float32), strict=True)
    )
    sizes = np.full(2, policy.action_size, np.int64)
    initialisers = [
        numpy_helper.from_array(np.ascontiguousarray(value), name)
        for name, value in (constants | {"sizes": sizes}).items()
    ]

    def values(name: str, size: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])

    graph = helper.make_graph(
        _nodes(policy, helper.make_node),
        f"policy of {policy.task}",
        [values("observation", policy.observation_size)],
        [values(name, policy.action_size) for name in ("action", "mean", "log_std")],
        initialisers,
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, producer_name="recall", ir_version=_IR, opset_imports=[opset])
    helper.set_model_props(model, policy.facts())
    checker.check_model(model)
    save(model, str(path))


def _nodes(policy: Policy, node: Any) -> list[Any]:
    nodes = [
        node("Gemm", ["observation", "kernel_0", "bias_0"], ["linear_0"]),
        node(
            "LayerNormalization", ["linear_0", "norm_scale", "norm_bias"], ["normal"],
            axis=-1, epsilon=NORM_EPSILON,
        ),
        node("Tanh", ["normal"], ["hidden_0"]),
    ]  # fmt: skip
    last = 0
    for last in range(1, len(policy.info.shape.hidden)):
        layer = [f"hidden_{last - 1}", f"kernel_{last}", f"bias_{last}"]
        nodes += [
            node("Gemm", layer, [f"linear_{last}"]),
            node(
                "LeakyRelu", [f"linear_{last}"], [f"hidden_{last}"],
                alpha=policy.info.shape.negative_slope,
            ),
        ]  # fmt: skip
    return [
        *nodes,
        node("Gemm", [f"hidden_{last}", "out_kernel", "out_bias"], ["outputs"]),
        node("Split", ["outputs", "sizes"], ["mean", "any_log_std"], axis=1),
        node("Clip", ["any_log_std", "log_std_min", "log_std_max"], ["log_std"]),
        node("Tanh", ["mean"], ["action"]),
    ]
