import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { OPERATIONS } from '../../src/authn/sign-in/operations.ts'
import { TIMES } from '../fuzz/fuzz.ts'
import type { Browser, PageAnswer } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { generousLimits } from '../support/generous-limits.ts'
import { type StubHarness, startStubHarness } from '../support/harness.ts'
import { type StubUpstream, sendJson } from '../support/stub-upstream.ts'
import { handleOf } from '../support/transaction-view.ts'

/**
 * Property test: transactions whose links are drawn from every route that an upstream link may lead to, through the
 * whole broker. Offered links work when they are followed; all other steps are refused.
 */

/** The upstream answers every sign-in and every step with this transaction. */
let transaction: Record<string, unknown> = {}
let harness: StubHarness
let upstream: StubUpstream
let gatehouse: Gatehouse

beforeAll(async () => {
  harness = await startStubHarness({
    answer({ method, path }, res) {
      if (path.includes('/qr/')) return void res.setHeader('content-type', 'image/png').end(QR_IMAGE)
      sendJson(res, 200, method === 'GET' ? QUESTIONS : answerAt(path))
    },
    env: { AUTHN_LINK_ORIGINS: 'https://login.org.example.com' },
    tunables: generousLimits,
  })
  ;({ stub: upstream, gatehouse } = harness)
})
afterAll(() => harness.stop())

/** Only the first response has links: an offer remains valid for the whole transaction. */
function answerAt(path: string) {
  return path === '/api/v1/authn' ? transaction : { ...transaction, _embedded: undefined, _links: undefined }
}

const QR_IMAGE = Buffer.from('89504e470d0a1a0a', 'hex')
const QUESTIONS = [{ question: 'favorite_toy', questionText: 'What is your favourite toy?' }]

// generators

interface DrawnLink {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly host: 'upstream' | 'alias' | 'relative' | 'upper case' | 'user info'
  readonly place: 'links' | 'list of links' | 'factor' | 'deep'
  readonly hinted: boolean
  /** If false, the response does not contain the link. */
  readonly offered: boolean
}

const id = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom(...'abcXYZ019_-'), minLength: 6, maxLength: 20 }),
  },
  { weight: 1, arbitrary: fc.constantFrom('webauthn', 'token:software:totp', 'a%20b', 'a@b', 'x.y~z') },
)

/** A path from one of the templates in `OPERATIONS`, with drawn parameters. */
const steps = fc
  .tuple(
    fc.constantFrom(...OPERATIONS.filter(({ encoding }) => encoding === 'json')),
    id,
    id,
    fc.constantFrom('SMS', 'CALL'),
  )
  .map(([{ path }, factor, user, type]) => ({
    method: 'POST' as const,
    path: path.replace(':id', factor).replace(':uid', user).replace(':type', type),
  }))
/** A QR token is a secret, so it occurs nowhere else in the response. */
const qrToken = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019_-'), minLength: 12, maxLength: 20 })
  .map((text) => `picture-${text}`)
const gets = fc.oneof(
  id.map((user) => `/api/v1/users/${user}/factors/questions`),
  fc
    .tuple(id, id, qrToken)
    .map(([user, factor, token]) => `/api/v1/users/${user}/factors/${factor}/qr/${token}`),
)
const place = fc.record({
  host: fc.constantFrom<DrawnLink['host']>('upstream', 'alias', 'relative', 'upper case', 'user info'),
  place: fc.constantFrom<DrawnLink['place']>('links', 'list of links', 'factor', 'deep'),
  hinted: fc.boolean(),
  offered: fc.boolean(),
})
const links = fc.uniqueArray(
  fc
    .tuple(
      fc.oneof(
        { weight: 4, arbitrary: steps },
        { weight: 1, arbitrary: gets.map((path) => ({ method: 'GET' as const, path })) },
      ),
      place,
    )
    .map(([step, where]): DrawnLink => ({ ...step, ...where })),
  {
    minLength: 4,
    maxLength: 16,
    selector: ({ path }) => decodeURIComponent(path).replace(/\/qr\/.*/, '/qr/'),
  },
)

const drawing = fc.record({
  links,
  status: fc.constantFrom('MFA_REQUIRED', 'MFA_CHALLENGE', 'MFA_ENROLL', 'PASSWORD_EXPIRED', 'BRAND_NEW'),
  token: fc
    .string({ unit: fc.constantFrom(...'abcXYZ019_-'), minLength: 16, maxLength: 60 })
    .map((text) => `00${text}`),
})

