import { expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import { createSessionGuards } from '../../src/session/session-guards.ts'
import { sessionWith } from './grant.ts'

/** Runs a guard with the session `own`, or none. Returns what it called. */
async function run(
  which: 'loadSession' | 'refuseOtherSession',
  headers: Readonly<Record<string, unknown>> = {},
  hasSession = true,
) {
  const calls: string[] = []
  const guards = createSessionGuards({
    async load(req) {
      calls.push('load')
      if (hasSession) req.stored = { id: 'one', session: sessionWith({ publicId: 'own' }) }
    },
    findUnproved: ({ stored }) => stored,
  })
  const req = { headers } as unknown as Request
  await guards[which](req, {} as Response, () => calls.push('next'))
  return calls
}

test('the session is loaded before the handler', async () => {
  expect(await run('loadSession')).toEqual(['load', 'next'])
})

test.each([
  ['names its own session', { 'x-gatehouse-session': 'own' }, true, ['load', 'next']],
  ['has no session', { 'x-gatehouse-session': 'own' }, false, ['load', 'next']],
  ['names none, for which nothing is read', {}, true, ['next']],
])('a request that %s is handled', async (_what, headers, hasSession, calls) => {
  expect(await run('refuseOtherSession', headers, hasSession)).toEqual(calls)
})

test.each([['other'], [''], [['own', 'own']]])('a request that names %j is refused: 409', async (name) => {
  const refused = run('refuseOtherSession', { 'x-gatehouse-session': name })
  await expect(refused).rejects.toMatchObject({ status: 409, code: 'E0000006' })
})
