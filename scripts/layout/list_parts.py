import importlib,pkgutil,towerstrat
for m in pkgutil.walk_packages(towerstrat.__path__,'towerstrat.'):
    if any(w in m.name for w in ('.data','.towers','dataset_stats','tpu.feeding')): importlib.import_module(m.name)
from towerstrat.data.pipeline import Part
from towerstrat.data.state import Stateful
def subs(c):
    for s in c.__subclasses__():
        yield s; yield from subs(s)
for s in sorted(dict.fromkeys(subs(Part)), key=lambda s:(s.__module__, s.__name__)):
    print(s.__module__, s.__name__, [b.__name__ for b in s.__bases__], 'kind' in dir(s))
print(len(set(subs(Part))), len(set(subs(Stateful))))
