import { type Harness, PASSWORD } from './harness.ts'
import { answerAtProvider } from './identity-provider.ts'
import type { PortalPage } from './portal-page.ts'
import { factorAt, hrefAt, valueAt } from './transaction-view.ts'

/** The expectations for a factor type, with a user of the sandbox who has such a factor. */
export interface FactorTypeRow {
  readonly login: string
  /**
   * An attempt, which the verify step sends: a wrong proof, or nothing, which starts a challenge.
   */
  readonly attempt: object
  /**
   * The session's authentication methods (RFC 8176) after the right proof; undefined if Okta
   * refuses the type.
   */
  readonly amr: readonly string[] | undefined
  readonly prove: (page: PortalPage, harness: Harness, login: string) => Promise<unknown>
}

const CODE = { attempt: { passCode: '000000' } }
const SENT = { attempt: {}, prove: proveBySentCode }
const AT_PROVIDER = { attempt: {}, amr: ['pwd', 'mfa'], prove: proveAtProvider }
const KEY = { attempt: { clientData: 'e30=', signatureData: 'e30=' }, amr: ['pwd', 'hwk', 'mfa'] }

export const FACTOR_TYPE_ROWS: Readonly<Record<string, FactorTypeRow>> = {
  password: {
    login: 'pablo.password',
    attempt: { password: 'Not-The-Password-1' },
    amr: ['pwd'],
    prove: (page) => page.verify('password', { password: PASSWORD }),
  },
  question: {
    login: 'quentin.query',
    attempt: { answer: 'not this' },
    amr: ['pwd', 'kba', 'mfa'],
    prove: (page) => page.verify('question', { answer: 'lighthouse' }),
  },
  sms: { login: 'sana.sms', ...SENT, amr: ['pwd', 'sms', 'mfa'] },
  call: { login: 'carl.call', ...SENT, amr: ['pwd', 'tel', 'mfa'] },
  email: { login: 'emma.mail', ...SENT, amr: ['pwd', 'otp', 'mfa'] },
  push: { login: 'nina.number', attempt: {}, amr: ['pwd', 'swk', 'mfa'], prove: proveByPush },
  signed_nonce: {
    login: 'faye.fastpass',
    attempt: {},
    amr: undefined,
    prove: (page) => page.verify('signed_nonce'),
  },
  token: byCode('token', 'rosa.enterprise', 'hwk'),
  'token:software:totp': byCode('token:software:totp', 'otto.token', 'otp'),
  'token:hotp': byCode('token:hotp', 'hanna.hotp', 'otp'),
  'token:hardware': byCode('token:hardware', 'yuki.hardware', 'hwk'),
  webauthn: { login: 'wanda.key', ...KEY, prove: proveByKey('webauthn') },
  u2f: { login: 'uwe.key', ...KEY, prove: proveByKey('u2f') },
  web: { login: 'dario.duo', attempt: {}, amr: ['pwd', 'mfa'], prove: proveByDuo },
  claims_provider: { login: 'cleo.claims', ...AT_PROVIDER },
  'assertion:oidc': { login: 'odin.oidc', ...AT_PROVIDER },
  'assertion:saml2': { login: 'sam.saml', ...AT_PROVIDER },
}

/** The verify link of the user's first factor. */
const firstVerify = '_embedded.factors.0._links.verify'

async function proveBySentCode(page: PortalPage, { sandbox }: Harness, login: string) {
  await page.follow(firstVerify)
  const passCode = sandbox.outbox.latest(`${login}@example.test`, 'factor-code')?.code
  return page.follow('_links.next', { passCode })
}

async function proveByPush(page: PortalPage, { sandbox }: Harness, login: string) {
  await page.follow(firstVerify)
  sandbox.answerPush(login, 'approve')
  return page.follow('_links.next')
}

function byCode(factorType: string, login: string, method: 'hwk' | 'otp'): FactorTypeRow {
  const prove: FactorTypeRow['prove'] = (page, { sandbox }) =>
    page.verify(factorType, { passCode: sandbox.totpCode(login) })
  return { login, ...CODE, amr: ['pwd', method, 'mfa'], prove }
}

function proveByKey(factorType: 'webauthn' | 'u2f'): FactorTypeRow['prove'] {
  return async (page, { sandbox, gatehouse }, login) => {
    const challenged = await page.follow(`${factorAt(page.held, factorType)}._links.verify`)
    const at = (name: string) =>
      String(valueAt(challenged.json, `_embedded.factor._embedded.challenge.${name}`))
    const key = sandbox.authenticator(login)
    const signed =
      factorType === 'u2f'
        ? key.signU2f(at('nonce'), gatehouse.url)
        : key.signWebauthn(at('challenge'), gatehouse.url)
    return page.follow('_links.next', signed)
  }
}

async function proveByDuo(page: PortalPage, { sandbox }: Harness, login: string) {
  const challenged = await page.follow(firstVerify)
  const id = String(valueAt(challenged.json, '_embedded.factor.id'))
  const form = { id, stateToken: page.stateToken, sig_response: sandbox.duoResponse(login) }
  const complete = hrefAt(challenged, '_embedded.factor._embedded.verification._links.complete')
  await page.browser.post(complete, undefined, { form })
  return page.follow('_links.next')
}

async function proveAtProvider(page: PortalPage, harness: Harness) {
  const challenged = await page.follow(firstVerify)
  await answerAtProvider(harness, page.browser, hrefAt(challenged, '_links.next'), 'approve')
  return page.send('/api/v1/authn')
}