function transactionOf({
  links: drawn,
  status,
  token,
}: {
  links: DrawnLink[]
  status: string
  token: string
}) {
  const offeredLinks = drawn.filter(({ offered }) => offered)
  const at = (where: DrawnLink['place']) => offeredLinks.filter((link) => link.place === where).map(linkOf)
  return {
    stateToken: token,
    status,
    expiresAt: new Date(Date.now() + 300_000).toISOString(),
    _embedded: {
      factors: at('factor').map((link, index) => ({ id: `factor-${index}`, _links: { verify: link } })),
      factor: { _embedded: { activation: { more: [[{ deep: at('deep') }]] } } },
    },
    _links: {
      ...Object.fromEntries(at('links').map((link, index) => [`link-${index}`, link])),
      resend: at('list of links'),
    },
  }
}

function linkOf({ method, path, host, hinted }: DrawnLink, index: number) {
  const origin = {
    upstream: upstream.origin,
    alias: 'https://login.org.example.com:443',
    relative: '',
    'upper case': upstream.origin.toUpperCase(),
    'user info': upstream.origin.replace('//', '//user:word@'),
  }[host]
  return { name: `link ${index}`, href: origin + path, ...(hinted ? { hints: { allow: [method] } } : {}) }
}

/** The fields that a step needs to pass the schemas. */
const FIELDS = {
  oldPassword: 'an-old-password',
  newPassword: 'a-new-password',
  answer: 'an answer',
  passCode: '123456',
  factorType: 'sms',
  provider: 'OKTA',
}

// property

test('every offered link works when it is followed; a step that was not offered is refused, and nothing is sent upstream', async () => {
  await fc.assert(
    fc.asyncProperty(drawing, async (drawn) => {
      transaction = transactionOf(drawn)
      const browser = await harness.visit()
      const begun = await browser.post('/api/v1/authn', { username: 'amelia', password: 'a-password' })
      expect(begun.json).toMatchObject({ status: drawn.status })
      const handle = handleOf(begun)
      const hrefs = hrefsIn(begun.json)
      expect(hrefs.length).toBe(drawn.links.filter(({ offered }) => offered).length)
      for (const href of hrefs) expect(href).toMatch(`${gatehouse.url}/api/v1/`)

      for (const link of drawn.links.filter(({ offered }) => !offered))
        await expectRefused(browser, link, handle)
      const cancelLast = (link: DrawnLink) => Number(link.path.endsWith('/cancel'))
      const inOrder = drawn.links
        .filter(({ offered }) => offered)
        .sort((one, other) => cancelLast(one) - cancelLast(other))
      for (const link of inOrder) await expectWorks(browser, link, { handle, hrefs, token: drawn.token })
      expect(browser.received.join('\n')).not.toContain(drawn.token)
    }),
    { numRuns: Math.ceil(100 * TIMES) },
  )
})

async function expectRefused(browser: Browser, { method, path }: DrawnLink, handle: string) {
  if (path.endsWith('/cancel') || path.endsWith('/previous')) return // no offer needed
  upstream.reset()
  const answer = await ask(browser, method, path, handle)
  expect([path, answer.status, answer.json.errorCode]).toEqual([path, 403, 'E0000079'])
  expect(upstream.requests).toEqual([])
}

async function expectWorks(
  browser: Browser,
  { method, path }: DrawnLink,
  { handle, hrefs, token }: { handle: string; hrefs: readonly string[]; token: string },
) {
  const href = hrefs.find((one) => leadsTo(one, path))
  if (href === undefined) throw new Error(`no link to ${path}`)
  upstream.reset()
  const answer = await ask(browser, method, href, handle)
  expect([path, answer.status]).toEqual([path, 200])
  expect(upstream.requests.map((one) => [one.method, decodeURIComponent(one.path), one.query])).toEqual([
    [method, decodeURIComponent(path), ''],
  ])
  if (method === 'POST') {
    expect(upstream.requests[0]?.body).toMatchObject({ stateToken: token })
    expect(answer.json.stateToken).toBe(handle)
  } else if (path.includes('/qr/')) expect(answer.bytes).toEqual(QR_IMAGE)
  else expect(JSON.parse(answer.text)).toEqual(QUESTIONS)
}

function ask(browser: Browser, method: 'GET' | 'POST', url: string, handle: string): Promise<PageAnswer> {
  return method === 'GET' ? browser.get(url) : browser.post(url, { stateToken: handle, ...FIELDS })
}

/**
 * True if both have the same path; the last segment of a QR path is ignored, because the broker replaces it with a
 * handle.
 */
function leadsTo(href: string, path: string): boolean {
  const normalize = (one: string) => decodeURIComponent(one).replace(/\/qr\/.*/, '/qr/')
  return normalize(new URL(href).pathname) === normalize(path)
}

function hrefsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'href' && typeof member === 'string' ? [member] : hrefsIn(member),
  )
}
