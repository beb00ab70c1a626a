import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { GatehouseError, ReauthenticationError, readDenial } from 'gatehouse-client'
import {
  type Catalogue,
  chooseLanguage,
  describe,
  describeDenial,
  describeError,
  describePasswordPolicy,
  describeResult,
  describeSessionEnd,
  ENGLISH,
  type Language,
  type Message,
  messages,
} from 'gatehouse-client/messages'
import { type AuthnError, wrongOldPassword } from 'gatehouse-sandbox/authn/authn-error'
import { unmetRequirements } from 'gatehouse-sandbox/authn/passwords'
import { loadSandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { ERROR_CODES } from '../openapi/error-object.ts'
import {
  addressBlocked,
  type BrokerError,
  otherUsersSession,
  requestTooSlow,
  sessionChanged,
  stepInProgress,
  toErrorObject,
  unknownHandle,
} from '../src/errors.ts'
import { AUTHENTICATION_METHODS } from '../src/factor-types.ts'
import { REASON } from '../src/forward-auth/forward-auth-rules.ts'
import { OKTA_ERRORS } from '../src/okta-errors.ts'
import { PAM_ERROR_POLICIES } from '../src/pam/upstream/pam-errors.ts'

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

const LANGUAGES = Object.keys({ en: 0, de: 0, fr: 0, es: 0 } satisfies Record<Language, 0>) as Language[]
const inEach = (error: unknown): readonly Message[] =>
  LANGUAGES.map((language) => describeError(error, language))

const inFull = (message: Message | undefined) => `${message?.title}. ${message?.text}`

/** The same message, in another language each. */
function expectTranslated(translated: readonly (Message | undefined)[]): void {
  expect(translated.map((message) => message?.language)).toEqual(LANGUAGES)
  expect(new Set(translated.map((message) => message?.key)).size).toBe(1)
  expect(new Set(translated.map(inFull)).size).toBe(LANGUAGES.length)
}

const REASONS = REASON.unwrap().unwrap().options
const sourceOf = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const CODES = new Set([
  ...Object.keys(ERROR_CODES),
  ...Object.keys(OKTA_ERRORS),
  ...Object.values(PAM_ERROR_POLICIES).map(({ code }) => code),
  ...['src/errors.ts', 'sandbox/src/authn/authn-error.ts'].flatMap(
    (path) => sourceOf(path).match(/E0000\d{3}/g) ?? [],
  ),
])

test.each([...CODES])('%s has a message in each language', (code) => {
  const translated = inEach(refused(403, code))
  expect(translated[0]?.key).not.toBe('unknown')
  expectTranslated(translated)
})

const TOO_RECENT = 'Password has been used too recently'
const COMMON = 'This password was found in a list of commonly used passwords. Please try another password.'
const updateFailed = (causes: readonly string[] = []) =>
  refused(403, 'E0000014', 'Update of credentials failed', causes)
const updateRefused = ({ status, code, summary, causes }: AuthnError) =>
  refused(status, code, summary, causes ?? [])
/** The texts of Okta are those in issues and clients that show its answers. */
const CAUSES: readonly [string, GatehouseError, RegExp, Message['action']][] = [
  ['a link for another user', ofBroker(otherUsersSession('token')), /Another user is signed in/, 'sign-out'],
  ['a session that another tab has replaced', ofBroker(sessionChanged()), /newer sign-in/, 'reload'],
  ['an address that the org refuses', ofBroker(addressBlocked()), /from this network/, 'ask-for-help'],
  ['a step in progress', ofBroker(stepInProgress()), /still being processed/, 'retry'],
  ['a device cookie that the browser blocks', ofBroker(unknownHandle(false)), /allow cookies/, 'restart'],
  ['an expired handle', ofBroker(unknownHandle()), /took too long/, 'restart'],
  ['a request that was cut', ofBroker(requestTooSlow()), /Are you online/, 'retry'],
  ['a wrong old password', updateRefused(wrongOldPassword('recorded')), /current password is not/, 'correct'],
  [
    'a wrong old password, as documented',
    updateRefused(wrongOldPassword('documented')),
    /current password is not/,
    'correct',
  ],
  [
    'a wrong old password in another language',
    refused(400, 'E0000014', 'nein', ['Das alte Passwort ist falsch']),
    /current password is not/,
    'correct',
  ],
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
  const password = 'Demo-Password-1'
  return unmetRequirements(sandboxPolicy(), password, { login: 'user', password })
}

function sandboxPolicy() {
  const [policy] = Object.values(loadSandboxConfig().passwordPolicies)
  if (policy === undefined) throw new Error('the sandbox has no password policy')
  return policy
}

test.each(CAUSES)('%s has its own message', (_what, error, words, action) => {
  const translated = inEach(error)
  for (const message of translated) expect(message).toMatchObject({ action, details: [] })
  expect(inFull(translated[0])).toMatch(words)
  expectTranslated(translated)
})

test.each([
  ['reason=amr&amr=mfa', { reason: 'amr', amr: ['mfa'] }, /second factor/, 'sign-in-again'],
  ['reason=amr&amr=hwk&amr=mfa', { reason: 'amr', amr: ['mfa', 'hwk'] }, /security key/, 'sign-in-again'],
  ['reason=amr&amr=sms', { reason: 'amr', amr: ['sms'] }, /another factor/, 'sign-in-again'],
  ['reason=amr', { reason: 'amr', amr: [] }, /another factor/, 'sign-in-again'],
  ['reason=amr&amr=%3Cb%3E&amr=', { reason: 'amr', amr: [] }, /another factor/, 'sign-in-again'],
  ['reason=age&amr=mfa', { reason: 'age', amr: [] }, /signing in again/, 'sign-in-again'],
  ['reason=role', { reason: 'role', amr: [] }, /role/, 'ask-for-help'],
  ['reason=group', { reason: 'group', amr: [] }, /groups/, 'ask-for-help'],
  ['reason=bound', { reason: 'bound', amr: [] }, /bound to your device/, 'ask-for-help'],
])('%s: the user is told why an application refuses the session', (query, denial, words, action) => {
  const read = readDenial(`?returnTo=x&${query}`)
  expect([read, readDenial(new URLSearchParams(query))]).toEqual([denial, denial])
  const translated = LANGUAGES.map((language) => read && describeDenial(read, language))
  expect(translated[0]).toMatchObject({ action, language: 'en' })
  expect(inFull(translated[0])).toMatch(words)
  expectTranslated(translated)
})

test('a reason that Gatehouse does not give is none; those that it gives are known', () => {
  for (const query of ['', 'reason=', 'reason=Role', 'reason=%3Cb%3E', 'reason=toString', 'amr=mfa'])
    expect([query, readDenial(query)]).toEqual([query, undefined])
  const unknown = REASONS.filter((reason) => readDenial(`reason=${reason}`) === undefined)
  expect(unknown.map((reason) => `${reason} is not in client/src/denial.ts`)).toEqual([])
  const query = AUTHENTICATION_METHODS.map((method) => `&amr=${method}`).join('')
  expect(readDenial(`reason=amr${query}`)?.amr.toSorted()).toEqual(AUTHENTICATION_METHODS.toSorted())
})

test('the broken rules of a password policy follow the message, in the language of Okta', () => {
  const rules = ['Passwörter müssen mindestens 8 Zeichen haben']
  expect(describeError(refused(403, 'E0000014', 'no', rules), 'de')).toMatchObject({
    key: 'passwordRules',
    text: 'Dieses Passwort entspricht nicht den Regeln.',
    rules: [],
    details: rules,
  })
})

test.each([
  ['a wrong old password', 400, 'Das alte Passwort ist nicht richtig', 'wrongOldPassword', []],
  ['a used password', 403, 'Das Passwort wurde vor Kurzem verwendet', 'passwordRules', undefined],
  ['a common password', 403, 'Das Passwort ist zu häufig', 'passwordRules', undefined],
])(
  'with a German brand, %s has the message that code and status give (S6)',
  (_what, status, cause, key, details) => {
    const message = describeError(refused(status, 'E0000014', 'Aktualisierung fehlgeschlagen', [cause]), 'de')
    expect([message.key, message.details]).toEqual([key, details ?? [cause]])
  },
)

/** One sentence of Okta names all rules of the policy. */
const ALL_RULES =
  'Password requirements were not met. Password requirements: at least 12 characters, a lowercase letter, an uppercase letter, ' +
  'a number, a symbol, no parts of your username, does not include your first name, does not include your last name. ' +
  'Your password cannot be any of your last 4 passwords.'

test('the broken rules of a password policy are keys, with texts in the language of the catalogue', () => {
  const counted = [
    { key: 'minLength', count: 12 },
    ...['minLowerCase', 'minUpperCase', 'minNumber', 'minSymbol'].map((key) => ({ key, count: 1 })),
    { key: 'historyCount', count: 4 },
  ]
  const plain = ['excludeUsername', 'excludeFirstName', 'excludeLastName'].map((key) => ({ key }))
  const german = describeError(updateFailed([ALL_RULES]), 'de')
  expect(german.rules).toEqual([...counted, ...plain])
  expect(german.details.slice(0, 3)).toEqual([
    'mindestens 12 Zeichen',
    'ein Kleinbuchstabe',
    'ein Großbuchstabe',
  ])
  expect(german.details.at(5)).toBe('keines Ihrer letzten 4 Passwörter')

  const policy = {
    minLength: 8,
    minLowerCase: 1,
    minUpperCase: 1,
    minNumber: 1,
    minSymbol: 0,
    excludeUsername: false,
  }
  const causes = unmetRequirements({ ...sandboxPolicy(), complexity: policy }, 'x', {
    login: 'user',
    password: 'x',
  })
  const english = describeError(updateFailed(causes), 'en')
  expect(english.rules.map(({ key }) => key)).toEqual([
    'minLength',
    'minUpperCase',
    'minNumber',
    'notUsedBefore',
  ])
  expect(english.details[0]).toBe('at least 8 characters')
})

test.each(['E0000014', 'E0000080'])('%s, with one cause for all rules, and without causes', (code) => {
  const withCause = describeError(refused(403, code, 'no', [ALL_RULES]), 'en')
  expect(withCause).toMatchObject({ key: 'passwordRules', field: 'newPassword' })
  expect(withCause.rules.map(({ key }) => key)).toContain('excludeLastName')
  const body = { errorCode: code, errorSummary: 'no', errorLink: '', errorId: '' } as object
  const withoutCauses = new GatehouseError(new Response(null, { status: 403 }), body)
  expect(describeError(withoutCauses, 'en')).toMatchObject({ key: 'passwordRules', rules: [], details: [] })
  expect(describeError(refused(403, code, 'no', [TOO_RECENT]), 'en').key).toBe('passwordUsedBefore')
})

test('a minimum age that one cause names with all rules follows the rules, as Okta says it', () => {
  const age = 'At least 2 hour(s) must have elapsed since you last changed your password.'
  const message = describeError(refused(403, 'E0000080', 'no', [`${ALL_RULES} ${age}`]), 'en')
  expect(message.key).toBe('passwordRules')
  expect(message.details.slice(-2)).toEqual(['not your last name', age])
  expect(describeError(refused(403, 'E0000080', 'no', [age]), 'en').key).toBe('passwordTooNew')
  const brief = 'Password requirements were not met. Password requirements: at least 8 characters.'
  const short = describeError(refused(403, 'E0000080', 'no', [`${brief} ${age}`]), 'en')
  expect([short.key, short.details]).toEqual(['passwordRules', ['at least 8 characters', age]])
})

test('the rules of a policy: those that are on, without the minimum age', () => {
  const complexity = {
    minLength: 10,
    minLowerCase: 1,
    minUpperCase: 2,
    minNumber: 0,
    minSymbol: -1,
    excludeUsername: true,
    excludeAttributes: ['firstName'],
  }
  const policy = { complexity, age: { minAgeMinutes: 60, historyCount: 1 } }
  const texts = (language: Language) => describePasswordPolicy(policy, language).map(({ text }) => text)
  expect(texts('en')).toEqual([
    'at least 10 characters',
    'a lowercase letter',
    'at least 2 uppercase letters',
    'not your last password',
    'no part of your username',
    'not your first name',
  ])
  expect(texts('de')).toEqual([
    'mindestens 10 Zeichen',
    'ein Kleinbuchstabe',
    'mindestens 2 Großbuchstaben',
    'nicht Ihr letztes Passwort',
    'kein Teil Ihres Benutzernamens',
    'nicht Ihr Vorname',
  ])
  expect(texts('fr')).toEqual([
    'au moins 10 caractères',
    'une lettre minuscule',
    'au moins 2 lettres majuscules',
    'différent de votre dernier mot de passe',
    'aucune partie de votre nom d’utilisateur',
    'sans votre prénom',
  ])
  expect(texts('es')).toEqual([
    'al menos 10 caracteres',
    'una letra minúscula',
    'al menos 2 letras mayúsculas',
    'distinta de su última contraseña',
    'ninguna parte de su nombre de usuario',
    'sin su nombre',
  ])
  expect(describePasswordPolicy({}, 'en')).toEqual([])
})

test('a third language has its own texts and plural forms', () => {
  const polish: Catalogue = {
    ...ENGLISH,
    language: 'pl',
    tryAgainIn: 'Spróbuj ponownie {when}.',
    passwordRules: {
      ...ENGLISH.passwordRules,
      minLength: { one: '{n} znak', few: '{n} znaki', many: '{n} znaków', other: '{n} znaku' },
    },
    messages: { ...ENGLISH.messages, rateLimited: ['Zbyt wiele prób', '{retry}'] },
  }
  const { describeError: describe, describePasswordPolicy: rulesOf } = messages(polish)
  const headers = { 'retry-after': '5' }
  const error = new GatehouseError(new Response(null, { status: 429, headers }), {})
  expect(describe(error)).toMatchObject({
    key: 'rateLimited',
    title: 'Zbyt wiele prób',
    text: 'Spróbuj ponownie za 5 sekund.',
    language: 'pl',
  })
  const lengths = [1, 3, 12].map((minLength) => rulesOf({ complexity: { minLength } })[0]?.text)
  expect(lengths).toEqual(['1 znak', '3 znaki', '12 znaków'])
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
  [429, /try again later/],
  [500, /not available/],
  [503, /not available/],
  [524, /not available/],
  [403, /help desk/],
  [451, /help desk/],
])('an answer %d of a proxy has a message', (status, words) => {
  const error = status === 0 ? new GatehouseError(undefined) : { ...refused(200), status, causes: [] }
  const message = describeError(error, 'en')
  expect(message.details).toEqual([])
  expect(inFull(message)).toMatch(words)
})

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
  expect(describeError(unavailable, 'en')).toMatchObject({
    title: 'The sign-in service is not available',
    text: `You can try again ${english}.`,
  })
  expect(describeError(unavailable, 'de')).toMatchObject({
    title: 'Der Anmeldedienst ist gerade nicht verfügbar',
    text: `Sie können es ${german} noch einmal versuchen.`,
  })
  expect(describeError(answer(429, 'E0000047'), 'en').text).toContain(english)
  // begins again, without a wait
  expect(describeError(answer(401, 'E0000011'), 'en').text).not.toContain(english)
})

