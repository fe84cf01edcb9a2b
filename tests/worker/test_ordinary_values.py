"""Values and scripts as people write them every day are taken as they are."""

from __future__ import annotations

import subprocess

import pytest

from tests.worker.test_values_as_code import rendered

ORDINARY = [
    ("[ @ = yes ] || echo no", "it's [no]"),
    ('echo "#{setValue(second=$((@ + 1)))}"', "100"),
    ("for ((i = 0; i < @; i++)); do echo $i; done", "3"),
    ("if [[ @ -gt 3 && $x == a* ]]; then echo big; fi", "7"),
    ("source /opt/env.sh; /opt/bin/load --day=@", "2026-01-31"),
    ("ssh host \"load '@' > /tmp/out\"", "2026-01-31"),
    ("psql -c \"SELECT '@'\" -v x=@", "2026-01-31"),
    ("psql -v customer=@ -f load.sql", "alice"),
    ('bash load.sh @ --note "@"', "/data/my orders.csv"),
    ("python3 load.py '@'", "2026-01-31 05:00:00"),
    ("timeout 60 python3 load.py '@'", "s3://bucket/day=2026-01-31/x.csv"),
    ("python3 - <<'EOF'\nprint('@')\nEOF", "2026-01-31"),
    ("awk -v day=@ '{ print day, $1 }' file", "2026-01-31"),
    ("find @ -name '*.csv' -exec gzip {} \\;", "20260131"),
    ("find @ -name '*.csv' -delete", "/data/my files"),
    ("sed -i 's/x/@/' file", "abc"),
    ('curl -s "http://host/@" > @.json', "a b & c"),
    ('eval "echo @"', "42"),
    ("declare -A m; m[@]=1; echo ${m[@]}", "de"),
    ('git commit -m "@"', "Price 5, net"),
    ('i=0; while (( i < 3 )); do (( i++ )); echo "@"; done', "orders of today"),
    ("cat > f <<E\nname: @\nE\ntrap 'rm -f f' EXIT", "it's"),
    ('name="@"\nif [ "$name" = x ]; then echo "$name"; fi', "Price: 5$ (net) & more"),
    ("set -euo pipefail\nmkdir -p \"/data/@\"\npython3 load.py --all\necho 'done: @'", "it's (1)"),
    ('case "@" in a|b) echo one;; (*) cp "$HOME/x" "/tmp/@";; esac', "it's"),
    ("python3 load.py --title '@'", "It's done (3 rows) & more"),
    ("/opt/etl/load.sh @ full", "R&D"),
    ('load --name "@"', "Müller GmbH"),
    ('load --name "@"', "数据同步"),
    ('wget -q "@" -O file', "https://api.example.com/v1?from=2026-11-01&to=2026-11-30"),
    ('url="@"; load "$url"', "https://api.example.com/v1?from=2026-11-01&to=2026-11-30"),
    ("psql -c \"DELETE FROM t WHERE at < '@'\"", "2026-11-26 05:00:00"),
    ("echo @; [ @ -gt 3 ]; load --offset @ --limit=@", "-5"),
    ("n=@; total=$((n + 1)); echo $((@ * 2))", "-5"),
    ("source /opt/env.sh\n. /opt/venv/bin/activate\npython3 load.py --day @", "/data/in/orders.csv"),
    ('export PATH="/opt/bin:$PATH"\nload --region @', "eu-west-1"),
    ("APP=/opt/app; export PATH=$APP/bin:$PATH JAVA_HOME=/usr/lib/jvm\nload @", "prod"),
    ('ssh host "/opt/run.sh @ && echo done"', "prod"),
    ('bash -c "load @ > out"', "sales.orders"),
    ("docker run --rm -e DAY=@ image load @", "prod"),
    ("kubectl get pods -n @", "team-a"),
    ("find /data/@ -name '*.tmp' -exec rm {} \\;", "prod"),
    ("timeout -s KILL 60 load @; sudo -u etl load --day=@", "prod"),
    ("cat list | xargs -n1 echo; echo @", "/data/x"),
    ("jq --arg day @ '.day = $day' in.json", "2026-11-26 05:00:00"),
    ("curl -s http://h/ | jq -r '.id'; echo @", "it's"),
    ("cat f | awk '{ print $1 }'; echo @", "Müller GmbH"),
    ("curl -s http://h/ | python3 -c 'import json, sys; print(json.load(sys.stdin))'; echo @", "prod"),
    ('eval "$(ssh-agent -s)"; git clone @ repo', "git@example.com:team/repo.git"),
    ('sort < orders > /tmp/$$@; mv /tmp/$$@ "/data/$$@"', "2026-01-31"),
    ('n=$(wc -l < file); if [[ "@" == x || $n == 1 ]]; then echo "there are $n of @" | tee out; fi', "it's"),
]


@pytest.mark.parametrize(("place", "value"), ORDINARY)
def test_ordinary_scripts_take_ordinary_values(place: str, value: str) -> None:
    script = rendered(place, value, {})
    subprocess.run(["bash", "-n"], input=script.encode(), check=True)
    assert "SHOAL_PARAM_v" in script
