#!/bin/sh
# Makes an authority and one certificate for scheduler, workers and people of a team.
#
#   sh make-certificates.sh FOLDER [DAYS]
#
# FOLDER gets ca.pem, cert.pem and key.pem. Everybody who has key.pem may speak to the cluster: give it to
# its machines and people alone. Dask checks who signed a certificate, not which host it names.
set -eu
umask 077
folder=${1:?usage: make-certificates.sh FOLDER [DAYS]}
days=${2:-365}
mkdir -p "$folder"
cd "$folder"
openssl req -x509 -newkey rsa:3072 -nodes -days "$days" -subj "/CN=runner cluster authority" \
    -keyout ca-key.pem -out ca.pem
openssl req -newkey rsa:3072 -nodes -subj "/CN=runner cluster" -keyout key.pem -out request.pem
openssl x509 -req -in request.pem -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days "$days" \
    -out cert.pem
rm -f request.pem
echo "keep ca-key.pem off the cluster; add to [cluster] in ~/.config/runner/runner.toml:"
echo "tls_ca = \"$PWD/ca.pem\""
echo "tls_cert = \"$PWD/cert.pem\""
echo "tls_key = \"$PWD/key.pem\""
