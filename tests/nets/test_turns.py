import jax.numpy as jnp
import numpy as np

from recall.nets import turns
from recall.nets.heads import Blocks, take_heads


def test_heads_in_turn_are_rewritten_and_no_others():
    heads, task = jnp.array([3, 1, 2]), jnp.asarray(2)
    tree = {"a": jnp.arange(5.0), "b": 10.0 * jnp.arange(10.0).reshape(5, 2)}
    read = {"a": jnp.full(5, 0.5), "b": jnp.full((5, 2), 0.25)}
    added = {"a": jnp.array([100.0, 200.0, 300.0]), "b": jnp.zeros((3, 2))}

    def add(tree, read, added):
        return ({name: tree[name] + read[name] + added[name] for name in tree},)

    (new,) = turns.rewrite(
        add,
        (turns.current_apart(tree, task),),
        (turns.current_apart(read, task),),
        (added,),
        heads,
    )
    after = turns.current_back(new, task)
    np.testing.assert_array_equal(after["a"], [0, 201.5, 302.5, 103.5, 4])
    np.testing.assert_array_equal(
        after["b"], [[0, 10], [20.25, 30.25], [40.25, 50.25], [60.25, 70.25], [80, 90]]
    )


def test_heads_of_a_batch_are_the_old_ones_in_their_order_and_the_current_one():
    task = jnp.asarray(2)
    apart = turns.current_apart(jnp.arange(5.0), task)._replace(new=jnp.array([7.0]))
    taken = take_heads({"heads": apart}, jnp.array([3, 1, 2]))["heads"]
    assert isinstance(taken, Blocks)
    np.testing.assert_array_equal(taken.old, [3, 1])
    np.testing.assert_array_equal(taken.new, [7])
