#!/bin/sh
# Creates the secrets of compose.yaml in deploy/compose/secrets/. Existing files are kept. Requires openssl.
# The API token and the PAM key are those of sandbox/sandbox.json. They are valid for the sandbox only.
set -eu

dir="$(dirname "$0")/secrets"
mkdir -p "$dir"
# Containers that run as different users read these files, and Compose mounts them with their owner and mode. So every
# user may read the files, and the mode of the folder protects them.
chmod 700 "$dir"
cd "$dir"

keep() { # keep <file>: writes stdin, unless the file exists
  if [ -s "$1" ]; then cat >/dev/null; else cat >"$1.new" && chmod 644 "$1.new" && mv "$1.new" "$1"; fi
}

# The first password is for operators and the health check. The broker's user has the rights of docs/operations.md.
openssl rand -hex 24 | keep redis-password
password="$(openssl rand -hex 24)"
if [ ! -s redis-auth.conf ]; then
  rights='~gatehouse:* +get +set +del +exists +time +pttl +pexpire +hget +hset +hdel +hlen +hgetall +eval +evalsha +info +scan'
  printf 'requirepass %s\nuser gatehouse on >%s %s\n' "$(cat redis-password)" "$password" "$rights" | keep redis-auth.conf
  rm -f redis-url
fi
printf 'redis://gatehouse:%s@redis:6379/0\n' "$password" | keep redis-url
openssl rand -base64 32 | keep secret-keys
openssl rand -hex 24 | keep ops-token
printf 'sandbox-api-token-1-not-a-secret\n' | keep authn-api-token
printf 'sandbox-key-1\n' | keep pam-key-id
printf 'sandbox-secret-1-9pVb3LwY\n' | keep pam-key-secret

# The broker calls Okta only over TLS, so the sandbox needs a certificate, issued by an authority created here.
if [ ! -s org.pem ]; then
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj '/CN=Sandbox authority' \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign' \
    -keyout org-ca-key.pem -out org-ca.pem 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -subj '/CN=org.sandbox.test' -keyout org-key.pem -out org.csr 2>/dev/null
  printf 'subjectAltName=DNS:org.sandbox.test\n' >org.ext
  openssl x509 -req -in org.csr -CA org-ca.pem -CAkey org-ca-key.pem -CAcreateserial -days 3650 \
    -extfile org.ext -out org.pem 2>/dev/null
  rm -f org.csr org.ext org-ca-key.pem org-ca.srl # this authority signs nothing else
  chmod 644 org-ca.pem org.pem org-key.pem
fi

echo "The secrets are in $dir."
