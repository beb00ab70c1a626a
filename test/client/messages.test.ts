import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { GatehouseError } from 'gatehouse-client'
import {
  chooseLanguage,
  describeError,
  describeResult,
  describeSessionEnd,
  type Message,
} from 'gatehouse-client/messages'
import { ERROR_CODES } from '../../openapi/error-object.ts'
import {
  type BrokerError,
  otherUsersSession,
  requestTooSlow,
  sessionChanged,
  stepInProgress,
  toErrorObject,
  unknownHandle,
} from '../../src/errors.ts'
import { PAM_ERROR_POLICIES } from '../../src/pam/upstream/pam-errors.ts'
import { wrongOldPassword } from '../../src/sandbox/authn/authn-error.ts'
import { unmetRequirements } from '../../src/sandbox/authn/passwords.ts'
import { loadSandboxConfig } from '../../src/sandbox/sandbox-config.ts'

/** An error as the client reads it. `status` alone: the answer of a proxy. */
function refused(status: number, errorCode?: string, summary = 'a summary', causes: readonly string[] = []) {
  const errorCauses = causes.map((errorSummary) => ({ errorSummary }))
  const body = { errorCode, errorSummary: summary, errorLink: '', errorId: '', errorCauses }
  return new GatehouseError(new Response(null, { status }), errorCode === undefined ? {} : (body as object))
}

function ofBroker(error: BrokerError) {
  return new GatehouseError(
    new Response(null, { status: error.status }),
    toErrorObject(error, 'id') as object,
  )
}

const inBoth = (error: GatehouseError): readonly Message[] => [
  describeError(error, 'en'),
  describeError(error, 'de'),
]

const UNKNOWN = inBoth(refused(403, 'E0999999')).map(({ text }) => text)

const sourceOf = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8')
const CODES = new Set([
  ...Object.keys(ERROR_CODES),
  ...Object.values(PAM_ERROR_POLICIES).map(({ code }) => code),
  ...['errors.ts', 'sandbox/authn/authn-error.ts'].flatMap(
    (path) => sourceOf(path).match(/E0000\d{3}/g) ?? [],
  ),
])

test.each([...CODES])('%s has a message in both languages', (code) => {
  const [english, german] = inBoth(refused(403, code))
  expect(english?.text).not.toBe(UNKNOWN[0])
  expect(german?.text).not.toBe(UNKNOWN[1])
  expect(german?.text).not.toBe(english?.text)
  expect([english?.language, german?.language]).toEqual(['en', 'de'])
})

const TOO_RECENT = 'Password has been used too recently'
const COMMON = 'This password was found in a list of commonly used passwords. Please try another password.'
const updateFailed = (causes: readonly string[] = []) =>
  refused(403, 'E0000014', 'Update of credentials failed', causes)
/** The texts of Okta are those in issues and clients that show its answers. */
const CAUSES: readonly [string, GatehouseError, RegExp, Message['action']][] = [
  ['a link for another user', ofBroker(otherUsersSession('token')), /Another user is signed in/, 'sign-out'],
  ['a session that another tab has replaced', ofBroker(sessionChanged()), /newer sign-in/, 'reload'],
  ['a step in progress', ofBroker(stepInProgress()), /still being processed/, 'retry'],
  ['a device cookie that the browser blocks', ofBroker(unknownHandle(false)), /allow cookies/, 'restart'],
  ['an expired handle', ofBroker(unknownHandle()), /took too long/, 'restart'],
  ['a request that was cut', ofBroker(requestTooSlow()), /Are you online/, 'retry'],
  ['a wrong old password', updateFailed(wrongOldPassword().causes), /current password is not/, 'correct'],
  ['the current password again', updateFailed(currentPasswordCauses()), /used this password/, 'correct'],
  ['a password of the history', updateFailed([TOO_RECENT]), /used this password before/, 'correct'],
  ['a common password', updateFailed([COMMON]), /easy to guess/, 'correct'],
  [
    'an invalid phone number',
    refused(400, 'E0000001', 'no', ['Invalid Phone Number.']),
    /country code/,
    'correct',
  ],
]

function currentPasswordCauses(): string[] {
  const [policy] = Object.values(loadSandboxConfig().passwordPolicies)
  if (policy === undefined) throw new Error('the sandbox has no password policy')
  const password = 'Demo-Password-1'
  return unmetRequirements(policy, password, { login: 'user', password })
}

