# The gradient of what an assignment returns: a resource variable's is the variable's, a reference's is none.
import tensorflow as tf

for use_resource in (False, True):
    for name in ("assign", "assign_add", "assign_sub", "scatter_update"):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.variable_scope("scope", use_resource=use_resource):
                w = tf.get_variable("w", initializer=[1.0, 2.0])
            v = tf.constant([5.0, 7.0])
            if name == "scatter_update":
                written = (
                    tf.scatter_update(w, [0], v[:1])
                    if use_resource
                    else tf.stop_gradient(tf.scatter_update(w, [0], v[:1]))
                )
            else:
                written = getattr(w, name)(v)
            y = tf.identity(written) * 3.0
            gradients = tf.gradients(y, [w, v])
            session.run(tf.global_variables_initializer())
            print(use_resource, name, session.run([y, *(g for g in gradients if g is not None)]), gradients[1])
            print(session.run(written), session.run(w))
