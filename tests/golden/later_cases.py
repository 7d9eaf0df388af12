"""Expressions over ``tf`` and ``np`` whose printed values are compared with TensorFlow 2.15's."""

_A = "tf.TensorSpec([None, 3], tf.float32, 'a')"
_B = "tf.TensorSpec([2, 3])"
_S = "tf.IndexedSlicesSpec"

SPECS = [
    _A, _B, "tf.TensorSpec(None)", "tf.TensorSpec(3, 'int32')",
    "tf.TensorSpec([], tf.int32)", "str(tf.TensorSpec([2]))",
    "tf.TensorSpec([2], name='a') == tf.TensorSpec([2], name='b')", "tf.TensorSpec([2]) == tf.TensorSpec((2,))",
    "tf.TensorSpec([2]) == 3", "tf.TensorSpec([2]) != tf.TensorSpec([2])",
    "len({tf.TensorSpec([2]), tf.TensorSpec([2]), tf.TensorSpec([3])})", "tf.TensorSpec([2], 'foo')",
    "tf.TensorSpec('a')", f"tf.TensorSpec.from_spec({_A})", f"tf.TensorSpec.from_spec({_A}, name='y')",
    "tf.TensorSpec.from_tensor(np.zeros(2))", f"{_A}.is_compatible_with(np.zeros([2, 3], 'float32'))",
    f"{_A}.is_compatible_with(tf.zeros([2, 3]))", f"{_A}.is_compatible_with(tf.zeros([2, 4]))",
    f"{_A}.is_compatible_with(tf.zeros([2, 3], tf.int32))", f"{_A}.is_compatible_with({_B})",
    f"{_B}.is_compatible_with({_A})", f"{_A}.is_compatible_with(tf.TensorSpec(None))",
    f"{_A}.is_compatible_with([1.0])", f"{_A}.is_compatible_with(None)", f"{_A}.is_compatible_with({_S}())",
    f"{_A}.most_specific_compatible_type(tf.TensorSpec([2, 4], name='a'))", f"{_A}.most_specific_compatible_type({_B})",
    f"{_B}.most_specific_compatible_type(tf.TensorSpec([2, 4]))", f"{_B}.most_specific_compatible_type(3)",
    f"{_B}.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int32))",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec([2])])",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec([5, 3]), tf.TensorSpec([2, 4])])",
    f"{_B}.most_specific_common_supertype([])", f"{_B}.most_specific_common_supertype([{_S}()])",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec(None)])", f"{_B}.is_subtype_of({_A})",
    f"{_A}.is_subtype_of({_B})", f"{_A}.is_subtype_of(tf.TensorSpec([None, 3]))",
    f"{_A}.is_subtype_of(tf.TensorSpec(None, name='a'))", f"{_B}.is_subtype_of(tf.TensorSpec([None, 3], tf.int32))",
    f"{_B}.is_subtype_of(3)", f"{_A}.dtype", f"{_A}.name", f"{_A}.shape.as_list()",
    f"{_S}()", f"{_S}([None, 3], tf.float32, tf.int32, tf.int32, [4])", f"{_S}() == {_S}()",
    f"{_S}([5, 3]) == {_S}([4, 3])", f"{_S}([5, 3])._component_specs",
    f"{_S}([5, 3], dense_shape_dtype=tf.int32)._component_specs", f"{_S}([5, 3], indices_shape=[4])._component_specs",
    f"{_S}()._component_specs", f"{_S}([5, 3]).is_compatible_with({_S}([None, 3]))",
    f"{_S}([5, 3]).is_compatible_with({_S}([None, 4]))", f"{_S}([5, 3]).is_compatible_with({_B})",
    f"{_S}([5, 3]).most_specific_compatible_type({_S}([4, 3]))",
    f"{_S}([5, 3]).most_specific_common_supertype([{_S}([4, 3], tf.int32)])",
    f"{_S}([5, 3]).is_subtype_of({_S}([None, 3]))", f"{_S}([None, 3]).is_subtype_of({_S}([5, 3]))",
    "tf.TypeSpec()", "tf.type_spec_from_value(tf.constant(1))", "tf.type_spec_from_value(np.zeros([2]))",
    "tf.type_spec_from_value(1)", "tf.type_spec_from_value('a')", "tf.type_spec_from_value([1.5, 2.0])",
    "tf.type_spec_from_value(None)", "tf.type_spec_from_value(object())",
    "tf.type_spec_from_value(tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1]), tf.constant([5, 3])))",
    "tf.type_spec_from_value(tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1])))",
]  # fmt: skip

CASES = {"specs": SPECS}