test.each(CAUSES)('%s has its own message', (_what, error, words, action) => {
  const [english, german] = inBoth(error)
  expect(english).toMatchObject({ text: expect.stringMatching(words), action, details: [] })
  expect(german?.action).toBe(action)
  expect(german?.text).not.toBe(english?.text)
})

test('the broken rules of a password policy follow the message, in the language of Okta', () => {
  const rules = ['Passwörter müssen mindestens 8 Zeichen haben']
  expect(describeError(refused(403, 'E0000014', 'no', rules), 'de')).toMatchObject({
    text: 'Dieses Passwort entspricht nicht den Regeln.',
    details: rules,
  })
})

test('an unknown code is described by Okta’s own words', () => {
  const error = refused(403, 'E0999999', 'Your account is on hold.', ['The office is closed.'])
  expect(describeError(error, 'en')).toMatchObject({
    title: 'Something went wrong',
    details: ['Your account is on hold.', 'The office is closed.'],
  })
  expect(describeError(refused(403, 'constructor'), 'en').title).toBe('Something went wrong')
})

test.each([
  [0, /cannot be reached/],
  [200, /cannot be reached/], // a login page of a network, instead of JSON
  [429, /wait before you try again/],
  [500, /not available/],
  [503, /not available/],
  [524, /not available/],
  [403, /help desk/],
  [451, /help desk/],
])('an answer %d of a proxy has a message', (status, words) => {
  const error = status === 0 ? new GatehouseError(undefined) : { ...refused(200), status, causes: [] }
  expect(describeError(error as GatehouseError, 'en')).toMatchObject({
    text: expect.stringMatching(words),
    details: [],
  })
})

const NOT_AVAILABLE = 'The sign-in service is not available at the moment.'
const WAITS = [
  [1, 'in 1 second', 'in 1 Sekunde'],
  [30, 'in 30 seconds', 'in 30 Sekunden'],
  [59.2, 'in 1 minute', 'in 1 Minute'],
  [61, 'in 2 minutes', 'in 2 Minuten'],
  [3600, 'in 60 minutes', 'in 60 Minuten'],
  [5401, 'in 2 hours', 'in 2 Stunden'],
] as const

test.each(WAITS)('an answer 503 or 429 with Retry-After: %d says %s', (seconds, english, german) => {
  const answer = (status: number, errorCode: string) =>
    new GatehouseError(new Response(null, { status, headers: { 'retry-after': `${seconds}` } }), {
      errorCode,
    } as object)
  const unavailable = answer(503, 'E0000009')
  expect(describeError(unavailable, 'en').text).toBe(`${NOT_AVAILABLE} You can try again ${english}.`)
  expect(describeError(unavailable, 'de').text).toBe(
    `Der Anmeldedienst ist gerade nicht verfügbar. Sie können es ${german} noch einmal versuchen.`,
  )
  expect(describeError(answer(429, 'E0000047'), 'en').text).toContain(english)
  expect(describeError(answer(401, 'E0000011'), 'en').text).not.toContain(english) // begins again, without a wait
})

test('without a known time to wait, a message has none', () => {
  expect(describeError(refused(503, 'E0000009'), 'en').text).toBe(NOT_AVAILABLE)
})

const RESULTS = 'REJECTED TIMEOUT CANCELLED ERROR FAILED PASSCODE_REPLAYED TIME_WINDOW_EXCEEDED'

test.each(RESULTS.split(' '))('the result %s has a message in both languages', (result) => {
  const [english, german] = [describeResult(result, 'en'), describeResult(result, 'de')]
  expect(UNKNOWN).not.toContain(english.text)
  expect(UNKNOWN).not.toContain(german.text)
  expect(german.text).not.toBe(english.text)
})

test('each reason for the end of a session has its own message in both languages', () => {
  const reasons = ['signed-out', 'idle', 'expired', 'ended', 'replaced'] as const
  const texts = reasons.flatMap((reason) =>
    (['en', 'de'] as const).map((language) => describeSessionEnd(reason, language).text),
  )
  expect(new Set(texts).size).toBe(10)
})

test.each([
  [['de-AT', 'en'], 'de'],
  [['fr', 'DE'], 'de'],
  [['en-GB', 'de'], 'en'],
  [['fr', 'ja'], 'en'],
  [['den'], 'en'],
  [[], 'en'],
])('of the languages %j the catalogue chooses %s', (wanted, language) => {
  expect(chooseLanguage(wanted)).toBe(language)
})
