import { markdownTable } from './markdown.ts'

/** The checks of `src/doctor`, in the order of its report, and when each is `ok`. test/doctor/command.test.ts compares the names. */
const OK_IF: Readonly<Record<string, string>> = {
  'redis.reach': 'Redis accepts the connection and its credentials',
  'redis.version': 'it is 6.2 or later',
  'redis.database': 'the selected database exists',
  'redis.policy': '`maxmemory-policy` is `noeviction`',
  'redis.scripts': 'the Redis user may run the scripts of the broker',
  'redis.write': 'the Redis user may write, read and delete a key',
  'redis.latency': 'a read takes up to 10 ms; else `warn`',
  'authn.reach': 'Okta answers, and not another web server',
  'authn.tls': 'the certificate is accepted; `warn` if it expires in 14 days or a quarter of its lifetime',
  'authn.clock': 'the clocks differ by up to 30 s; up to 5 min: `warn`',
  'authn.token': 'Okta accepts the API token, and the standby (else `warn`)',
  'authn.pipeline': '`v1`; [`idx`](identity-engine.md) or unknown: `warn`',
  'authn.forwarded_for':
    'with `--login` and `--password-stdin`: the System Log shows the address that the test sign-ins forward. Otherwise, or if the token may not read the log: `skipped`, with the steps to check it by hand',
  'authn.device_token': 'the same for the device token: both sign-ins have the same `dtHash`',
  'pam.reach': 'PAM answers, and not another web server',
  'pam.key': 'PAM issues a token for the key, and for the standby (else `warn`)',
  'pam.team': 'the token is for `PAM_TEAM`, and the team is enabled',
  'pam.user': 'PAM lists the groups of the user in `--login`',
  'pam.key_expiry':
    'the key does not expire in the next 14 days (else `warn`), as PAM or, if it refuses, `PAM_KEY_EXPIRES_AT` says',
  'public.reach': 'a broker answers at `PUBLIC_URL`; `warn` if the certificate expires soon, as above',
  'public.cookies': 'its device cookie comes back',
  'public.headers':
    '`Origin` and `Sec-Fetch-Site` arrive, and the broker takes the address of the client from `X-Forwarded-For`, but not a forged one. If `TRUST_PROXY` contains the address of the doctor, or the broker does not name the address: `warn`',
  'ops.closed': 'neither `PUBLIC_URL` nor `OPS_PORT` on its host leads to the ops listener',
}

export function doctorTable(): string {
  const rows = Object.entries(OK_IF).map(([name, okIf]) => [`\`${name}\``, okIf])
  return markdownTable(['check', '`ok` if'], rows)
}
