import sys
from collections import Counter
from tests.simulation.run import run
bad=0
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    v=run(seed).violation
    if v: bad+=1; print(seed, v, flush=True)
print("bad", bad)
