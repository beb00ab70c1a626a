import { expect, test } from '@jest/globals'
import { type Answer, outcome, PASSWORD, startSandbox, useSandbox } from './sandbox-client.ts'

const client = useSandbox()

const GOOD = 'Brand-New-Word-2'
const warned = () => client.signIn('walter.warn', { options: { warnBeforePasswordExpired: true } })

const TWO = { minLowerCase: 2, minUpperCase: 2, minNumber: 2, minSymbol: 2 }
const STRICT = { minLength: 12, excludeUsername: false, ...TWO }
/** docs/conformance.md A-8: each complexity requirement is checked on its own. */
test.each<[member: string, newPassword: string, unmet: string | undefined]>([
  ['no requirement', 'AbcDef12!?xy', undefined],
  ['minLength', 'AbcDef12!?x', 'at least 12 characters'],
  ['minLowerCase', 'ABCDeF12!?XY', 'a lowercase letter'],
  ['minUpperCase', 'Abcdef12!?xy', 'an uppercase letter'],
  ['minNumber', 'AbcDefg1!?xy', 'a number'],
  // sandbox shows
  ['minSymbol', 'AbcDef12!zxy', 'a symbol'],
])('complexity: a new password that fails %s', async (_requirement, newPassword, unmet) => {
  const strict = await startSandbox(({ passwordPolicies }) => {
    for (const policy of Object.values(passwordPolicies)) policy.complexity = STRICT
  })
  strict.sandbox.settings.passwordRules = 'broken-rules'
  const start = await strict.signIn('olga.expired')
  const body = { oldPassword: PASSWORD, newPassword }
  const answer = await strict.follow(start, '_links.next', body).finally(strict.close)
  const causes = unmet === undefined ? undefined : [{ errorSummary: `Passwords must have ${unmet}` }]
  expect(outcome(answer)).toBe(unmet === undefined ? '200 SUCCESS' : '403 E0000014')
  expect(answer.body.errorCauses).toEqual(causes)
})

/**
 * docs/conformance.md; the first one as recorded in the widget's
 * PASSWORD_EXPIRED_error_oldpass.js (S5).
 */
test.each([
  ['recorded', 400, 'Old password is not correct'],
  // sandbox shows
  ['documented', 403, 'oldPassword: The credentials provided were incorrect.'],
] as const)('a wrong old password, as %s', async (form, status, cause) => {
  client.sandbox.settings.wrongOldPassword = form
  const body = { oldPassword: 'Wrong-Password-9', newPassword: GOOD }
  const answer = await client.follow(await client.signIn('olga.expired'), '_links.next', body)
  expect(answer).toMatchObject({
    status,
    body: {
      errorCode: 'E0000014',
      errorSummary: 'Update of credentials failed',
      errorCauses: [{ errorSummary: cause }],
    },
  })
})

/** As in the widget's CUSTOM_PASSWORD_EXPIRED.js and CUSTOM_PASSWORD_WARN.js (S8). */
test.each([
  ['PASSWORD_EXPIRED', 'edith.elsewhere', 'GET'],
  ['PASSWORD_WARN', 'wendy.elsewhere', 'POST'],
])('%s: the link leads to the site that manages the password', async (status, login, method) => {
  const answer = await client.signIn(login, { options: { warnBeforePasswordExpired: true } })
  expect(answer.body.status).toBe(status)
  expect(answer.at('_links.next')).toEqual({
    name: 'changePassword',
    title: 'Company passwords',
    href: 'https://passwords.example.test/change',
    hints: { allow: [method] },
  })
})

/** docs/conformance.md A-14: revokeSessions. */
test.each([
  // sandbox shows
  ['revokeSessions true signs other browsers out', true, 'UNAUTHENTICATED'],
  // sandbox shows
  ['revokeSessions false leaves other browsers signed in', false, 'SUCCESS'],
])('%s', async (_row, revokeSessions, stepUpStatus) => {
  const signedIn = async ({ body: { sessionToken } }: Answer) => {
    const { headers } = await client.get(`/login/sessionCookieRedirect?token=${sessionToken}`)
    return headers.get('set-cookie') ?? ''
  }
  /** Starts a step-up in that browser: with a session, no new sign-in is needed. */
  const statusAtApp = async (cookie: string) => {
    const { headers } = await client.get('/app/payroll/sso', { cookie })
    const stateToken = new URL(headers.get('location') ?? '').searchParams.get('stateToken')
    return (await client.post('/api/v1/authn', { stateToken })).body.status
  }
  const other = await signedIn(await client.signIn('walter.warn'))
  const anothers = await signedIn(await client.signIn('amelia.stone'))
  expect(await statusAtApp(other)).toBe('SUCCESS')
  const body = { oldPassword: PASSWORD, newPassword: GOOD, revokeSessions }
  const own = await signedIn(await client.follow(await warned(), '_links.next', body))
  expect(await statusAtApp(other)).toBe(stepUpStatus)
  expect(await statusAtApp(own)).toBe('SUCCESS')
  expect(await statusAtApp(anothers)).toBe('SUCCESS')
})