test('without a known time to wait, a message says “later”', () => {
  expect(describeError(refused(503, 'E0000009'), 'en').text).toBe('Please try again later.')
})

const RESULTS = 'REJECTED TIMEOUT CANCELLED ERROR FAILED PASSCODE_REPLAYED TIME_WINDOW_EXCEEDED'

test.each(RESULTS.split(' '))('the result %s has a message in each language', (result) => {
  const translated = LANGUAGES.map((language) => describeResult(result, language))
  expect(translated[0]?.key).not.toBe('unknown')
  expectTranslated(translated)
})

test('each reason for the end of a session has its own message in each language', () => {
  const reasons = ['signed-out', 'idle', 'expired', 'ended', 'replaced'] as const
  const texts = reasons.flatMap((reason) =>
    LANGUAGES.map((language) => describeSessionEnd(reason, language).text),
  )
  expect(new Set(texts).size).toBe(reasons.length * LANGUAGES.length)
})

test.each([
  [['de-AT', 'en'], 'de'],
  [['it', 'DE'], 'de'],
  [['en-GB', 'de'], 'en'],
  [['fr-CA', 'en'], 'fr'],
  [['ca', 'es-419', 'es'], 'es'],
  [['it', 'ja'], 'en'],
  [['den', 'constructor'], 'en'],
  [[], 'en'],
])('of the languages %j the catalogue chooses %s', (wanted, language) => {
  expect(chooseLanguage(wanted)).toBe(language)
})

