# An initial value that reads another variable; prepare_session with a list; is_variable_initialized by name.
import tensorflow as tf

v = tf.Variable(1)
w = tf.Variable(3 * v)
with tf.Session() as s:
    try:
        s.run(w.initializer)
        print("w", s.run(w))
    except tf.errors.FailedPreconditionError as e:
        print("FailedPrecondition", str(e)[:80])
    s.run(tf.global_variables_initializer())
    print(s.run(w))
sm = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
try:
    sm.prepare_session("", init_op=[v.initializer])
except Exception as e:
    print(type(e).__name__, str(e)[:200])
with tf.Session() as s:
    try:
        print(s.run(tf.is_variable_initialized(s.graph.get_tensor_by_name(v.name))))
    except Exception as e:
        print(type(e).__name__, str(e)[:200])
