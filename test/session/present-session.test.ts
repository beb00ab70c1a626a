import { expect, test } from '@jest/globals'
import { presentSession, sessionLinksAt } from '../../src/session/present-session.ts'
import { GRANT, START, sessionWith } from './grant.ts'

const LIMITS = { idleMs: 1_800_000, absoluteMs: 43_200_000 }

test('a browser is told of its session as by Okta, with the links of its library and without secrets', () => {
  const session = sessionWith({ authenticatedAtMs: START + 60_000, lastSeenAtMs: START + 120_000 })
  expect(presentSession(session, LIMITS, sessionLinksAt('https://portal.example'))).toEqual({
    id: 'public-id',
    userId: GRANT.userId,
    login: GRANT.login,
    profile: GRANT.profile,
    status: 'ACTIVE',
    createdAt: '2026-11-05T06:00:00.000Z',
    authenticatedAt: '2026-11-05T06:01:00.000Z',
    idleExpiresAt: '2026-11-05T06:32:00.000Z',
    expiresAt: '2026-11-05T18:00:00.000Z',
    amr: GRANT.amr,
    deviceBound: false,
    _links: {
      self: { href: 'https://portal.example/api/v1/sessions/me', hints: { allow: ['GET', 'DELETE'] } },
      refresh: {
        href: 'https://portal.example/api/v1/sessions/me/lifecycle/refresh',
        hints: { allow: ['POST'] },
      },
      user: { href: 'https://portal.example/api/v1/users/me', hints: { allow: ['GET'] } },
    },
  })
})

test('a browser is told whether its session is bound', () => {
  const binding = { jwk: { kty: 'RSA', n: 'n', e: 'AQAB' }, boundAtMs: START, isUsed: false } as const
  const links = sessionLinksAt('https://portal.example')
  expect(presentSession(sessionWith({ binding }), LIMITS, links)).toMatchObject({ deviceBound: true })
})
