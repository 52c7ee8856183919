#!/bin/sh
# Starts a cluster on machines that are reached by SSH, and ends it with Ctrl-C.
#
#   sh start.sh TLS-FOLDER SCHEDULER-HOST WORKER-HOST...
#
# Each host has `dask` and `runner` on PATH for a login shell (pip install 'task-graph-runner[dask]') and git.
# TLS-FOLDER is what make-certificates.sh made; PER_HOST workers (4) are started on every worker host.
# Then, where you work:   runner --executor dask:tls://SCHEDULER-HOST:8786 -j NUMBER
set -eu
tls=${1:?usage: start.sh TLS-FOLDER SCHEDULER-HOST WORKER-HOST...}
scheduler=${2:?usage: start.sh TLS-FOLDER SCHEDULER-HOST WORKER-HOST...}
shift 2
[ $# -gt 0 ] || set -- "$scheduler"
port=${PORT:-8786}
there=.config/runner/tls
flags="--tls-ca-file $there/ca.pem --tls-cert $there/cert.pem --tls-key $there/key.pem"

for host in "$scheduler" "$@"; do
    ssh "$host" "umask 077; mkdir -p $there"
    scp -q "$tls/ca.pem" "$tls/cert.pem" "$tls/key.pem" "$host:$there/"
done

# -tt: the remote side ends when this script does
trap 'kill 0' INT TERM EXIT
ssh -tt "$scheduler" "exec \$SHELL -lc 'exec dask scheduler --protocol tls --port $port --no-dashboard $flags'" &
sleep 3
for host in "$@"; do
    ssh -tt "$host" "exec \$SHELL -lc 'DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False exec dask worker tls://$scheduler:$port --nworkers ${PER_HOST:-4} \
        --nthreads 1 --no-dashboard --memory-limit 0 $flags'" &
done
wait
