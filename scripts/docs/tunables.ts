import type { Tunables } from '../../src/config/tunables.ts'

/** The paths of the values in a nested record, such as `http.bodyLimitBytes`. */
type PathsIn<Group> = {
  [Name in keyof Group & string]: Group[Name] extends object ? `${Name}.${PathsIn<Group[Name]>}` : Name
}[keyof Group & string]

export const TUNABLE_TEXTS: Readonly<Record<PathsIn<Omit<Tunables, 'limits'>>, string>> = {
  'http.bodyLimitBytes': 'size of a request body',
  'http.unfinishedBodies.total.bodies':
    'request bodies that are still arriving. Above this limit, the oldest body of the address that has the most is evicted: 503, and its connection is closed. While another address has several bodies, the only body of an address is not evicted',
  'http.unfinishedBodies.total.bytes':
    'size of these bodies: their `Content-Length` (if chunked: the bytes received, with trailers) and the size of their header lines',
  'http.unfinishedBodies.perAddress.bodies':
    'the same for one address (IPv6: one /64). Above this limit, its oldest body is evicted',
  'http.unfinishedBodies.perAddress.bytes':
    'the same for one address. Above this limit, the largest body in the older half is evicted',
  'http.maxHeaderBytes': 'size of all headers of a request',
  'http.maxUrlBytes': 'size of the URL; at most `http.maxHeaderBytes`',
  'http.headersTimeoutMs': 'time for a client to send its headers',
  'http.requestTimeoutMs': 'time for a client to send the whole request',
  'http.connectionsCheckIntervalMs': 'interval at which these two timeouts are checked',
  'http.keepAliveTimeoutMs':
    'time that an idle connection stays open; must be longer than the keep-alive of the proxy in front',
  'http.writeTimeoutMs':
    'time that a finished response may wait for a client that does not read it. The connection is closed between this time and twice this time',
  'http.readinessLeadMs': 'time between SIGTERM, when readiness fails, and the closing of the listener',
  'http.shutdownGraceMs':
    'time from SIGTERM to exit, including `readinessLeadMs`; must be shorter than the grace period of the platform (Kubernetes: 30 s)',
  'http.load.inFlight.sign_in':
    'requests in flight in one process whose body has arrived; further requests get 503. `sign_in` covers every request that is of no other kind',
  'http.load.inFlight.recovery':
    'the same for `/api/v1/authn/recovery/*`. One address may use a tenth of this number',
  'http.load.inFlight.session': 'the same for `/forward-auth`, `/api/v1/users/me` and `/api/v1/sessions*`',
  'http.load.inFlight.pam': 'the same for `/api/v1/pam/*`',
  'http.load.maxLagMs.sign_in': 'event-loop lag from which requests of this kind get 503',
  'http.load.maxLagMs.recovery': 'the same',
  'http.load.maxLagMs.session': 'the same; session requests are cheap and are refused last',
  'http.load.maxLagMs.pam': 'the same',
  'http.load.lagWindowMs': 'the lag is the median over this time, so that one pause refuses no request',
  'http.load.retryAfterSeconds': '`Retry-After` of these 503 responses',
  'upstream.authn.connectTimeoutMs': 'time to connect to Okta',
  'upstream.authn.totalTimeoutMs': 'time of one call to Okta, from start to last byte',
  'upstream.authn.maxResponseBytes': 'size of a response from Okta',
  'upstream.authn.maxConnections':
    'calls of one replica to Okta at once; fewer while the org has too many ([the limits of the org](scale.md#the-limits-of-the-org))',
  'upstream.authn.breaker.consecutiveFailures': 'failures in a row that open the circuit breaker',
  'upstream.authn.breaker.halfOpenAfterMs': 'time until the open breaker lets one call through',
  'upstream.pam.connectTimeoutMs': 'time to connect to PAM',
  'upstream.pam.totalTimeoutMs': 'time of one call to PAM, from start to last byte',
  'upstream.pam.maxResponseBytes': 'size of one response, or one page, from PAM',
  'upstream.pam.maxConnections': 'connections of one replica to PAM',
  'upstream.pam.breaker.consecutiveFailures': 'failures in a row that open the circuit breaker',
  'upstream.pam.breaker.halfOpenAfterMs': 'time until the open breaker lets one call through',
  'transaction.minTtlMinutes': 'shortest lifetime of a transaction, whatever Okta says',
  'transaction.maxTtlMinutes': 'longest lifetime of a transaction, whatever Okta says',
  'transaction.defaultTtlMinutes': 'lifetime of a transaction if Okta does not say',
  'transaction.redirectOnlyMinutes': 'time in which an offered redirect can be used after the transaction',
  'transaction.stepLockMs':
    'lifetime of a step lock; must be longer than `authn.signInWaitMs`, `authn.rateLimit.maxWaitMs` and `upstream.authn.totalTimeoutMs` together',
  'transaction.stepWaitMs': 'time that another step waits for the lock',
  'transaction.sharedAnswerMs': 'lifetime of the shared result of identical steps',
  'transaction.pollEveryMs':
    'shortest interval between upstream polls of one transaction (a push), over all replicas. An earlier poll waits for the rest of the interval',
  'transaction.maxOfferedSteps':
    'steps that Okta may offer in one transaction; with more, the response is 502',
  'transaction.maxPictureBytes': 'size of an enrollment QR image',
  'authn.signInWaitMs':
    'time that a sign-in waits because of `limits.signInsPerUser`; if that is not enough, 429. Long enough for the `limits.password.perUser.burst` of an attacker',
  'authn.rateLimit.reserveShare':
    "share of Okta's rate limit that is reserved for transactions in progress; when only this share is left, new sign-ins get 429 until the reset",
  'authn.rateLimit.maxWaitMs': 'time that a call waits for the rate-limit gate to open',
  'authn.rateLimit.jitterMs': 'jitter between replicas after the gate opens',
  'authn.rateLimit.maxClosedMs': 'longest time that the gate is closed, whatever reset Okta names',
  'authn.rateLimit.refreshEveryMs':
    'interval at which a replica reads the state of the limit that other replicas have stored',
  'device.cookieDays': 'lifetime of the device cookie; 400 days is the longest that browsers allow',
  'device.renewAfterHours': 'age from which a used device cookie is renewed',
  'device.knownDays': 'time that a device stays known to a user who has signed in on it',
  'session.extendEverySeconds': 'interval in which the last use of a session is written at most once',
  'session.maxPerUser': 'sessions of one user, over all replicas; when one more opens, the oldest is evicted',
  'store.connectTimeoutMs': 'time to connect to Redis',
  'store.commandTimeoutMs': 'time of one Redis command',
  'pam.token.refreshBeforeMs': 'a token is refreshed this long before it expires',
  'pam.token.refreshBeforeShare': 'or this share of its lifetime before it expires, if that is shorter',
  'pam.token.jitterShare': 'jitter between replicas, as a share of that time',
  'pam.token.refusedPauseMinMs':
    'first pause, on all replicas, after a key was refused, was forbidden or got a token of another team; doubles each time. A changed key is tried at once',
  'pam.token.refusedPauseMaxMs': 'longest such pause',
  'pam.lists.freshMs':
    'time that a list is served without a refresh. A list with many pages stays fresh for longer, so that full reads use at most a tenth of the rate limit',
  'pam.lists.staleMs':
    'time that a list is served during a refresh, and in which an interrupted read can continue',
  'pam.lists.onErrorMs': 'time that a list is served if the refresh fails',
  'pam.lists.meOnErrorMs': "the same for a user's own groups",
  'pam.lists.maxPages': 'pages of a list; a longer list is an error and is never truncated',
  'pam.lists.maxItems': 'items of a list; the same',
  'pam.lists.maxTotalMs': 'time of one read; the next read continues after it',
  'pam.lists.maxLinkHeaderBytes': 'size of a `Link` header',
  'pam.rateLimit.maxWaitMs':
    "total time that a caller waits for PAM's rate limit and for a free connection; and for PAM itself if an older list can be served",
  'pam.rateLimit.jitterMs': 'jitter between replicas after the rate-limit gate opens',
  'pam.directoryMaxAgeMs': 'age of the group data on which `PAM_DIRECTORY` is decided',
  'pam.unknownUserMs': 'time for which PAM is not asked again about a user that it does not know',
  'pam.teamDisabledMs': 'time for which PAM is not asked again if the team is disabled',
  'recovery.recoveryAnswerMs':
    'shortest time of a recovery response, for known and unknown users. A step that the broker refuses without asking Okta is refused at once',
  'recovery.challengeMinutes':
    "time in which a recovery code is accepted; must be shorter than the org's own lifetime (5 minutes in many orgs). If the org's lifetime is shorter, it is used instead (`recovery_lifetime_lowered`)",
  'recovery.resendAfterMs':
    "pause between two codes for one name; one second more than the org's own pause of 30 s",
  'recovery.maxWrongCodes':
    "wrong codes before further codes are refused; must be lower than the org's own limit",
  'secrets.checkFilesEveryMs': 'interval at which secret files are checked',
  'log.maxFieldChars': 'length of a log field',
  'log.throttle.periodMs':
    'period in which log events that any client can cause are written once for each address or origin',
  'log.throttle.maxLines': 'number of these log lines in total in this period',
}

