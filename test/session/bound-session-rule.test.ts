import { expect, test } from '@jest/globals'
import {
  type BoundCookieState,
  type BoundVerdict,
  judgeBoundRequest,
} from '../../src/session/bound-session-rule.ts'

const NOW = 1_800_000_000_000
const GRACE_MS = 30_000

const SERVED: BoundVerdict = { kind: 'served', isFirstUse: false }
const FIRST_USE: BoundVerdict = { kind: 'served', isFirstUse: true }
const refused = (reason: 'cookie_missing' | 'cookie_expired' | 'cookie_wrong'): BoundVerdict => ({
  kind: 'refused',
  reason,
})

/** Of the session; `undefined`: it is not bound. */
const BINDINGS = {
  'not bound': undefined,
  'bound just now': { boundAtMs: NOW - GRACE_MS + 1, isUsed: false },
  'bound 30 s ago': { boundAtMs: NOW - GRACE_MS, isUsed: false },
  'bound just now, and used': { boundAtMs: NOW - 1, isUsed: true },
  'bound long ago, and used': { boundAtMs: NOW - 3_600_000, isUsed: true },
}

test.each<[keyof typeof BINDINGS, Readonly<Record<BoundCookieState, BoundVerdict>>]>([
  ['not bound', { none: SERVED, valid: SERVED, expired: SERVED, wrong: SERVED }],
  [
    'bound just now',
    {
      none: SERVED,
      valid: FIRST_USE,
      expired: refused('cookie_expired'),
      wrong: refused('cookie_wrong'),
    },
  ],
  ...(['bound 30 s ago', 'bound just now, and used', 'bound long ago, and used'] as const).map(
    (name): [keyof typeof BINDINGS, Readonly<Record<BoundCookieState, BoundVerdict>>] => [
      name,
      {
        none: refused('cookie_missing'),
        valid: SERVED,
        expired: refused('cookie_expired'),
        wrong: refused('cookie_wrong'),
      },
    ],
  ),
])('a session that is %s', (name, expected) => {
  for (const [cookie, verdict] of Object.entries(expected)) {
    const request = {
      binding: BINDINGS[name],
      cookie: cookie as BoundCookieState, // the keys are these
      isSkipped: false,
      nowMs: NOW,
      graceMs: GRACE_MS,
    }
    expect({ cookie, ...judgeBoundRequest(request) }).toEqual({ cookie, ...verdict })
    // a browser that could not renew the cookie: not signed out, but never served
    const skipped = judgeBoundRequest({ ...request, isSkipped: true })
    const isRefused = verdict.kind !== 'served'
    expect({ cookie, ...skipped }).toEqual({
      cookie,
      ...verdict,
      ...(isRefused ? { kind: 'unavailable' } : {}),
    })
  }
})
