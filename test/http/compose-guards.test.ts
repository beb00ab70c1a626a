import { expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { type AppOptions, createGuards, publicRoutes } from '../../src/app.ts'
import { composed, type Guard, guarded, guardsOf } from '../../src/http/compose-guards.ts'
import { kindOf, type RouteKind } from '../../src/http/route.ts'
import { anyAppOptions } from '../support/app-options.ts'

const options = anyAppOptions() as AppOptions

/** Before a route is looked for. */
const UNLISTED = [
  'beginRequest',
  'setSecurityHeaders',
  'allowOrigins',
  'refuseAmbiguousPath',
  'refuseUnsafe',
  'answerProbes',
  'refuseUnknownAddress',
]
const LIMITED = ['limitRequestsInFlight', 'refuseOtherSession']
const WITH_SESSION = [...LIMITED, 'loadSession']

const ORDER: Readonly<Record<RouteKind | 'unlisted', readonly string[]>> = {
  'forward-auth': [
    'beginRequest',
    'setSecurityHeaders',
    'beginForwardAuth',
    'refuseUnknownAddress',
    'limitRequestsInFlight',
    'loadApplicationSession',
    'refuseOtherSession',
    'loadSession',
  ],
  backend: [
    'beginRequest',
    'setSecurityHeaders',
    'refuseAmbiguousPath',
    'refuseUnknownAddress',
    'limitRequestsInFlight',
  ],
  open: [...UNLISTED, ...LIMITED],
  image: [...UNLISTED, 'refuseImageReads', ...LIMITED],
  read: [...UNLISTED, 'refuseReads', ...LIMITED],
  'session-read': [...UNLISTED, 'refuseReads', ...WITH_SESSION],
  write: [...UNLISTED, 'parseBody', ...LIMITED],
  form: [...UNLISTED, 'parseBody', ...LIMITED],
  'session-write': [...UNLISTED, 'parseBody', ...WITH_SESSION],
  'bound-session': [
    'beginRequest',
    'setSecurityHeaders',
    'refuseAmbiguousPath',
    'refuseUnsafe',
    'refuseUnknownAddress',
    'limitRequestsInFlight',
    'loadSession',
  ],
  'event-hook': [...UNLISTED, ...LIMITED],
  unlisted: UNLISTED,
}
const KINDS = Object.keys(ORDER) as (keyof typeof ORDER)[]

test.each(KINDS)('the guards of %s, in their order', (kind) => {
  expect(guardsOf(createGuards(options), kind).map(({ name }) => name)).toEqual(ORDER[kind])
})

test('every row of the table has a column for each kind', () => {
  for (const { of } of createGuards(options)) {
    expect(of).toHaveLength(KINDS.length)
    for (const [column, kind] of of.entries()) expect([undefined, KINDS[column]]).toContain(kind)
  }
})

test('the guards of each kind run in the order of the rows, whatever their phases', () => {
  const rank = { first: 0, paths: 1, route: 2 }
  for (const kind of KINDS.filter((one) => one !== 'forward-auth' && one !== 'backend')) {
    const phases = createGuards(options)
      .filter(({ of }) => of.includes(kind))
      .map(({ phase }) => rank[phase])
    expect(phases).toEqual(phases.toSorted())
  }
})

test('a guard that runs before a route is looked for is one of every kind that reaches it', () => {
  const onRoutes = ['forward-auth', 'backend', 'bound-session']
  for (const { phase, of } of createGuards(options)) {
    if (phase === 'first') expect(of).toEqual(KINDS)
    if (phase === 'paths')
      expect(of).toEqual(expect.arrayContaining(KINDS.filter((kind) => !onRoutes.includes(kind))))
    if (phase === 'route') expect(of).not.toContain('unlisted')
  }
})

test('every kind has a route', () => {
  const kinds = new Set(publicRoutes(options).map(kindOf))
  expect(KINDS.filter((kind) => kind !== 'unlisted' && !kinds.has(kind))).toEqual([])
})

test('a guard waits for the handler, and one that refuses keeps the rest from running', async () => {
  const ran: string[] = []
  const waits: Guard = async (_req, _res, next) => {
    ran.push('before')
    await next()
    ran.push('after')
  }
  const passes: Guard = (_req, _res, next) => next()
  const handle = async () => {
    await Promise.resolve()
    ran.push('handler')
  }
  const [req, res] = [{} as Request, {} as Response]
  await guarded([waits, passes], handle)(req, res, () => ran.push('never'))
  expect(ran.splice(0)).toEqual(['before', 'handler', 'after'])
  const refuses: Guard = () => {
    throw new Error('refused')
  }
  const refused = guarded([waits, refuses, passes], handle)(req, res, () => ran.push('never'))
  await expect(refused).rejects.toThrow('refused')
  expect(ran).toEqual(['before'])
})

test('an error that a guard passes on skips the rest, and arrives at the end', () => {
  const passesOn: Guard = (_req, _res, next) => next(new Error('of a middleware'))
  const passed: unknown[] = []
  const [req, res] = [{} as Request, {} as Response]
  const never = () => {
    throw new Error('not skipped')
  }
  composed([passesOn, never])(req, res, (error) => passed.push(error))
  guarded([passesOn], never)(req, res, (error) => passed.push(error))
  expect(passed).toEqual([new Error('of a middleware'), new Error('of a middleware')])
})

test('guards that all pass end with next, without an error; null is none, as in Express', () => {
  const passes: Guard = (_req, _res, next) => next()
  const passesNull: Guard = (_req, _res, next) => next(null)
  const ran: string[] = []
  const last: Guard = (_req, _res, next) => {
    ran.push('last')
    return next()
  }
  const passed: unknown[] = []
  composed([passes, passesNull, last])({} as Request, {} as Response, (...given) => passed.push(given))
  expect([ran, passed]).toEqual([['last'], [[]]])
})
