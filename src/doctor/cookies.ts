import { type CookieNames, cookieNames } from '../http/cookie-names.ts'
import { RESPONSE_COOKIES } from '../http/doctor-probe.ts'
import type { HttpApi } from '../upstream/http-api.ts'
import { type Answer, reasonOf, sendOrFail } from './calls.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail, ok, skipped } from './finding.ts'
import { SESSION_PATH, type SendProbe } from './probes.ts'
import { causeOf, NO_ANSWER_FIX, type Reached } from './reach.ts'
import { probeResponse } from './responses.ts'

export async function checkCookies(
  { plain, answer }: Reached,
  api: HttpApi,
  probe: SendProbe,
  names: CookieNames,
): Promise<Finding> {
  const { secure } = names
  if (causeOf(plain).startsWith('X-Forwarded-For:')) return skipped('not possible without public.headers')
  const [name] = cookieNames('gatehouse-device', names)
  const cookie = cookieOf(plain, name)
  const fix = `The proxy must pass Set-Cookie unchanged. ${PROXY_FIX}`
  if (cookie === undefined) return fail('the response sets no device cookie', fix)
  const [value = '', ...attributes] = cookie.split(';').map((part) => part.trim().toLowerCase())
  const expected = ['path=/', 'httponly', 'samesite=lax', ...(secure ? ['secure'] : [])]
  const lives = attributes.some((attribute) => /^(?:max-age|expires)=/.test(attribute))
  const missing = [
    ...expected.filter((attribute) => !attributes.includes(attribute)),
    ...(lives ? [] : ['max-age']),
  ]
  const added = attributes.filter((attribute) => attribute.startsWith('domain='))
  if (missing.length + added.length > 0) {
    const changes = [...missing.map((name) => `${name} is missing`), ...added.map(() => 'domain is added')]
    return fail(`the proxy changes the attributes of cookies: ${changes.join(', ')}`, fix)
  }
  if (value === '') return fail('the device cookie is empty', fix)
  const again = await sendOrFail(api, {
    method: 'GET',
    path: SESSION_PATH,
    headers: { Cookie: cookie.split(';')[0] ?? '' },
  })
  if (again.failure) return fail(`no response (${reasonOf(again.failure)})`, NO_ANSWER_FIX)
  // the broker replaces a device cookie that it cannot verify
  if (cookieOf(again, name) === undefined)
    return answer === undefined ? ok(COMES_BACK) : ((await judgeOthers(probe, names)) ?? ok(COMES_BACK))
  return fail(
    'the device cookie does not come back, or another replica does not accept it',
    `The proxy must pass Cookie unchanged, and all replicas must have the same SECRET_KEYS. ${PROXY_FIX}`,
  )
}

const COMES_BACK = 'the device cookie comes back'

/** The other cookies: whether each arrives, and whether two of one response come back. */
async function judgeOthers(probe: SendProbe, names: CookieNames): Promise<Finding | undefined> {
  const sent = [
    ...['gatehouse', 'gatehouse-device'].map((name) => cookieNames(name, names)[0]),
    ...(names.httpOnlyPrefix ? ['__Host-gatehouse-bound'] : []),
  ]
  const { answer } = await probe({ headers: { Cookie: sent.map((name) => `${name}=doctor`).join('; ') } })
  const lost = answer?.cookies && sent.filter((name) => !answer.cookies?.includes(name))
  if (lost !== undefined && lost.length > 0)
    return fail(
      `cookies do not arrive: ${lost.join(', ')}`,
      `The proxy must pass Cookie unchanged. ${PROXY_FIX}`,
    )
  const answered = await probeResponse(probe)
  const lines = [answered.response.headers['set-cookie'] ?? []].flat()
  const back = RESPONSE_COOKIES.filter((name) => lines.some((line) => line.startsWith(`${name}=`)))
  if (answered.answer?.cookies === undefined || back.length === RESPONSE_COOKIES.length) return undefined
  return fail(
    `of two cookies in a response, ${back.length === 0 ? 'none' : 'one'} comes back`,
    `A sign-in sets several: the proxy must pass each Set-Cookie as a header of its own. ${PROXY_FIX}`,
  )
}

function cookieOf({ headers }: Answer, name: string): string | undefined {
  return [headers['set-cookie'] ?? []].flat().find((cookie) => cookie.startsWith(`${name}=`))
}
