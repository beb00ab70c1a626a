import { beforeEach, describe, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, useHarness } from '../support/harness.ts'
import { errorOf } from '../support/transaction-view.ts'

/** The org locks this user after three wrong passwords in a row, and says so. */
const LIV = 'liv.lockable@example.test'
const CREDENTIALS = { username: LIV, password: PASSWORD }
const [REFUSED, LIMITED] = [
  [401, 'E0000004'],
  [429, 'E0000047'],
]

describe.each([
  ['set to what the org has', { AUTHN_LOCKOUT_ATTEMPTS: '3' }],
  ['not set', {}],
])('AUTHN_LOCKOUT_ATTEMPTS %s', (_, env) => {
  const harness = useHarness({ env: { TRUST_PROXY: '127.0.0.1', ...env } })
  const isSet = 'AUTHN_LOCKOUT_ATTEMPTS' in env
  beforeEach(() => harness.redis.client().flushall())

  let address = 0
  /** A wrong password of a stranger, from a new browser and a new address. */
  function guess() {
    const headers = { 'x-forwarded-for': `198.18.1.${++address}` }
    return openBrowser(harness.gatehouse.url, headers).post('/api/v1/authn', {
      username: LIV,
      password: `wrong-${address}`,
    })
  }

  test('strangers cannot lock the account for a known device, which may also mistype once', async () => {
    const known = await harness.visit()
    expect((await known.post('/api/v1/authn', CREDENTIALS)).json.status).toBe('SUCCESS')
    const answers = []
    for (let n = 0; n < 5; n++) answers.push(await guess())
    const mistyped = await known.post('/api/v1/authn', { ...CREDENTIALS, password: 'mistyped' })
    const status = (await known.post('/api/v1/authn', CREDENTIALS)).json.status
    if (isSet) {
      expect(answers.map(errorOf)).toEqual([REFUSED, ...Array(4).fill(LIMITED)])
      expect([errorOf(mistyped), status]).toEqual([REFUSED, 'SUCCESS'])
    } else {
      // the shipped limits suit the usual threshold of 10, not this one
      expect(answers.map(({ json }) => json.status)).toEqual([
        undefined,
        undefined,
        ...Array(3).fill('LOCKED_OUT'),
      ])
      expect(status).toBe('LOCKED_OUT')
    }
  })

  test('a full sign-in gives the unknown devices their attempts again', async () => {
    const known = await harness.visit()
    for (let n = 0; n < 3; n++) {
      expect((await known.post('/api/v1/authn', CREDENTIALS)).json.status).toBe('SUCCESS')
      expect(errorOf(await guess())).toEqual(REFUSED)
    }
  })
})