test('a message that names a time to wait is one sentence, in each language', () => {
  const limited = (code: string) =>
    new GatehouseError(new Response(null, { status: 429, headers: { 'retry-after': '30' } }), {
      errorCode: code,
    } as object)
  const codes = ['E0000047', 'E0000009', 'E0000109', 'E0000133', 'pam_rate_limited']
  const texts = codes.flatMap((code) => inEach(limited(code)).map(({ text }) => text))
  expect([...new Set(texts)]).toEqual([
    'You can try again in 30 seconds.',
    'Sie können es in 30 Sekunden noch einmal versuchen.',
    'Vous pourrez réessayer dans 30 secondes.',
    'Podrá intentarlo de nuevo dentro de 30 segundos.',
  ])
})

test('a locked account: the page can offer to unlock it, and the text names the help desk for where it cannot', () => {
  const translated = inEach(refused(403, 'E0000119'))
  const words = [
    /If you cannot unlock it here, contact your help desk/,
    /Wenn Sie es hier nicht entsperren können/,
    /Si vous ne pouvez pas le déverrouiller ici/,
    /Si no puede desbloquearla aquí/,
  ]
  for (const [index, { action, text }] of translated.entries()) {
    expect(action).toBe('unlock')
    expect(text).toMatch(words[index] ?? 'none')
  }
})

