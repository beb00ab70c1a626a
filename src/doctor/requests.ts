import type { DoctorContext } from './check.ts'
import { PROXY_FIX } from './client-address.ts'
import { type Finding, fail, warn } from './finding.ts'
import { outcomeOf, type SendProbe } from './probes.ts'
import { refusalOfStatus } from './refusals.ts'

/** Less than the broker accepts, and more than any sign-in sends. */
const LARGE_BODY = { padding: 'x'.repeat(60_000) }

/** Methods, bodies and headers that the proxy must pass, and how long it must wait. */
export async function judgeRequests({
  probe,
  context,
}: {
  readonly probe: SendProbe
  readonly context: DoctorContext
}): Promise<Finding | undefined> {
  const startedAt = performance.now()
  const slow = probe({ waitMs: context.slowMs }).then((probed) => ({
    ...probed,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
  }))
  const refused = await judgeMethodsAndBodies(probe)
  if (refused !== undefined) return refused
  const { answer, seconds, ...probed } = await slow
  if (answer === undefined)
    return fail(
      `the proxy ends a request after ${seconds} s, before the broker answers (${outcomeOf({ ...probed, answer })})`,
      `A step may wait for Okta: the proxy must wait for 60 s (nginx: proxy_read_timeout). ${PROXY_FIX}`,
    )
  return (await judgeLongHeaders(probe)) ?? (await judgePasswords(probe))
}

const POST = { method: 'POST', path: '/api/v1/authn' } as const

async function judgeMethodsAndBodies(probe: SendProbe): Promise<Finding | undefined> {
  for (const asked of [{ ...POST, body: {} }, { method: 'DELETE' }, { method: 'OPTIONS' }] as const) {
    const probed = await probe(asked)
    if (probed.answer === undefined)
      return (
        refusalOfStatus(probed.response) ??
        fail(
          `the proxy does not pass ${asked.method} (${outcomeOf(probed)})`,
          `It must pass GET, POST, DELETE and OPTIONS. ${PROXY_FIX}`,
        )
      )
  }
  const large = await probe({ ...POST, body: LARGE_BODY })
  if (large.answer?.bodyBytes === JSON.stringify(LARGE_BODY).length) return undefined
  return fail(
    `the proxy does not pass a body of 60 kB (${outcomeOf(large)})`,
    `It must pass bodies of up to 64 kB (nginx: client_max_body_size 64k). ${PROXY_FIX}`,
  )
}

/** In kB, of one header. Gatehouse accepts 16 for all headers together. */
const LONG = 12
const USUAL = 4

/** The cookies of the portal and of all its applications may be as long. */
async function judgeLongHeaders(probe: SendProbe): Promise<Finding | undefined> {
  const ask = (kB: number) => probe({ headers: { Cookie: `doctor=${'x'.repeat(kB * 1000)}` } })
  const long = await ask(LONG)
  const fix = `Pages send all cookies of the portal with each call: the proxy must pass headers of 16 kB (nginx: large_client_header_buffers 4 16k). ${PROXY_FIX}`
  const { cookieBytes } = long.answer ?? {}
  // undefined: before 0.3.0. None: public.cookies shows it
  const isWhole = cookieBytes === undefined || cookieBytes === 0 || cookieBytes > LONG * 1000
  if (long.answer !== undefined && isWhole) return undefined
  if (cookieBytes !== undefined)
    return fail(
      `the proxy cuts Cookie: of ${LONG} kB, ${Math.round(cookieBytes / 1000)} kB arrive`,
      `It must pass Cookie unchanged. ${fix}`,
    )
  const usual = await ask(USUAL)
  return usual.answer === undefined
    ? fail(`the proxy does not pass headers of ${USUAL} kB (${outcomeOf(usual)})`, fix)
    : warn(`the proxy does not pass headers of ${LONG} kB (${outcomeOf(long)})`, fix)
}

/** It looks like SQL, HTML, a command and a path, and has characters of more than one byte. */
const PASSWORD = { password: "x' or 1=1 -- ; union select $(id) <script>%27&#x27; ../../etc/passwd äöü€" }

async function judgePasswords(probe: SendProbe): Promise<Finding | undefined> {
  const probed = await probe({ ...POST, body: PASSWORD })
  const fix = `A web application firewall must not read the bodies of /api/v1/authn, because passwords may have any characters. ${PROXY_FIX}`
  if (probed.answer === undefined)
    return warn(`the proxy refuses bodies with the signs of some passwords (${outcomeOf(probed)})`, fix)
  if (probed.answer.bodyBytes === Buffer.byteLength(JSON.stringify(PASSWORD))) return undefined
  return fail('the proxy changes bodies, so some passwords arrive as others', fix)
}
