import { afterEach, expect, test } from '@jest/globals'
import { type PamHarness, startPamHarness } from '../pam-harness.ts'

let harness: PamHarness
afterEach(() => harness.close())

const USERS = Array.from({ length: 20 }, (_, n) => `user-${n}@example.com`)

test.each(['in memory', 'nowhere else'])(
  'a stored token that PAM refuses is replaced, by a replica that has an older one %s',
  async (own) => {
    harness = await startPamHarness()
    for (const login of ['first@example.com', ...USERS]) harness.pam.control.setUserGroups(login, [])
    const other = await harness.replica()
    const lookUp = async (login: string, broker = harness.broker) =>
      (await broker.get('/api/v1/pam/me', { login })).status
    if (own === 'in memory') await lookUp('first@example.com')
    harness.pam.control.expireTokens()
    await lookUp('first@example.com', other)
    await lookUp('second@example.com', other) // a token is minted and stored
    harness.advance(15_000)
    harness.pam.control.expireTokens()
    const minted = harness.pam.control.counts().tokensMinted
    expect(await Promise.all(USERS.map((login) => lookUp(login)))).toEqual(USERS.map(() => 200))
    expect(harness.pam.control.counts().tokensMinted).toBe(minted + 1)
  },
)