test('a prompt of a token is shown, whatever it asks for; the field is emptied, and nothing was wrong (S11)', () => {
  const prompt = 'Enter a new PIN having from 4 to 8 digits:'
  for (const message of inEach(refused(409, 'E0000113', prompt)))
    expect(message).toMatchObject({
      key: 'tokenPrompt',
      action: 'continue',
      field: 'passCode',
      details: [prompt],
    })
  for (const message of inEach(refused(403, 'E0000106', 'Wait for token to change')))
    expect(message).toMatchObject({
      key: 'nextTokenCode',
      action: 'continue',
      field: 'passCode',
      details: [],
    })
})

test('a user without privileged access is no error to act on', () => {
  expect(inEach(refused(404, 'pam_user_unknown')).map(({ action }) => action)).toEqual(
    LANGUAGES.map(() => 'none'),
  )
})

test.each([
  [
    'a recovery token, without causes: a used or expired link (R7)',
    '/api/v1/authn/recovery/token',
    [],
    'linkExpired',
  ],
  [
    'a recovery token of another user',
    '/api/v1/authn/recovery/token',
    otherUsersSession('recoveryToken').causes,
    'otherUser',
  ],
  ['a recovery token, of the broker', '/api/v1/authn/recovery/token', ['Origin: not allowed'], 'notAllowed'],
  ['another path', '/api/v1/authn', [], 'notAllowed'],
] as const)('E0000006 in the answer to %s', (_name, path, causes, key) => {
  const errorCauses = causes.map((errorSummary) => ({ errorSummary }))
  const body = { errorCode: 'E0000006', errorSummary: 'a summary', errorLink: '', errorId: '', errorCauses }
  const error = new GatehouseError(new Response(null, { status: 403 }), body as object, { path })
  expect(inEach(error).map((message) => message.key)).toEqual(LANGUAGES.map(() => key))
})