type LimitPath = {
  [Kind in keyof Tunables['limits'] & string]: Tunables['limits'][Kind] extends { readonly attempts: number }
    ? Kind
    : `${Kind}.${keyof Tunables['limits'][Kind] & string}`
}[keyof Tunables['limits'] & string]

interface LimitText {
  /** The attempts that are counted together. */
  readonly counts: string
  readonly why: string
}

const SHARED_PER_USER = 'one user, all known devices together'
const TWICE = 'twice the limit of one known device, for users with several devices'

/** Attempts of a known device count only for the limits of known devices. */
export const LIMIT_TEXTS: Readonly<Record<LimitPath, LimitText>> = {
  stepUpPerAddress: {
    counts: 'imported step-up transactions, one address',
    why: 'limits the transactions that one address can store',
  },
  callsPerUser: {
    counts:
      'calls to Okta, one user on one replica, successful or not. All known devices together have a second limit of the same size. Calls that name no user are counted for their address',
    why: "limits how much of the org's rate limit one user can use",
  },
  signInsPerUser: {
    counts: 'passwords sent to Okta, one user name on one replica. More of them wait up to 3 s, then 429',
    why: "Okta's own limit for one user name on `/api/v1/authn`",
  },
  'password.perAddress': {
    counts: 'wrong passwords, one address',
    why: 'hundreds of users may share the address of an office, and only failures count; stops an attacker with a list of stolen passwords',
  },
  'password.perUser': {
    counts: 'wrong passwords, one user, all unknown devices together',
    why: 'fewer than the usual lockout of an org (10), so that one burst cannot lock the account at Okta',
  },
  'password.perDevice': {
    counts: 'wrong passwords, one user on one unknown device',
    why: "one browser cannot use up the user's limit",
  },
  'password.perKnownDevice': {
    counts: 'wrong passwords, one user on one known device',
    why: 'a forgotten password, or another person at an unlocked computer',
  },
  'password.perKnownUser': {
    counts: `wrong passwords, ${SHARED_PER_USER}`,
    why: 'an attacker with the password of an account without a second factor can make any number of devices known. With `perUser`, at most 100 failures in a row (NIST SP 800-63B-4, 3.2.2)',
  },
  'code.perAddress': { counts: 'wrong codes and answers, one address', why: 'as for passwords' },
  'code.perUser': {
    counts: 'wrong codes and answers, one user, all unknown devices together',
    why: 'counted over all sign-ins, so that a new sign-in gives no new attempts',
  },
  'code.perTransaction': {
    counts: 'wrong codes and answers, one transaction',
    why: 'enough for users; to find six digits takes hundreds of thousands of attempts',
  },
  'code.perKnownDevice': {
    counts: 'wrong codes and answers, one user on one known device',
    why: 'as for `code.perUser`',
  },
  'code.perKnownUser': { counts: `wrong codes and answers, ${SHARED_PER_USER}`, why: 'as for passwords' },
  'token.perAddress': {
    counts: 'wrong activation and recovery tokens, one address',
    why: 'these tokens are too long to guess; this only reduces noise',
  },
  'message.perAddress': {
    counts: 'codes sent by text message, call or email, one address',
    why: 'messages cost money',
  },
  'message.perUser': {
    counts: 'codes sent to one user, all unknown devices together',
    why: "a code and some resends; the org's own limit (one in 30 s) would allow 2,880 a day",
  },
  'message.perKnownDevice': {
    counts: 'codes sent to one user from one known device',
    why: 'as for `message.perUser`',
  },
  'message.perKnownUser': { counts: `codes sent to ${SHARED_PER_USER}`, why: TWICE },
  'push.perUser': {
    counts:
      'pushes to one user, and other challenges that are approved elsewhere (Duo, another identity provider), all unknown devices together; polls do not count',
    why: 'users who get many pushes eventually approve one (push bombing)',
  },
  'push.perKnownDevice': {
    counts: 'pushes to one user from one known device',
    why: 'enough for a day of signing in with push',
  },
  'push.perKnownUser': { counts: `pushes to ${SHARED_PER_USER}`, why: TWICE },
  'recovery.perAddress': {
    counts: 'recoveries started, one address',
    why: 'stops recovery requests for a list of names',
  },
  'recovery.perUser': {
    counts: 'recoveries started for one user, all unknown devices together',
    why: 'each sends a message that the user may not have asked for',
  },
  'recovery.perKnownDevice': {
    counts: 'recoveries started for one user on one known device',
    why: 'as for `recovery.perUser`',
  },
  'recovery.perKnownUser': { counts: `recoveries started for ${SHARED_PER_USER}`, why: TWICE },
}