/** What browsers throw: `fetch`, security keys (WebAuthn), an abort; and what pages do. */
test.each<[unknown, Message['key'], Message['action']]>([
  [new TypeError('Failed to fetch'), 'offline', 'retry'], // Chromium
  [new TypeError('NetworkError when attempting to fetch resource.'), 'offline', 'retry'], // Firefox
  [new TypeError('Load failed'), 'offline', 'retry'], // Safari
  [new TypeError('fetch failed'), 'offline', 'retry'], // Node
  [new DOMException('signal timed out', 'TimeoutError'), 'offline', 'retry'],
  [new DOMException('A network error occurred.', 'NetworkError'), 'offline', 'retry'],
  [new DOMException('signal is aborted without reason', 'AbortError'), 'cancelled', 'retry'],
  [
    new DOMException('The operation either timed out or was not allowed.', 'NotAllowedError'),
    'keyNotUsed',
    'retry',
  ],
  [new DOMException('already registered', 'InvalidStateError'), 'keyAlreadySetUp', 'retry'],
  [new DOMException('no such algorithm', 'NotSupportedError'), 'notPossible', 'ask-for-help'],
  [new DOMException('The relying party ID is not valid.', 'SecurityError'), 'pageFault', 'ask-for-help'],
  [new ReauthenticationError('other-user'), 'otherUser', 'sign-out'],
  [new ReauthenticationError('cancelled'), 'cancelled', 'retry'],
  [new ReauthenticationError('signed-out'), 'signedOut', 'sign-in'],
  [new TypeError("Cannot read properties of undefined (reading 'a')"), 'unknown', 'ask-for-help'],
  [Object.assign(new Error('x'), { name: 'constructor' }), 'unknown', 'ask-for-help'],
  [new Error('Your account is on hold.'), 'unknown', 'ask-for-help'],
  ['Failed to fetch', 'unknown', 'ask-for-help'],
  [{ name: 5 }, 'unknown', 'ask-for-help'],
  [Symbol('x'), 'unknown', 'ask-for-help'],
  [null, 'unknown', 'ask-for-help'],
  [undefined, 'unknown', 'ask-for-help'],
])('whatever is thrown has a message in each language, without its own text: %p', (thrown, key, action) => {
  const translated = inEach(thrown)
  expectTranslated(translated)
  expect(translated[0]).toMatchObject({ key, action, details: [], rules: [] })
})

test.each(['accountUnlocked', 'apiNotProxied', 'signInAgain'] as const)(
  'the message %s can be had by its key, in each language',
  (key) => {
    const translated = LANGUAGES.map((language) => describe(key, language))
    expectTranslated(translated)
    expect(translated[0]?.key).toBe(key)
  },
)
